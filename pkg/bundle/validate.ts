import { GROUP } from "../api/constants.ts";
import { validateLabel1035, validateSubdomain } from "../api/names.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import { findDuplicates } from "../text/lists.ts";
import { getEffectivePort, listOwnedApiServices } from "./apiServices.ts";
import type { ApiServiceDescription, Csv, InstallModeType, RegistryV1Bundle, StrategyDeployment, WebhookDescription } from "./types.ts";

/** The scope of each kind that a bundle can contain, including CSV and CRDs. By kind only, as in operator-registry. */
export const SUPPORTED_KINDS: Readonly<Record<string, "namespaced" | "cluster">> = {
  ClusterServiceVersion: "namespaced",
  CustomResourceDefinition: "cluster",
  Secret: "namespaced",
  ClusterRole: "cluster",
  ClusterRoleBinding: "cluster",
  ServiceAccount: "namespaced",
  Service: "namespaced",
  Role: "namespaced",
  RoleBinding: "namespaced",
  PrometheusRule: "namespaced",
  ServiceMonitor: "namespaced",
  PodMonitor: "namespaced",
  ConfigMap: "namespaced",
  PodDisruptionBudget: "namespaced",
  NetworkPolicy: "namespaced",
  PriorityClass: "cluster",
  VerticalPodAutoscaler: "cluster",
  ConsoleYAMLSample: "cluster",
  ConsoleQuickStart: "cluster",
  ConsoleCLIDownload: "cluster",
  ConsoleLink: "cluster",
  ConsolePlugin: "cluster",
};

/** Returns the scope of a kind; undefined for a kind that bundles must not contain. */
export function getSupportedScope(kind: string): "namespaced" | "cluster" | undefined {
  return Object.hasOwn(SUPPORTED_KINDS, kind) ? SUPPORTED_KINDS[kind] : undefined;
}

const REQUIRED = ["group", "version", "kind", "name", "deploymentName"] as const;
const MAX_PORT = 65_535;
/** Domains of Kubernetes API groups, and the groups in them that extensions may serve. */
const KUBERNETES_ZONES: readonly string[] = ["k8s.io", "kubernetes.io"];
const EXTENSION_GROUPS: ReadonlySet<string> = new Set(["metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"]);

/** Finds entries without required fields, in order. */
function incompleteApiServices({ csv }: RegistryV1Bundle): string[] {
  return ownedIn(csv).flatMap((description, i) => {
    const missing = REQUIRED.filter((member) => !description[member]);
    return missing.length === 0 ? [] : [`owned API service number ${i + 1} is missing ${missing.join(", ")}`];
  });
}

/** Finds API services that reference unknown deployments, sorted. */
function apiServicesWithoutDeployment({ csv }: RegistryV1Bundle): string[] {
  const deployments = new Set((csv.spec.install.spec.deployments ?? []).map(({ name }) => name));
  return sorted(
    ownedIn(csv)
      .filter(({ deploymentName }) => deploymentName && !deployments.has(deploymentName))
      .map((description) => `${formatTitle(description)} references non-existent deployment '${description.deploymentName}'`),
  );
}

/** Finds groups, versions, kinds and plural names that the API server does not accept in an APIService or path, sorted. */
function invalidApiServiceNames({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv).flatMap((description) => {
      const { group, version, kind, name } = description;
      const faults: [what: string, text: string, faults: string[]][] = [
        ["group", group, validateSubdomain(group).sort()],
        ["version", version, validateLabel1035(version).sort()],
        ["kind", kind, validateLabel1035(kind.toLowerCase()).sort()],
        ["name", name, validateLabel1035(name).sort()],
      ];
      return faults
        .filter(([, text, found]) => text !== "" && found.length > 0)
        .map(([what, text, found]) => `${formatTitle(description)} has invalid ${what} '${text}': ${found.join(", ")}`);
    }),
  );
}

/** Finds invalid ports, sorted. 0 means 443. */
function invalidApiServicePorts({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv)
      .filter(({ containerPort = 0 }) => containerPort < 0 || containerPort > MAX_PORT)
      .map(
        (description) =>
          `${formatTitle(description)} has invalid containerPort ${description.containerPort}: must be from 1 to ${MAX_PORT}`,
      ),
  );
}

/** Finds API groups and versions with several deployments or ports, and ports with several target ports, sorted. */
function disagreeingApiServices({ csv }: RegistryV1Bundle): string[] {
  const places = new Map<string, Set<string>>();
  for (const description of ownedIn(csv)) {
    const { deploymentName = "", containerPort } = description;
    const title = formatTitle(description);
    places.set(title, (places.get(title) ?? new Set()).add(`port ${getEffectivePort(containerPort)} of deployment '${deploymentName}'`));
  }
  const scattered = [...places].filter(([, found]) => found.size > 1);
  const ports = listOwnedApiServices(csv).flatMap(({ name, deploymentName, port }) =>
    (csv.spec.webhookdefinitions ?? [])
      .filter((webhook) => webhook.deploymentName === deploymentName && getEffectivePort(webhook.containerPort) === port)
      .filter(({ targetPort = port }) => targetPort !== port)
      .map(
        ({ generateName, targetPort }) =>
          `owned API service '${name}' and webhook '${generateName}' share port ${port} of deployment '${deploymentName}', but the webhook has target port '${targetPort}'`,
      ),
  );
  return [
    ...sorted(scattered.map(([title, found]) => `${title} must have a single deployment and port, not ${[...found].sort().join(" and ")}`)),
    ...sorted(ports),
  ];
}

