import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { CertificateProvider } from "../certificates/providers.ts";
import type { Client } from "../kube/client.ts";
import { prepareExtension, renderExtension } from "../operatorcontroller/apply/preparedObjects.ts";
import type { RenderableBundle } from "../operatorcontroller/bundles/bundleCache.ts";
import { selectReadRules } from "../permissions/grantObjects.ts";
import type { RiskSubject } from "../permissions/riskClasses.ts";
import { buildRules } from "../rbac/policyRule.ts";
import { computeRequiredRules, getStoredVersionsGrant, type RequiredRules, type RuleOptions } from "../rbac/requiredRules.ts";
import { findKnownResource, type ResourceOf, readDefinedResource } from "../rbac/resources.ts";
import { intersectRules, mergeRequiredRules } from "../rbac/ruleSets.ts";
import { isCrd } from "../release/identity.ts";
import { getCrdPolicy } from "../release/plan.ts";

/** The rules that an extension needs for the content of a bundle, and what their risk depends on. */
export interface ContentRules {
  readonly rules: RequiredRules;
  /** The read permissions on the extension's objects: the part of `rules` that it needs while nothing is changed. */
  readonly readRules: RequiredRules;
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
}

/**
 * Derives the rules from the content of a bundle.
 * @param extension with the namespace in its spec
 * @throws TerminalError for a bundle or configuration that cannot be rendered
 */
export async function deriveContentRules(
  { client, systemNamespace, provider }: RuleContext,
  extension: Readonly<ClusterExtension>,
  content: Pick<RenderableBundle, "render">,
): Promise<ContentRules> {
  const { namespace: installNamespace = "", config } = extension.spec;
  const rendered = await renderExtension({ extension }, content, provider, undefined);
  const { objects, kinds } = await prepareExtension(client, extension, rendered);
  const resourceOf: ResourceOf = (gvk) => kinds.resourceOf(gvk);
  const options: RuleOptions = {
    installNamespace,
    resourceOf,
    crdPolicy: getCrdPolicy(extension.spec),
    valuesFrom: config?.valuesFrom ?? [],
  };
  const rules = mergeRequiredRules([computeRequiredRules(objects, { ...options, strategy: "union" }), computeDefinitionRules(objects)]);
  return {
    rules,
    readRules: intersectRules(selectReadRules(computeRequiredRules(objects, { ...options, strategy: "escalate" })), rules),
    subject: describeSubject(objects, { installNamespace, systemNamespace }, resourceOf),
  };
}

/**
 * Returns the permissions to remove versions from the status of the bundle's CustomResourceDefinitions. An upgrade needs them if the installed bundle
 * has more versions. Every bundle gets them, because an approval is for rules that do not depend on the installed bundle.
 */
function computeDefinitionRules(objects: readonly KubeObject[]): RequiredRules {
  const clusterRules = buildRules(objects.filter(isCrd).map(({ metadata }) => getStoredVersionsGrant(metadata.name)));
  return { clusterRules, namespaceRules: new Map(), unknownKinds: [] };
}

/** Returns what the risk of rules depends on: names and API groups of the bundle's objects. */
function describeSubject(
  objects: readonly KubeObject[],
  place: Pick<RiskSubject, "installNamespace" | "systemNamespace">,
  resourceOf: ResourceOf,
): RiskSubject {
  const ownNames = new Map<string, Set<string>>();
  const ownGroups = new Set<string>();
  for (const object of objects) {
    const resource = (resourceOf(object) ?? findKnownResource(object))?.resource;
    if (resource !== undefined) ownNames.set(resource, (ownNames.get(resource) ?? new Set()).add(object.metadata.name));
    const defined = readDefinedResource(object);
    if (defined) ownGroups.add(defined.group);
  }
  return { ...place, ownNames, ownGroups };
}
