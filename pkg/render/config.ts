import { Reason } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { CONFIG_TYPES } from "../bundle/goTypes.ts";
import type { Container, Csv, NamedItem, PodTemplate } from "../bundle/types.ts";
import { messageOf, TerminalError } from "../errors/errors.ts";
import { findSelectorError, type LabelSelector } from "../resolve/labelSelector.ts";
import { compareText } from "../text/compare.ts";
import { configErrors } from "./configErrors.ts";
import { checkConfigSize, INVALID_CONFIG } from "./configLimits.ts";
import { type ConfigSchemaOptions, configFormats, configSchema } from "./configSchema.ts";
import { type JsonSchema, SchemaChecker, type SchemaFailure } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };
import { type TrustedCa, trustedCaFault } from "./trustedCa.ts";
import { exclusionFault, listFault, watchRemarks, watchScope } from "./watchScope.ts";

/** What a user may change about the bundle's Deployments, as Go's SubscriptionConfig holds it; a member is present only when it was given. */
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
  /** Which Deployments are meant, by their labels; absent: all. */
  selector?: LabelSelector;
  /** Whether init containers get what containers get. */
  includeInitContainers?: boolean;
  /** Certificate authorities to trust. */
  trustedCA?: TrustedCa;
}

/** The configuration of one extension, checked. */
export interface BundleConfig {
  /** At least one, as they were given; `[""]` stands for all. */
  watchNamespaces?: readonly string[];
  /** Applied one after another. */
  deploymentConfigs: readonly DeploymentConfig[];
}

/** What a configuration is checked with. */
export interface ConfigOptions extends ConfigSchemaOptions {
  installNamespace: string;
}

/** Members beside Go's that the schema lets through only when the configuration is extended. */
interface ConfigMembers {
  deploymentConfig?: JsonObject;
  deploymentConfigs?: JsonObject[];
  watchNamespaces?: string[];
}

/**
 * Checks `spec.config.inline` against what the bundle accepts.
 * @param inline parsed JSON; undefined counts as `{}`, so that what is required is still asked for.
 * @throws TerminalError InvalidConfiguration, also for what is larger than `CONFIG_LIMITS`.
 */
export function bundleConfig(csv: Csv, inline: unknown, options: ConfigOptions): BundleConfig {
  const { installNamespace, extended = false } = options;
  const given = inline ?? {};
  checkConfigSize(given);
  const { asked, rest } = watchScope(csv, given, extended);
  const checker = new SchemaChecker(kubernetes.schemas as ConstructorParameters<typeof SchemaChecker>[0], configFormats(installNamespace));
  const found = checker.check(schemaFor(configSchema(csv, options), rest), rest);
  const failures = extended
    ? found.concat(extendedFaults(csv, given, { asked, rest, installNamespace, isSound: found.length === 0 }))
    : found;
  if (failures.length > 0) {
    const { text, fullText, mistakes } = configErrors(failures, watchRemarks(csv, given, extended));
    const problems = [newProblem("InvalidConfiguration", { message: fullText, details: mistakes })];
    throw new TerminalError(Reason.InvalidConfiguration, `${INVALID_CONFIG}${text}`, { problems });
  }
  const { deploymentConfig, deploymentConfigs = [] } = rest as ConfigMembers;
  const configs = options.deploymentConfig ? [...(deploymentConfig ? [deploymentConfig] : []), ...deploymentConfigs] : [];
  return { ...(asked ? { watchNamespaces: asked } : {}), deploymentConfigs: configs.map(decoded) };
}

/** A list of namespaces stands in for the one that is required otherwise. */
function schemaFor(schema: JsonSchema, config: unknown): JsonSchema {
  const isListed = (config as ConfigMembers).watchNamespaces !== undefined && schema.properties?.["watchNamespaces"] !== undefined;
  return isListed ? { ...schema, required: [] } : schema;
}

/** What no schema says about the members that the Go implementation does not know. */
function extendedFaults(
  csv: Csv,
  given: unknown,
  {
    asked,
    rest,
    installNamespace,
    isSound,
  }: { asked: readonly string[] | undefined; rest: unknown; installNamespace: string; isSound: boolean },
): SchemaFailure[] {
  const faults = [exclusionFault(given)];
  if (isSound) {
    const { deploymentConfig, deploymentConfigs = [], watchNamespaces } = rest as ConfigMembers;
    if (watchNamespaces && asked) faults.push(listFault(csv, installNamespace, asked));
    if (deploymentConfig) faults.push(...configFaults(deploymentConfig, ["deploymentConfig"]));
    faults.push(...deploymentConfigs.flatMap((config, index) => configFaults(config, ["deploymentConfigs", String(index)])));
  }
  return faults.filter((fault) => fault !== undefined);
}

function configFaults(config: JsonObject, path: readonly string[]): SchemaFailure[] {
  const errors = { selector: findSelectorError(config["selector"] as LabelSelector | undefined), trustedCA: trustedCaFault(config) };
  return Object.entries(errors).flatMap(([member, error]): SchemaFailure[] => {
    if (error === undefined) return [];
    const field = [...path, member];
    return [{ fault: { keyword: "rule", text: `invalid value for field "${field.join(".")}": ${error}` }, path: field, causes: [] }];
  });
}

/** The typed form; `nodeSelector: {}` is kept, though Go's encoder would leave it out. */
function decoded(given: JsonObject): DeploymentConfig {
  try {
    const config = CONFIG_TYPES.convert("operators/v1alpha1.SubscriptionConfig", inKeyOrder(given)) as DeploymentConfig;
    return {
      ...(given["nodeSelector"] ? { nodeSelector: {} } : {}),
      ...config,
      ...(given["includeInitContainers"] === true ? { includeInitContainers: true } : {}),
      ...(given["trustedCA"] ? { trustedCA: given["trustedCA"] as TrustedCa } : {}),
    };
  } catch (err) {
    throw new TerminalError(
      Reason.InvalidConfiguration,
      `invalid deploymentConfig: failed to unmarshal deploymentConfig: ${messageOf(err)}`,
      { cause: err },
    );
  }
}

/** As Go encodes the configuration before it decodes it: of keys that differ only in letter case the last in this order wins. */
function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => compareText(a, b));
  return Object.fromEntries(members.map(([key, member]) => [key, inKeyOrder(member)]));
}