/** Finds API services in the API groups of Kubernetes or OLM, sorted. */
function apiServicesOfReservedGroups({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv)
      .filter(({ group }) => isReserved(group))
      .map((description) => `${formatTitle(description)} uses reserved API group '${description.group}', which bundles cannot serve`),
  );
}

/** Finds API services with the group and version of a CRD in the bundle, sorted. An API server cannot serve both. */
function apiServicesOfOwnDefinitions({ csv, crds }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv).flatMap((description) =>
      crds
        .filter(({ spec }) => spec["group"] === description.group && versionsIn(spec["versions"]).includes(description.version))
        .map(
          ({ metadata }) =>
            `${formatTitle(description)} has the same group and version as custom resource definition '${metadata.name}' in the bundle`,
        ),
    ),
  );
}

function ownedIn({ spec }: RegistryV1Bundle["csv"]): readonly ApiServiceDescription[] {
  return spec.apiservicedefinitions.owned ?? [];
}

function formatTitle({ group, version }: ApiServiceDescription): string {
  return `owned API service '${version}.${group}'`;
}

function sorted(findings: readonly string[]): string[] {
  return [...new Set(findings)].sort();
}

/** Reports whether a group is reserved. Groups without a dot are reserved: they are the oldest API groups of Kubernetes. */
function isReserved(group: string): boolean {
  if (group === "" || EXTENSION_GROUPS.has(group)) return false;
  return !group.includes(".") || [...KUBERNETES_ZONES, GROUP].some((zone) => group === zone || group.endsWith(`.${zone}`));
}

function versionsIn(versions: unknown): unknown[] {
  return Array.isArray(versions) ? versions.map((version: { name?: unknown } | null) => version?.name) : [];
}

/** Returns the supported install modes of the CSV, including unknown ones. A mode that is listed twice is supported if one of the entries is. */
export function listSupportedInstallModes(csv: Csv): ReadonlySet<InstallModeType | (string & {})> {
  const modes = new Set<string>();
  for (const { type, supported } of csv.spec.installModes ?? []) if (supported) modes.add(type);
  return modes;
}

const ADMISSION_GROUP = "admissionregistration.k8s.io";
const FORBIDDEN_GROUPS = new Set(["olm.operatorframework.io", "*"]);
const FORBIDDEN_ADMISSION_RESOURCES = new Set([
  "*",
  "mutatingwebhookconfiguration",
  "mutatingwebhookconfigurations",
  "validatingwebhookconfiguration",
  "validatingwebhookconfigurations",
]);

/** Checks that a bundle with conversion webhooks, which serve all namespaces, supports only AllNamespaces. */
function conversionNeedsAllNamespaces(bundle: RegistryV1Bundle): string[] {
  const webhooks = conversionWebhooks(bundle);
  const modes = [...listSupportedInstallModes(bundle.csv)].sort();
  if (webhooks.length === 0 || (modes.length === 1 && modes[0] === "AllNamespaces")) return [];
  return webhooks.map(
    ({ generateName }) =>
      `bundle contains conversion webhook ${goQuote(generateName)} and supports install modes [${modes.join(" ")}] - conversion webhooks are only ` +
      "supported for bundles that only support AllNamespaces install mode",
  );
}

/** Finds webhooks that reference unknown deployments, sorted by deployment, type and name. */
function webhooksWithoutDeployment({ csv }: RegistryV1Bundle): string[] {
  const deployments = new Set((csv.spec.install.spec.deployments ?? []).map(({ name }) => name));
  return listWebhooks(csv)
    .filter(({ deploymentName }) => !deployments.has(deploymentName ?? ""))
    .sort(
      (a, b) =>
        compareText(a.deploymentName ?? "", b.deploymentName ?? "") ||
        compareText(a.type, b.type) ||
        compareText(a.generateName, b.generateName),
    )
    .map(
      (hook) =>
        `webhook of type '${hook.type}' with name '${hook.generateName}' references non-existent deployment '${hook.deploymentName ?? ""}'`,
    );
}

/** Finds duplicate webhook names within each type, sorted by type and name. */
function duplicateWebhooks({ csv }: RegistryV1Bundle): string[] {
  const namesByType = new Map<string, string[]>();
  for (const { type, generateName } of listWebhooks(csv)) namesByType.set(type, [...(namesByType.get(type) ?? []), generateName]);
  return [...namesByType]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([type, names]) => findDuplicates(names).map((name) => `duplicate webhook '${name}' of type '${type}'`));
}

