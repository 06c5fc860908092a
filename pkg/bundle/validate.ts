import { GROUP } from "../api/constants.ts";
import { validateLabel1035, validateSubdomain } from "../api/names.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import { findDuplicates } from "../text/lists.ts";
import { ownedApiServices, portOf } from "./apiServices.ts";
import type { ApiServiceDescription, Csv, InstallModeType, RegistryV1Bundle, StrategyDeployment, WebhookDescription } from "./types.ts";

/** The scope of every kind that a bundle may contain, its CSV and CRDs included; by kind only, as operator-registry has it. */
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

/** Whether objects of `kind` live in a namespace; undefined for a kind that bundles must not hold. */
export function supportedScope(kind: string): "namespaced" | "cluster" | undefined {
  return Object.hasOwn(SUPPORTED_KINDS, kind) ? SUPPORTED_KINDS[kind] : undefined;
}

const REQUIRED = ["group", "version", "kind", "name", "deploymentName"] as const;
const MAX_PORT = 65_535;
/** Zones whose groups are Kubernetes' own, but for those that are made to be served by others. */
const KUBERNETES_ZONES: readonly string[] = ["k8s.io", "kubernetes.io"];
const MEANT_FOR_OTHERS: ReadonlySet<string> = new Set(["metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"]);

/** Entries without something that every one must have, by their number. */
function incompleteApiServices({ csv }: RegistryV1Bundle): string[] {
  return ownedIn(csv).flatMap((description, i) => {
    const missing = REQUIRED.filter((member) => !description[member]);
    return missing.length === 0 ? [] : [`owned API service number ${i + 1} has no ${missing.join(", no ")}`];
  });
}

/** API services that no deployment serves, by name. */
function apiServicesWithoutDeployment({ csv }: RegistryV1Bundle): string[] {
  const deployments = new Set((csv.spec.install.spec.deployments ?? []).map(({ name }) => name));
  return sorted(
    ownedIn(csv)
      .filter(({ deploymentName }) => deploymentName && !deployments.has(deploymentName))
      .map((description) => `${titleOf(description)} references non-existent deployment '${description.deploymentName}'`),
  );
}

/** Groups, versions, kinds and plural names that the API server takes in no APIService or path, by name. */
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
        .map(([what, text, found]) => `${titleOf(description)} has invalid ${what} '${text}': ${found.join(", ")}`);
    }),
  );
}

/** Ports out of bounds, by name; 0 stands for 443. */
function invalidApiServicePorts({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv)
      .filter(({ containerPort = 0 }) => containerPort < 0 || containerPort > MAX_PORT)
      .map(
        (description) => `${titleOf(description)} has invalid containerPort ${description.containerPort}: must be from 1 to ${MAX_PORT}`,
      ),
  );
}

/** Group versions whose kinds are said to be served from several places, and ports that are said to lead to several, by name. */
function disagreeingApiServices({ csv }: RegistryV1Bundle): string[] {
  const places = new Map<string, Set<string>>();
  for (const description of ownedIn(csv)) {
    const { deploymentName = "", containerPort } = description;
    const title = titleOf(description);
    places.set(title, (places.get(title) ?? new Set()).add(`port ${portOf(containerPort)} of deployment '${deploymentName}'`));
  }
  const scattered = [...places].filter(([, found]) => found.size > 1);
  const ports = ownedApiServices(csv).flatMap(({ name, deploymentName, port }) =>
    (csv.spec.webhookdefinitions ?? [])
      .filter((webhook) => webhook.deploymentName === deploymentName && portOf(webhook.containerPort) === port)
      .filter(({ targetPort = port }) => targetPort !== port)
      .map(
        ({ generateName, targetPort }) =>
          `owned API service '${name}' and webhook '${generateName}' share port ${port} of deployment '${deploymentName}', which leads the webhook to target port '${targetPort}'`,
      ),
  );
  return [
    ...sorted(scattered.map(([title, found]) => `${title} can have one place only, not ${[...found].sort().join(" and ")}`)),
    ...sorted(ports),
  ];
}

/** API services of groups that are the API server's own, or OLM's, which no bundle may stand in for, by name. */
function apiServicesOfReservedGroups({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv)
      .filter(({ group }) => isReserved(group))
      .map((description) => `${titleOf(description)} is of reserved API group '${description.group}', which bundles cannot serve`),
  );
}

/** API services of a group version that a CRD of the same bundle defines: only one of them could serve it, by name. */
function apiServicesOfOwnDefinitions({ csv, crds }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv).flatMap((description) =>
      crds
        .filter(({ spec }) => spec["group"] === description.group && versionsIn(spec["versions"]).includes(description.version))
        .map(
          ({ metadata }) =>
            `${titleOf(description)} is of the group and version of custom resource definition '${metadata.name}' in the same bundle`,
        ),
    ),
  );
}

