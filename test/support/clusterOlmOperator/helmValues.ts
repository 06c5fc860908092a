import { parseYaml } from "../../../pkg/golang/yaml.ts";

/** Values of a Helm chart. */
export type HelmValues = { [key: string]: HelmValue };
type HelmValue = string | number | boolean | null | HelmValue[] | HelmValues;

/** The lists of feature gates in the values. */
type GateList = `options.${"catalogd" | "operatorController"}.features.${"enabled" | "disabled"}`;

/**
 * Gates of OpenShift, and the gates of the servers that they set. A gate that the cluster does not enable is disabled.
 * @see https://github.com/openshift/cluster-olm-operator/blob/0ebf91fe11da0f71b0bb92424220cfc85ba7b144/internal/featuregates/mapper.go
 */
const GATES: Readonly<Record<string, readonly [component: "catalogd" | "operatorController", gate: string]>> = {
  NewOLMPreflightPermissionChecks: ["operatorController", "PreflightPermissions"],
  NewOLMOwnSingleNamespace: ["operatorController", "SingleOwnNamespaceInstallSupport"],
  NewOLMWebhookProviderOpenshiftServiceCA: ["operatorController", "WebhookProviderOpenshiftServiceCA"],
  NewOLMCatalogdAPIV1Metas: ["catalogd", "APIV1MetasHandler"],
  NewOLMBoxCutterRuntime: ["operatorController", "BoxcutterRuntime"],
  NewOLMConfigAPI: ["operatorController", "DeploymentConfig"],
};
/** Gates of OpenShift that set gates of the servers. */
export const KNOWN_GATES: readonly string[] = Object.keys(GATES);

/** Returns the values of several files, each merged into those before it. */
export function readValues(texts: readonly string[]): HelmValues {
  return texts.reduce<HelmValues>((values, text) => deepMerge(values, parseYaml(text) as HelmValues), {});
}

/** Sets a value by its path, such as "options.catalogd.deployment.image". */
export function setValue(values: HelmValues, path: string, value: HelmValue): void {
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  let parent = values;
  for (const key of keys) parent = (parent[key] ??= {}) as HelmValues;
  parent[last] = value;
}

/**
 * Enables and disables the gates of the servers. WebhookProviderCertManager is always disabled.
 * @see https://github.com/openshift/cluster-olm-operator/blob/330728cddec9f0e212f53f20b21e9681cd1d895e/pkg/helmvalues/helmvalues.go
 */
export function setGates(values: HelmValues, enabledOnCluster: ReadonlySet<string>): void {
  const move = (component: string, gate: string, on: boolean): void => {
    const [to, from] = on ? ["enabled", "disabled"] : ["disabled", "enabled"];
    const list = (state: string | undefined): GateList => `options.${component}.features.${state}` as GateList;
    setValue(
      values,
      list(from),
      readList(values, list(from)).filter((name) => name !== gate),
    );
    setValue(values, list(to), [...new Set([...readList(values, list(to)), gate])].sort());
  };
  for (const [name, [component, gate]] of Object.entries(GATES)) move(component, gate, enabledOnCluster.has(name));
  move("operatorController", "WebhookProviderCertManager", false);
}

function readList(values: HelmValues, path: string): string[] {
  let value: HelmValue = values;
  for (const key of path.split(".")) value = ((value as HelmValues)[key] ?? {}) as HelmValue;
  return Array.isArray(value) ? (value as string[]) : [];
}

/**
 * Merges objects, appends lists, and replaces other values.
 * @see https://github.com/TwiN/deepmerge, with its default configuration
 */
function deepMerge(values: HelmValues, added: HelmValues): HelmValues {
  const merged = { ...values };
  for (const [key, value] of Object.entries(added)) {
    const before = merged[key];
    if (Array.isArray(before) && Array.isArray(value)) merged[key] = [...before, ...value];
    else if (isObject(before) && isObject(value)) merged[key] = deepMerge(before, value);
    else merged[key] = value;
  }
  return merged;
}

function isObject(value: HelmValue | undefined): value is HelmValues {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
