import type { GroupVersionKind, KubeObject } from "../api/k8s.ts";
import { RetryableError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";

/** What the API server says about the kinds of a set of objects. */
export interface ServedKinds {
  isNamespaced(gvk: GroupVersionKind): boolean | undefined;
}

const GO_PREFIX =
  "failed to get release state using server-side dry-run: error while running post render on files: postrenderer[0] (*client.ownerPostRenderer) failed: ";

/**
 * Looks up every kind of `objects`; a kind that is missing is looked for once more in fresh discovery.
 * @throws RetryableError KindNotServed that names every missing kind.
 * @see helm-operator-plugins pkg/client/ownerutil.go for the text's beginning
 */
export async function servedKinds(client: Client, objects: readonly KubeObject[]): Promise<ServedKinds> {
  const namespaced = new Map<string, boolean>();
  const missing: KubeObject[] = [];
  for (const object of objects) {
    const key = keyOf(object);
    if (namespaced.has(key)) continue;
    try {
      namespaced.set(key, (await client.resourceFor(object)).namespaced);
    } catch (err) {
      if (!(err instanceof KindNotServed)) throw err;
      missing.push(object);
    }
  }
  if (missing.length > 0) throw new RetryableError("KindNotServed", textOf(missing));
  return { isNamespaced: (gvk) => namespaced.get(keyOf(gvk)) };
}

function keyOf({ apiVersion, kind }: GroupVersionKind): string {
  return `${apiVersion}/${kind}`;
}

function textOf(missing: readonly KubeObject[]): string {
  const each = missing.map(
    ({ apiVersion, kind, metadata }) =>
      `resource mapping not found for name: "${metadata.name}" namespace: "${metadata.namespace ?? ""}" from "": ` +
      `no matches for kind "${kind}" in version "${apiVersion}"\nensure CRDs are installed first`,
  );
  const kinds = [...new Set(missing.map(({ apiVersion, kind }) => `${kind} (${apiVersion})`))].sort();
  const listed = each.length === 1 ? each[0] : `[${each.join(", ")}]`;
  return `${GO_PREFIX}${listed}; this cluster does not serve ${kinds.join(", ")}: nothing was changed, and the install goes on by itself once it does`;
}
