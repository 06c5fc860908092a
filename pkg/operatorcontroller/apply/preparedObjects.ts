import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import type { ProxyVariables } from "../../api/proxy.ts";
import type { CertificateProvider } from "../../certificates/providers.ts";
import type { Client } from "../../kube/client.ts";
import type { ApiResource } from "../../kube/discovery.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { userRoles } from "../../rbac/userRoles.ts";
import { requireIdentities } from "../../release/identity.ts";
import type { ObjectBundle } from "../../release/labels.ts";
import { installOrder } from "../../release/plan.ts";
import { prepareObjects } from "../../release/prepare.ts";
import type { RenderableBundle } from "../bundles/bundleCache.ts";
import { type ConfigInputs, configOf } from "../state/extensionSpec.ts";

/** What the API server says about the kinds of a set of objects. */
export interface ServedKinds {
  /** Undefined for a kind that is not served. */
  isNamespaced(gvk: GroupVersionKind): boolean | undefined;
  /** How a kind is called in requests and rules. */
  resourceOf(gvk: GroupVersionKind): ApiResource | undefined;
  /** The objects whose kind is not served, in the order given. */
  readonly unserved: readonly KubeObject[];
}

/** Looks up every kind of `objects` once; a kind that is missing is looked for in fresh discovery. */
export async function servedKinds(client: Pick<Client, "resourceFor">, objects: readonly KubeObject[]): Promise<ServedKinds> {
  const known = new Map<string, ApiResource | undefined>();
  for (const object of objects) {
    const key = kindKey(object);
    if (!known.has(key)) known.set(key, await resourceOf(client, object));
  }
  const found = (gvk: GroupVersionKind): ApiResource | undefined => known.get(kindKey(gvk));
  const isNamespaced = (gvk: GroupVersionKind): boolean | undefined => found(gvk)?.namespaced;
  return { isNamespaced, resourceOf: found, unserved: objects.filter((object) => found(object) === undefined) };
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

/** One text for one kind in one version. */
export function kindKey({ apiVersion, kind }: GroupVersionKind): string {
  return `${apiVersion}/${kind}`;
}

/** Objects as they are applied, in that order; what was dropped from them, in sentences; and what is served of their kinds. */
export interface PreparedObjects {
  objects: KubeObject[];
  notes: string[];
  kinds: ServedKinds;
}

/**
 * What a bundle comes to for an extension: its objects, and the roles for users where the extension wants them.
 * @param certProvider of the certificates of its webhooks. @param proxy variables of the cluster's proxy.
 * @throws TerminalError for a bundle or configuration that cannot be rendered.
 */
export async function renderFor(
  inputs: ConfigInputs,
  bundle: Pick<RenderableBundle, "render">,
  certProvider: CertificateProvider | undefined,
  proxy: ProxyVariables | undefined,
): Promise<readonly KubeObject[]> {
  const { spec } = inputs.extension;
  const rendered = await bundle.render({ installNamespace: spec.namespace, config: configOf(inputs), certProvider, proxy });
  return spec.install?.userRoles === "Aggregate" ? [...rendered, ...userRoles(rendered)] : rendered;
}

/**
 * Rendered objects, or those of a release, as they are applied for an extension. A release of another writer may hold them in another form.
 * @param bundle what rendered objects were rendered from; without it labels that name package and version stay as they are.
 * @throws TerminalError Blocked for objects that cannot be applied.
 */
export async function prepareFor(
  client: Pick<Client, "resourceFor">,
  { metadata: { name, uid = "" }, spec }: Readonly<ClusterExtension>,
  objects: readonly KubeObject[],
  bundle?: ObjectBundle,
): Promise<PreparedObjects> {
  requireIdentities(objects);
  const kinds = await servedKinds(client, objects);
  const prepared = prepareObjects(objects, {
    owner: { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid },
    installNamespace: spec.namespace,
    isNamespaced: (gvk) => kinds.isNamespaced(gvk),
    bundle,
  });
  return { objects: installOrder(prepared.objects), notes: prepared.notes, kinds };
}