function ownedIn({ spec }: RegistryV1Bundle["csv"]): readonly ApiServiceDescription[] {
  return spec.apiservicedefinitions.owned ?? [];
}

function titleOf({ group, version }: ApiServiceDescription): string {
  return `owned API service '${version}.${group}'`;
}

function sorted(findings: readonly string[]): string[] {
  return [...new Set(findings)].sort();
}

/** Groups without a dot are those that Kubernetes began with. */
function isReserved(group: string): boolean {
  if (group === "" || MEANT_FOR_OTHERS.has(group)) return false;
  return !group.includes(".") || [...KUBERNETES_ZONES, GROUP].some((zone) => group === zone || group.endsWith(`.${zone}`));
}

function versionsIn(versions: unknown): unknown[] {
  return Array.isArray(versions) ? versions.map((version: { name?: unknown } | null) => version?.name) : [];
}

/** The install modes that the CSV says are supported, whether known or not; a mode listed twice with both answers counts. */
export function installModes(csv: Csv): ReadonlySet<InstallModeType | (string & {})> {
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

/** Conversion webhooks serve all namespaces, so the bundle must support nothing else. */
function conversionNeedsAllNamespaces(bundle: RegistryV1Bundle): string[] {
  const webhooks = conversionWebhooks(bundle);
  const modes = [...installModes(bundle.csv)].sort();
  if (webhooks.length === 0 || (modes.length === 1 && modes[0] === "AllNamespaces")) return [];
  return webhooks.map(
    ({ generateName }) =>
      `bundle contains conversion webhook ${goQuote(generateName)} and supports install modes [${modes.join(" ")}] - conversion webhooks are only ` +
      "supported for bundles that only support AllNamespaces install mode",
  );
}

/** Webhooks that no deployment serves, by deployment, type and name. */
function webhooksWithoutDeployment({ csv }: RegistryV1Bundle): string[] {
  const deployments = new Set((csv.spec.install.spec.deployments ?? []).map(({ name }) => name));
  return webhooksOf(csv)
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

/** Names used twice within one type, by type and name. */
function duplicateWebhooks({ csv }: RegistryV1Bundle): string[] {
  const namesByType = new Map<string, string[]>();
  for (const { type, generateName } of webhooksOf(csv)) namesByType.set(type, [...(namesByType.get(type) ?? []), generateName]);
  return [...namesByType]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([type, names]) => findDuplicates(names).map((name) => `duplicate webhook '${name}' of type '${type}'`));
}

/** Names that are no DNS-1123 subdomain, by type and name. */
function invalidWebhookNames({ csv }: RegistryV1Bundle): string[] {
  const findings = new Map<string, string>();
  const sorted = [...webhooksOf(csv)].sort((a, b) => compareText(a.type, b.type) || compareText(a.generateName, b.generateName));
  for (const { type, generateName } of sorted) {
    const faults = validateSubdomain(generateName).sort();
    if (faults.length > 0)
      findings.set(`${type}\0${generateName}`, `webhook of type '${type}' has invalid name '${generateName}': ${faults.join(",")}`);
  }
  return [...findings.values()];
}

/** CRDs that several conversion webhooks (or one of them twice) name, sorted. */
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

/** CRDs that a conversion webhook names and the CSV does not own, by webhook and CRD. */
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

/** Admission rules that could lock OLM or the admission of webhooks itself out. */
function forbiddenRules({ csv }: RegistryV1Bundle): string[] {
  const findings: string[] = [];
  for (const { type, generateName, rules = [] } of webhooksOf(csv)) {
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

function webhooksOf(csv: RegistryV1Bundle["csv"]): readonly WebhookDescription[] {
  return csv.spec.webhookdefinitions ?? [];
}

function conversionWebhooks({ csv }: RegistryV1Bundle): WebhookDescription[] {
  return webhooksOf(csv).filter(({ type }) => type === "ConversionWebhook");
}

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
  return findDuplicates(names).map((name) => `cluster service version contains duplicate strategy deployment spec '${name}'`);
}

function invalidDeploymentNames(bundle: RegistryV1Bundle): string[] {
  const names = new Set(deploymentsOf(bundle).map(({ name }) => name));
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
    .filter(({ kind }) => supportedScope(kind) === undefined)
    .map(({ kind, metadata }) => `unsupported resource "${nameIn(metadata)}" with kind "${kind}"`);
}

function nameIn(metadata: unknown): string {
  const name: unknown = typeof metadata === "object" && metadata !== null && "name" in metadata ? metadata.name : "";
  return typeof name === "string" ? name : "";
}
