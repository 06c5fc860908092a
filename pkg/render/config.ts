import { Reason } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { CONFIG_TYPES } from "../bundle/goTypes.ts";
import type { Container, Csv, NamedItem, PodTemplate } from "../bundle/types.ts";
import { listSupportedInstallModes } from "../bundle/validate.ts";
import { getErrorMessage, TerminalError } from "../errors/errors.ts";
import { findSelectorError, type LabelSelector } from "../resolve/labelSelector.ts";
import { compareText } from "../text/compare.ts";
import { toConfigErrors } from "./configErrors.ts";
import { checkConfigSize, INVALID_CONFIG } from "./configLimits.ts";
import { buildConfigSchema, type ConfigSchemaOptions, createConfigFormats } from "./configSchema.ts";
import { type JsonSchema, SchemaChecker, type SchemaFailure } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };
import { findTrustedCaFault, type TrustedCa } from "./trustedCa.ts";
import { explainWatchErrors, findExclusionFault, findListFault, readWatchScope } from "./watchScope.ts";

/** The user's changes to the Deployments of the bundle, as in Go's SubscriptionConfig. Contains only the fields that are set. */
export interface DeploymentConfig {
  env?: NamedItem[];
  envFrom?: JsonObject[];
  volumes?: NamedItem[];
  volumeMounts?: Container["volumeMounts"];
  tolerations?: JsonObject[];
  resources?: JsonObject;
  nodeSelector?: Record<string, string>;
  affinity?: PodTemplate["spec"]["affinity"];
  annotations?: Record<string, string>;
  /** Selects Deployments by label. If absent, selects all Deployments. */
  selector?: LabelSelector;
  /** Whether the changes also apply to init containers. */
  includeInitContainers?: boolean;
  /** Certificate authorities to trust. */
  trustedCA?: TrustedCa;
}

/** The validated configuration of one extension. */
export interface BundleConfig {
  /** At least one namespace, as set by the user; `[""]` for all namespaces. */
  watchNamespaces?: readonly string[];
  /** Applied in order. */
  deploymentConfigs: readonly DeploymentConfig[];
}

/** Options for validating a configuration. */
export interface ConfigOptions extends ConfigSchemaOptions {
  installNamespace: string;
}

/** Fields that the schema allows in addition to those of Go if the configuration is extended. */
interface ConfigMembers {
  deploymentConfig?: JsonObject;
  deploymentConfigs?: JsonObject[];
  watchNamespaces?: string[];
}

/**
 * Validates `spec.config.inline` against the schema of the bundle.
 * @param inline parsed JSON. Undefined means `{}`, so that missing required fields are still reported.
 * @throws TerminalError InvalidConfiguration if the configuration is invalid or exceeds `CONFIG_LIMITS`.
 */
export function readBundleConfig(csv: Csv, inline: unknown, options: ConfigOptions): BundleConfig {
  const { installNamespace, extended = false } = options;
  const given = inline ?? {};
  checkConfigSize(given);
  const { requested, rest } = readWatchScope(csv, given, extended);
  const checker = new SchemaChecker(
    kubernetes.schemas as ConstructorParameters<typeof SchemaChecker>[0],
    createConfigFormats(installNamespace),
  );
  const found = checker.check(schemaFor(buildConfigSchema(listSupportedInstallModes(csv), options), rest), rest);
  const failures = extended
    ? found.concat(extendedFaults(csv, given, { requested, rest, installNamespace, isValid: found.length === 0 }))
    : found;
  if (failures.length > 0) {
    const { text, fullText, mistakes } = toConfigErrors(failures, explainWatchErrors(csv, given, extended));
    const problems = [newProblem("InvalidConfiguration", { message: fullText, details: mistakes })];
    throw new TerminalError(Reason.InvalidConfiguration, `${INVALID_CONFIG}${text}`, { problems });
  }
  const { deploymentConfig, deploymentConfigs = [] } = rest as ConfigMembers;
  const configs = options.deploymentConfig ? [...(deploymentConfig ? [deploymentConfig] : []), ...deploymentConfigs] : [];
  return { ...(requested ? { watchNamespaces: requested } : {}), deploymentConfigs: configs.map(decodeConfig) };
}

/** Returns the schema for `config`. If it contains a list of namespaces, the schema does not require a single namespace. */
function schemaFor(schema: JsonSchema, config: unknown): JsonSchema {
  const isListed = (config as ConfigMembers).watchNamespaces !== undefined && schema.properties?.["watchNamespaces"] !== undefined;
  return isListed ? { ...schema, required: [] } : schema;
}

/** Checks rules that the schema cannot express, for fields that the Go implementation does not know. */
function extendedFaults(
  csv: Csv,
  given: unknown,
  {
    requested,
    rest,
    installNamespace,
    isValid,
  }: { requested: readonly string[] | undefined; rest: unknown; installNamespace: string; isValid: boolean },
): SchemaFailure[] {
  const faults = [findExclusionFault(given)];
  if (isValid) {
    const { deploymentConfig, deploymentConfigs = [], watchNamespaces } = rest as ConfigMembers;
    if (watchNamespaces && requested) faults.push(findListFault(csv, installNamespace, requested));
    if (deploymentConfig) faults.push(...configFaults(deploymentConfig, ["deploymentConfig"]));
    faults.push(...deploymentConfigs.flatMap((config, index) => configFaults(config, ["deploymentConfigs", String(index)])));
  }
  return faults.filter((fault) => fault !== undefined);
}

function configFaults(config: JsonObject, path: readonly string[]): SchemaFailure[] {
  const errors = { selector: findSelectorError(config["selector"] as LabelSelector | undefined), trustedCA: findTrustedCaFault(config) };
  return Object.entries(errors).flatMap(([member, error]): SchemaFailure[] => {
    if (error === undefined) return [];
    const field = [...path, member];
    return [{ fault: { keyword: "rule", text: `invalid value for field "${field.join(".")}": ${error}` }, path: field, causes: [] }];
  });
}

/** Converts to the typed form. Keeps `nodeSelector: {}`, which Go's encoder omits. */
function decodeConfig(given: JsonObject): DeploymentConfig {
  try {
    const config = CONFIG_TYPES.convert("operators/v1alpha1.SubscriptionConfig", sortMembers(given)) as DeploymentConfig;
    return {
      ...(given["nodeSelector"] ? { nodeSelector: {} } : {}),
      ...config,
      ...(given["includeInitContainers"] === true ? { includeInitContainers: true } : {}),
      ...(given["trustedCA"] ? { trustedCA: given["trustedCA"] as TrustedCa } : {}),
    };
  } catch (err) {
    throw new TerminalError(
      Reason.InvalidConfiguration,
      `invalid deploymentConfig: failed to unmarshal deploymentConfig: ${getErrorMessage(err)}`,
      { cause: err },
    );
  }
}

/**
 * Sorts members by name, because Go encodes the configuration before decoding it. If names differ only in letter case, the last one takes precedence.
 */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => compareText(a, b));
  return Object.fromEntries(members.map(([key, member]) => [key, sortMembers(member)]));
}