/** Finds webhook names that are not DNS-1123 subdomains, sorted by type and name. */
function invalidWebhookNames({ csv }: RegistryV1Bundle): string[] {
  const findings = new Map<string, string>();
  const sorted = [...listWebhooks(csv)].sort((a, b) => compareText(a.type, b.type) || compareText(a.generateName, b.generateName));
  for (const { type, generateName } of sorted) {
    const faults = validateSubdomain(generateName).sort();
    if (faults.length > 0)
      findings.set(`${type}\0${generateName}`, `webhook of type '${type}' has invalid name '${generateName}': ${faults.join(",")}`);
  }
  return [...findings.values()];
}

/** Finds CRDs that conversion webhooks reference more than once, sorted. */
function conversionOfSharedCrds(bundle: RegistryV1Bundle): string[] {
  const namesByCrd = new Map<string, string[]>();
  for (const { generateName, conversionCRDs = [] } of conversionWebhooks(bundle)) {
    for (const crd of conversionCRDs) namesByCrd.set(crd, [...(namesByCrd.get(crd) ?? []), generateName]);
  }
  return [...namesByCrd]
    .filter(([, names]) => names.length > 1)
    .sort(([a], [b]) => compareText(a, b))
    .map(([crd, names]) => `conversion webhooks [${names.sort().join(",")}] reference same custom resource definition '${crd}'`);
}

/** Finds CRDs that a conversion webhook references but the CSV does not own, sorted by webhook and CRD. */
function conversionOfForeignCrds(bundle: RegistryV1Bundle): string[] {
  const owned = new Set((bundle.csv.spec.customresourcedefinitions.owned ?? []).map(({ name }) => name));
  return conversionWebhooks(bundle)
    .sort((a, b) => compareText(a.generateName, b.generateName))
    .flatMap(({ generateName, conversionCRDs = [] }) =>
      [...conversionCRDs]
        .sort()
        .filter((crd) => !owned.has(crd))
        .map((crd) => `conversion webhook '${generateName}' references custom resource definition '${crd}' not owned bundle`),
    );
}

/** Finds admission rules that could block OLM or changes to webhook configurations. */
function forbiddenRules({ csv }: RegistryV1Bundle): string[] {
  const findings: string[] = [];
  for (const { type, generateName, rules = [] } of listWebhooks(csv)) {
    if (type === "ConversionWebhook") continue;
    const start = `webhook ${goQuote(generateName)} contains forbidden rule: admission webhook rules cannot reference`;
    for (const { apiGroups = [], resources = [] } of rules) {
      for (const group of apiGroups) {
        if (FORBIDDEN_GROUPS.has(group)) findings.push(`${start} API group ${goQuote(group)}`);
        if (group !== ADMISSION_GROUP) continue;
        for (const resource of resources) {
          if (!FORBIDDEN_ADMISSION_RESOURCES.has(resource.toLowerCase())) continue;
          findings.push(`${start} resource ${goQuote(resource)} for API group ${goQuote(group)}`);
        }
      }
    }
  }
  return findings;
}

function listWebhooks(csv: RegistryV1Bundle["csv"]): readonly WebhookDescription[] {
  return csv.spec.webhookdefinitions ?? [];
}

function conversionWebhooks({ csv }: RegistryV1Bundle): WebhookDescription[] {
  return listWebhooks(csv).filter(({ type }) => type === "ConversionWebhook");
}

/** A check. Returns findings with the texts of operator-controller, in a stable order. */
export type Validator = (bundle: RegistryV1Bundle) => string[];

/** All checks by code, in the order of operator-controller. */
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
 * Runs all checks. Returns the errors that prevent rendering a bundle; empty for a valid bundle.
 * @see operator-controller pkg rukpak/render/registryv1/validators
 */
export function validateBundle(bundle: RegistryV1Bundle): string[] {
  return Object.values(VALIDATORS).flatMap((validator) => validator(bundle));
}

function listDeployments({ csv }: RegistryV1Bundle): readonly StrategyDeployment[] {
  return csv.spec.install.spec.deployments ?? [];
}

function duplicateDeployments(bundle: RegistryV1Bundle): string[] {
  const names = listDeployments(bundle).map(({ name }) => name);
  return findDuplicates(names).map((name) => `cluster service version contains duplicate strategy deployment spec '${name}'`);
}

function invalidDeploymentNames(bundle: RegistryV1Bundle): string[] {
  const names = new Set(listDeployments(bundle).map(({ name }) => name));
  return [...names].sort().flatMap((name) => {
    const faults = validateSubdomain(name).sort();
    return faults.length === 0 ? [] : [`invalid cluster service version strategy deployment name '${name}': ${faults.join(", ")}`];
  });
}

function duplicateCrds({ crds }: RegistryV1Bundle): string[] {
  return findDuplicates(crds.map(({ metadata }) => metadata.name ?? "")).map(
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
    .filter(({ kind }) => getSupportedScope(kind) === undefined)
    .map(({ kind, metadata }) => `unsupported resource "${nameIn(metadata)}" with kind "${kind}"`);
}

function nameIn(metadata: unknown): string {
  const name: unknown = typeof metadata === "object" && metadata !== null && "name" in metadata ? metadata.name : "";
  return typeof name === "string" ? name : "";
}
