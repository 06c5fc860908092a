import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { GroupVersionKind, KubeObject } from "../../api/k8s.ts";
import { OPERATOR_CONDITION } from "../../api/operatorCondition.ts";
import type { CertificateProvider } from "../../certificates/providers.ts";
import type { Client } from "../../kube/client.ts";
import type { ApiResource } from "../../kube/discovery.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { buildUserRoles } from "../../rbac/userRoles.ts";
import { requireIdentities } from "../../release/identity.ts";
import type { ObjectBundle } from "../../release/labels.ts";
import { sortForInstall } from "../../release/plan.ts";
import { prepareObjects } from "../../release/prepare.ts";
import type { RenderOptions } from "../../render/render.ts";
import type { RenderableBundle } from "../bundles/bundleCache.ts";
import { type ConfigInputs, getConfiguration } from "../state/extensionSpec.ts";

/** The API resources for the kinds of a set of objects. */
export interface ServedKinds {
  /** Undefined for a kind that is not served. */
  isNamespaced(gvk: GroupVersionKind): boolean | undefined;
  /** Returns the resource of a kind for requests and rules; undefined for a kind that is not served. */
  resourceOf(gvk: GroupVersionKind): ApiResource | undefined;
  /** The objects whose kind is not served, in the order given. */
  readonly unserved: readonly KubeObject[];
}

/** Looks up every kind of `objects` once; refreshes discovery for an unknown kind. */
export async function lookUpKinds(client: Pick<Client, "resourceFor">, objects: readonly KubeObject[]): Promise<ServedKinds> {
  const known = new Map<string, ApiResource | undefined>();
  for (const object of objects) {
    const key = getKindKey(object);
    if (!known.has(key)) known.set(key, await findResource(client, object));
  }
  const found = (gvk: GroupVersionKind): ApiResource | undefined => known.get(getKindKey(gvk));
  const isNamespaced = (gvk: GroupVersionKind): boolean | undefined => found(gvk)?.namespaced;
  return { isNamespaced, resourceOf: found, unserved: objects.filter((object) => found(object) === undefined) };
}

/** Formats kinds, such as "Certificate (cert-manager.io/v1), Issuer (cert-manager.io/v1)". */
export function formatKinds(objects: readonly GroupVersionKind[]): string {
  return [...new Set(objects.map(({ apiVersion, kind }) => `${kind} (${apiVersion})`))].sort().join(", ");
}

/** Looks up the API resource of a kind; undefined if the API server does not serve it. */
export async function findResource(client: Pick<Client, "resourceFor">, gvk: GroupVersionKind): Promise<ApiResource | undefined> {
  try {
    return await client.resourceFor(gvk);
  } catch (err) {
    if (err instanceof KindNotServed) return undefined;
    throw err;
  }
}

/** Reports whether the cluster serves OperatorConditions, so that new releases contain one. */
export async function servesOperatorConditions(client: Pick<Client, "resourceFor">): Promise<boolean> {
  return (await findResource(client, OPERATOR_CONDITION)) !== undefined;
}

/** Returns a key for an API version and kind. */
export function getKindKey({ apiVersion, kind }: GroupVersionKind): string {
  return `${apiVersion}/${kind}`;
}

/** Objects in the form and order in which they are applied, sentences about dropped fields, and the API resources of their kinds. */
export interface PreparedObjects {
  objects: KubeObject[];
  notes: string[];
  kinds: ServedKinds;
}

/** The cluster's proxy variables for the Deployments, and what the bundle gets for its OperatorCondition. */
export type RenderChoices = Pick<RenderOptions, "proxy" | "operatorCondition">;

/**
 * Renders a bundle for an extension: its objects, and the roles for users if spec.install.userRoles is Aggregate.
 * @param certProvider provides the certificates for the webhooks.
 * @param choices what the controller adds to the bundle.
 * @throws TerminalError for a bundle or configuration that cannot be rendered.
 */
export async function renderExtension(
  inputs: ConfigInputs,
  bundle: Pick<RenderableBundle, "render">,
  certProvider: CertificateProvider | undefined,
  { proxy, operatorCondition }: RenderChoices,
): Promise<readonly KubeObject[]> {
  const { spec } = inputs.extension;
  const rendered = await bundle.render({
    installNamespace: getNamespace(inputs.extension),
    config: getConfiguration(inputs),
    certProvider,
    proxy,
    operatorCondition,
    imagePullSecrets: spec.install?.imagePullSecrets,
  });
  return spec.install?.userRoles === "Aggregate" ? [...rendered, ...buildUserRoles(rendered)] : rendered;
}

/**
 * Prepares objects for the apply: rendered objects, or the objects of a release. A release that another program wrote may contain objects in a
 * different form.
 * @param bundle the source of rendered objects. Default: labels with package and version do not change.
 * @throws TerminalError Blocked for objects that cannot be applied.
 */
export async function prepareExtension(
  client: Pick<Client, "resourceFor">,
  extension: Readonly<ClusterExtension>,
  objects: readonly KubeObject[],
  bundle?: ObjectBundle,
): Promise<PreparedObjects> {
  const { name, uid = "" } = extension.metadata;
  requireIdentities(objects);
  const kinds = await lookUpKinds(client, objects);
  const prepared = prepareObjects(objects, {
    owner: { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid },
    installNamespace: getNamespace(extension),
    isNamespaced: (gvk) => kinds.isNamespaced(gvk),
    bundle,
  });
  return { objects: sortForInstall(prepared.objects), notes: prepared.notes, kinds };
}
