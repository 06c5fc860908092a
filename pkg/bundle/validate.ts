import { subdomainFaults } from "./dns.ts";
import { repeated } from "./names.ts";
import { supportedScope } from "./supportedKinds.ts";
import type { RegistryV1Bundle, StrategyDeployment } from "./types.ts";
import {
  apiServicesOfOwnDefinitions,
  apiServicesOfReservedGroups,
  apiServicesWithoutDeployment,
  disagreeingApiServices,
  incompleteApiServices,
  invalidApiServiceNames,
  invalidApiServicePorts,
} from "./validateApiServices.ts";
import {
  conversionNeedsAllNamespaces,
  conversionOfForeignCrds,
  conversionOfSharedCrds,
  duplicateWebhooks,
  forbiddenRules,
  invalidWebhookNames,
  webhooksWithoutDeployment,
} from "./validateWebhooks.ts";

/** One check: what is wrong, each finding one sentence in operator-controller's words, in a stable order. */
export type Validator = (bundle: RegistryV1Bundle) => string[];

/** Every check by its code, in operator-controller's order. */
export const VALIDATORS = {
  "deployment-duplicate": duplicateDeployments,
  "deployment-name": invalidDeploymentNames,
  "crd-duplicate": duplicateCrds,
  "owned-crd-missing": missingOwnedCrds,
  "package-name-missing": emptyPackageName,
  "conversion-install-modes": conversionNeedsAllNamespaces,
  "webhook-deployment": webhooksWithoutDeployment,
  "webhook-duplicate": duplicateWebhooks,
  "webhook-name": invalidWebhookNames,
  "conversion-shared": conversionOfSharedCrds,
  "conversion-foreign": conversionOfForeignCrds,
  "webhook-forbidden-rule": forbiddenRules,
  "kind-unsupported": unsupportedKinds,
  "api-service-incomplete": incompleteApiServices,
  "api-service-deployment": apiServicesWithoutDeployment,
  "api-service-name": invalidApiServiceNames,
  "api-service-port": invalidApiServicePorts,
  "api-service-place": disagreeingApiServices,
  "api-service-reserved": apiServicesOfReservedGroups,
  "api-service-definition": apiServicesOfOwnDefinitions,
} as const satisfies Readonly<Record<string, Validator>>;

/**
 * Everything that keeps a bundle from being rendered, all checks run; empty for a sound bundle.
 * @see operator-controller pkg rukpak/render/registryv1/validators
 */
export function validateBundle(bundle: RegistryV1Bundle): string[] {
  return Object.values(VALIDATORS).flatMap((validator) => validator(bundle));
}

function deploymentsOf({ csv }: RegistryV1Bundle): readonly StrategyDeployment[] {
  return csv.spec.install.spec.deployments ?? [];
}

function duplicateDeployments(bundle: RegistryV1Bundle): string[] {
  const names = deploymentsOf(bundle).map(({ name }) => name);
  return repeated(names).map((name) => `cluster service version contains duplicate strategy deployment spec '${name}'`);
}

function invalidDeploymentNames(bundle: RegistryV1Bundle): string[] {
  const names = new Set(deploymentsOf(bundle).map(({ name }) => name));
  return [...names].sort().flatMap((name) => {
    const faults = subdomainFaults(name);
    return faults.length === 0 ? [] : [`invalid cluster service version strategy deployment name '${name}': ${faults.join(", ")}`];
  });
}

function duplicateCrds({ crds }: RegistryV1Bundle): string[] {
  return repeated(crds.map(({ metadata }) => metadata.name ?? "")).map(
    (name) => `bundle contains duplicate custom resource definition '${name}'`,
  );
}

function missingOwnedCrds({ csv, crds }: RegistryV1Bundle): string[] {
  const present = new Set(crds.map(({ metadata }) => metadata.name ?? ""));
  const owned = new Set((csv.spec.customresourcedefinitions.owned ?? []).map(({ name }) => name));
  return [...owned]
    .filter((name) => !present.has(name))
    .sort()
    .map((name) => `cluster service definition references owned custom resource definition '${name}' not found in bundle`);
}

function emptyPackageName({ packageName }: RegistryV1Bundle): string[] {
  return packageName === "" ? ["package name is empty"] : [];
}

function unsupportedKinds({ others }: RegistryV1Bundle): string[] {
  return others
    .filter(({ kind }) => supportedScope(kind) === undefined)
    .map(({ kind, metadata }) => `unsupported resource "${nameIn(metadata)}" with kind "${kind}"`);
}

function nameIn(metadata: unknown): string {
  const name: unknown = typeof metadata === "object" && metadata !== null && "name" in metadata ? metadata.name : "";
  return typeof name === "string" ? name : "";
}
