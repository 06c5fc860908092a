import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import type { ApiResource } from "../../kube/discovery.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { WaitingError } from "../waiting.ts";

/** What the API server says about the kinds of a set of objects. */
export interface ServedKinds {
  /** Undefined for a kind that is not served. */
  isNamespaced(gvk: GroupVersionKind): boolean | undefined;
  /** How a kind is called in requests and rules. */
  resourceOf(gvk: GroupVersionKind): ApiResource | undefined;
  /** The objects whose kind is not served, in the order given. */
  readonly unserved: readonly KubeObject[];
}

const GO_PREFIX =
  "failed to get release state using server-side dry-run: error while running post render on files: postrenderer[0] (*client.ownerPostRenderer) failed: ";

/** Looks up every kind of `objects` once; a kind that is missing is looked for in fresh discovery. */
export async function servedKinds(client: Pick<Client, "resourceFor">, objects: readonly KubeObject[]): Promise<ServedKinds> {
  const known = new Map<string, ApiResource | undefined>();
  for (const object of objects) {
    const key = keyOf(object);
    if (!known.has(key)) known.set(key, await resourceOf(client, object));
  }
  const found = (gvk: GroupVersionKind): ApiResource | undefined => known.get(keyOf(gvk));
  const isNamespaced = (gvk: GroupVersionKind): boolean | undefined => found(gvk)?.namespaced;
  return { isNamespaced, resourceOf: found, unserved: objects.filter((object) => found(object) === undefined) };
}

/**
 * @throws WaitingError KindNotServed that names every object whose kind is missing; nothing has been written then.
 * @see helm-operator-plugins pkg/client/ownerutil.go for the text's beginning
 */
export function requireServed({ unserved }: ServedKinds, client: Pick<Client, "resourceFor">): void {
  const [first] = unserved;
  if (!first) return;
  const each = unserved.map(
    ({ apiVersion, kind, metadata }) =>
      `resource mapping not found for name: "${metadata.name}" namespace: "${metadata.namespace ?? ""}" from "": ` +
      `no matches for kind "${kind}" in version "${apiVersion}"\nensure CRDs are installed first`,
  );
  const listed = each.length === 1 ? each[0] : `[${each.join(", ")}]`;
  const text = `this cluster does not serve ${kindsOf(unserved)}: nothing was changed, and the install goes on by itself once it does`;
  const isOver = async (): Promise<boolean> => (await resourceOf(client, first)) !== undefined;
  throw new WaitingError("KindNotServed", `${GO_PREFIX}${listed}; ${text}`, { isOver });
}

/** Such as "Certificate (cert-manager.io/v1), Issuer (cert-manager.io/v1)". */
export function kindsOf(objects: readonly GroupVersionKind[]): string {
  return [...new Set(objects.map(({ apiVersion, kind }) => `${kind} (${apiVersion})`))].sort().join(", ");
}

/** What the API server calls a kind in requests; undefined for one that it does not serve. */
export async function resourceOf(client: Pick<Client, "resourceFor">, gvk: GroupVersionKind): Promise<ApiResource | undefined> {
  try {
    return await client.resourceFor(gvk);
  } catch (err) {
    if (err instanceof KindNotServed) return undefined;
    throw err;
  }
}

function keyOf({ apiVersion, kind }: GroupVersionKind): string {
  return `${apiVersion}/${kind}`;
}
