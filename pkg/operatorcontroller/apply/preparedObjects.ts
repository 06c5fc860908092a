import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { userRoles } from "../../rbac/userRoles.ts";
import type { ObjectBundle } from "../../release/labels.ts";
import { requireIdentities } from "../../release/identity.ts";
import { installOrder } from "../../release/plan.ts";
import { prepareObjects } from "../../release/prepare.ts";
import type { CertificateProvider } from "../../certificates/providers.ts";
import type { ProxyVariables } from "../../api/proxy.ts";
import type { BundleContent } from "../bundleContent.ts";
import { configOf, type PassFacts } from "../facts.ts";
import { type ServedKinds, servedKinds } from "./kinds.ts";

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
  facts: Pick<PassFacts, "extension" | "sourcedConfig">,
  bundle: Pick<BundleContent, "render">,
  certProvider: CertificateProvider | undefined,
  proxy: ProxyVariables | undefined,
): Promise<readonly KubeObject[]> {
  const { spec } = facts.extension;
  const rendered = await bundle.render({ installNamespace: spec.namespace, config: configOf(facts), certProvider, proxy });
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
