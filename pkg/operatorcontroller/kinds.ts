import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";

/** What the API server says about the kinds of a set of objects. */
export interface ServedKinds {
  /** Undefined for a kind that is not served. */
  isNamespaced(gvk: GroupVersionKind): boolean | undefined;
  /** The objects whose kind is not served, in the order given. */
  readonly unserved: readonly KubeObject[];
}

const GO_PREFIX =
  "failed to get release state using server-side dry-run: error while running post render on files: postrenderer[0] (*client.ownerPostRenderer) failed: ";

/** Looks up every kind of `objects` once; a kind that is missing is looked for in fresh discovery. */
export async function servedKinds(client: Pick<Client, "resourceFor">, objects: readonly KubeObject[]): Promise<ServedKinds> {
  const namespaced = new Map<string, boolean | undefined>();
  for (const object of objects) {
    const key = keyOf(object);
    if (!namespaced.has(key)) namespaced.set(key, await isNamespaced(client, object));
  }
  const isKnown = (gvk: GroupVersionKind): boolean | undefined => namespaced.get(keyOf(gvk));
  return { isNamespaced: isKnown, unserved: objects.filter((object) => isKnown(object) === undefined) };
}

/**
 * @throws RetryableError KindNotServed that names every object whose kind is missing; nothing has been written then.
 * @see helm-operator-plugins pkg/client/ownerutil.go for the text's beginning
 */
export function requireServed({ unserved }: ServedKinds): void {
  if (unserved.length === 0) return;
  const each = unserved.map(
    ({ apiVersion, kind, metadata }) =>
      `resource mapping not found for name: "${metadata.name}" namespace: "${metadata.namespace ?? ""}" from "": ` +
      `no matches for kind "${kind}" in version "${apiVersion}"\nensure CRDs are installed first`,
  );
  const listed = each.length === 1 ? each[0] : `[${each.join(", ")}]`;
  const text = `this cluster does not serve ${kindsOf(unserved)}: nothing was changed, and the install goes on by itself once it does`;
  throw new RetryableError("KindNotServed", `${GO_PREFIX}${listed}; ${text}`);
}

/** Such as "Certificate (cert-manager.io/v1), Issuer (cert-manager.io/v1)". */
export function kindsOf(objects: readonly GroupVersionKind[]): string {
  return [...new Set(objects.map(({ apiVersion, kind }) => `${kind} (${apiVersion})`))].sort().join(", ");
}

async function isNamespaced(client: Pick<Client, "resourceFor">, gvk: GroupVersionKind): Promise<boolean | undefined> {
  try {
    return (await client.resourceFor(gvk)).namespaced;
  } catch (err) {
    if (err instanceof KindNotServed) return undefined;
    throw err;
  }
}

function keyOf({ apiVersion, kind }: GroupVersionKind): string {
  return `${apiVersion}/${kind}`;
}
