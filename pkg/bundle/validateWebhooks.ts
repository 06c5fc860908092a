import { compareText } from "../api/compareText.ts";
import { goQuote } from "../errors/goQuote.ts";
import { subdomainFaults } from "./dns.ts";
import { installModes } from "./installModes.ts";
import { repeated } from "./names.ts";
import type { RegistryV1Bundle, WebhookDescription } from "./types.ts";

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
export function conversionNeedsAllNamespaces(bundle: RegistryV1Bundle): string[] {
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
export function webhooksWithoutDeployment({ csv }: RegistryV1Bundle): string[] {
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
export function duplicateWebhooks({ csv }: RegistryV1Bundle): string[] {
  const namesByType = new Map<string, string[]>();
  for (const { type, generateName } of webhooksOf(csv)) namesByType.set(type, [...(namesByType.get(type) ?? []), generateName]);
  return [...namesByType]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([type, names]) => repeated(names).map((name) => `duplicate webhook '${name}' of type '${type}'`));
}

/** Names that are no DNS-1123 subdomain, by type and name. */
export function invalidWebhookNames({ csv }: RegistryV1Bundle): string[] {
  const findings = new Map<string, string>();
  const sorted = [...webhooksOf(csv)].sort((a, b) => compareText(a.type, b.type) || compareText(a.generateName, b.generateName));
  for (const { type, generateName } of sorted) {
    const faults = subdomainFaults(generateName);
    if (faults.length > 0)
      findings.set(`${type}\0${generateName}`, `webhook of type '${type}' has invalid name '${generateName}': ${faults.join(",")}`);
  }
  return [...findings.values()];
}

/** CRDs that several conversion webhooks (or one of them twice) name, sorted. */
export function conversionOfSharedCrds(bundle: RegistryV1Bundle): string[] {
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
export function conversionOfForeignCrds(bundle: RegistryV1Bundle): string[] {
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
export function forbiddenRules({ csv }: RegistryV1Bundle): string[] {
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
