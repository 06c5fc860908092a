import type { GroupVersionKind, JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import type { ProxyVariables } from "../../../pkg/api/proxy.ts";
import { legacyCrdFaults } from "../../../pkg/bundle/legacyCrds.ts";
import type { RegistryV1Bundle } from "../../../pkg/bundle/types.ts";
import { CERTIFICATE_PROVIDERS, selfSigned } from "../../../pkg/certificates/providers.ts";
import { goJson } from "../../../pkg/golang/json.ts";
import { toYaml } from "../../../pkg/golang/yaml.ts";
import type { WebhookCertProvider } from "../../../pkg/operatorcontroller/certificates/providerNames.ts";
import { knownResource } from "../../../pkg/rbac/resources.ts";
import { userRoles } from "../../../pkg/rbac/userRoles.ts";
import { installOrder } from "../../../pkg/release/plan.ts";
import { prepareObjects } from "../../../pkg/release/prepare.ts";
import { configNotes } from "../../../pkg/render/configNotes.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { namespaceFor } from "../rbac/bundleRights.ts";

/** How a bundle is to be installed. */
export interface RenderRequest {
  /** Default: what the bundle suggests, else its package. */
  namespace?: string | undefined;
  /** `spec.config.inline`. */
  config?: JsonObject | undefined;
  certProvider: WebhookCertProvider;
  /** Variables of the cluster's proxy. */
  proxy?: ProxyVariables | undefined;
  /** Whether `spec.install.userRoles` is Aggregate. */
  aggregateUserRoles: boolean;
}

/** The objects of a bundle in the order in which they are applied, and what there is to say about them. */
export interface RenderedBundle {
  objects: KubeObject[];
  notes: string[];
}

/**
 * What operator-controller would apply, without the marks that make it the extension's.
 * @throws Error in operator-controller's words where the bundle or the configuration is refused.
 */
export function renderedBundle(bundle: RegistryV1Bundle, request: RenderRequest): RenderedBundle {
  const { namespace: installNamespace = namespaceFor(bundle), config, proxy, aggregateUserRoles } = request;
  const rendered = renderBundle(bundle, { installNamespace, config, certProvider: providerFor(request.certProvider), proxy });
  const all = aggregateUserRoles ? [...rendered, ...userRoles(rendered)] : rendered;
  const { objects, notes } = prepareObjects(all, { installNamespace, isNamespaced });
  return { objects: installOrder(objects), notes: [...legacyCrdFaults(bundle), ...configNotes(config, rendered), ...notes] };
}

/** As YAML documents, or as JSON on one line: a List. */
export function printedObjects(objects: readonly KubeObject[], format: "yaml" | "json"): string {
  if (format === "yaml") return objects.map((object) => `---\n${toYaml(object)}`).join("");
  return `${goJson({ apiVersion: "v1", kind: "List", items: objects }, { sortKeys: false, escapeHtml: false })}\n`;
}

/** Auto is what it is on a cluster that has neither cert-manager nor OpenShift's service CA. */
function providerFor(name: WebhookCertProvider) {
  return name === "auto" ? selfSigned : CERTIFICATE_PROVIDERS.find((provider) => provider.name === name);
}

function isNamespaced(gvk: GroupVersionKind): boolean | undefined {
  return knownResource(gvk)?.namespaced;
}
