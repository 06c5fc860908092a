import type { ClusterExtension } from "../api/clusterExtension.ts";
import { getGroup } from "../api/k8s.ts";
import type { CertificateProvider } from "../certificates/providers.ts";
import type { Client } from "../kube/client.ts";
import { prepareExtension, renderExtension } from "../operatorcontroller/apply/preparedObjects.ts";
import type { RenderableBundle } from "../operatorcontroller/bundles/bundleCache.ts";
import { selectReadRules } from "../permissions/grantObjects.ts";
import { buildRiskSubject, type RiskSubject } from "../permissions/riskSubject.ts";
import { buildStoredVersionRules, computeRequiredRules, type RequiredRules, type RuleOptions } from "../rbac/requiredRules.ts";
import { findKnownResource, type ResourceOf, readDefinedResource } from "../rbac/resources.ts";
import { intersectRules, mergeRequiredRules } from "../rbac/ruleSets.ts";
import { isCrd } from "../release/identity.ts";
import { getCrdPolicy, migratesStorage } from "../release/plan.ts";

/** The rules that an extension needs for the content of a bundle, and what their risk depends on. */
export interface ContentRules {
  readonly rules: RequiredRules;
  /** Computes the read permissions on the extension's objects: the part of `rules` that it needs while nothing is changed. */
  readonly computeReadRules: () => RequiredRules;
  readonly subject: RiskSubject;
}

/** What the rules depend on, in addition to the extension and the content. */
export interface RuleContext {
  /** Looks up the resources of kinds. */
  readonly client: Pick<Client, "resourceFor">;
  /** Namespace of the servers. */
  readonly systemNamespace: string;
  /** Provides the certificates for webhooks and API services. */
  readonly provider: CertificateProvider | undefined;
  /** Whether the bundle gets an OperatorCondition. Default: false. */
  readonly operatorCondition?: boolean | undefined;
}

/**
 * Derives the rules from the content of a bundle.
 * @param extension with the namespace in its spec
 * @throws TerminalError for a bundle or configuration that cannot be rendered
 */
export async function deriveContentRules(
  { client, systemNamespace, provider, operatorCondition = false }: RuleContext,
  extension: Readonly<ClusterExtension>,
  content: Pick<RenderableBundle, "render">,
): Promise<ContentRules> {
  const { namespace: installNamespace = "", config } = extension.spec;
  const rendered = await renderExtension({ extension }, content, provider, { operatorCondition: operatorCondition ? "All" : "None" });
  const { objects, kinds } = await prepareExtension(client, extension, rendered);
  const resourceOf: ResourceOf = (gvk) => kinds.resourceOf(gvk);
  const options: RuleOptions = {
    installNamespace,
    resourceOf,
    crdPolicy: getCrdPolicy(extension.spec),
    migratesStorage: migratesStorage(extension.spec),
    valuesFrom: config?.valuesFrom ?? [],
  };
  // An upgrade removes versions from the status of definitions if the installed bundle has more versions. Every bundle gets these permissions,
  // because an approval is for rules that do not depend on the installed bundle.
  const versionRules = buildStoredVersionRules(objects.filter(isCrd).map(({ metadata }) => metadata.name));
  const rules = mergeRequiredRules([computeRequiredRules(objects, { ...options, strategy: "union" }), versionRules]);
  const owned = objects.map((object) => ({
    group: getGroup(object.apiVersion),
    resource: (resourceOf(object) ?? findKnownResource(object))?.resource,
    name: object.metadata.name,
    definedGroup: readDefinedResource(object)?.group,
  }));
  return {
    rules,
    computeReadRules: () => intersectRules(selectReadRules(computeRequiredRules(objects, { ...options, strategy: "escalate" })), rules),
    subject: buildRiskSubject({ installNamespace, systemNamespace }, owned),
  };
}
