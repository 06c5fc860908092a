import { Reason } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { CONFIG_TYPES } from "../bundle/goTypes.ts";
import type { Container, Csv, NamedItem, PodTemplate } from "../bundle/types.ts";
import { messageOf, TerminalError } from "../errors/errors.ts";
import { goQuote } from "../errors/goQuote.ts";
import { configErrorText } from "./configErrors.ts";
import { configSchema, OWN_NAMESPACE_FORMAT, SINGLE_NAMESPACE_FORMAT } from "./configSchema.ts";
import { type Format, SchemaChecker } from "./jsonSchema.ts";
import kubernetes from "./kubeSchemas.json" with { type: "json" };

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
}

/** The configuration of one extension, checked. */
export interface BundleConfig {
  watchNamespace?: string;
  deploymentConfig?: DeploymentConfig;
}

/**
 * Checks `spec.config.inline` against what the bundle accepts.
 * @param inline parsed JSON; undefined counts as `{}`, so that what is required is still asked for.
 * @throws TerminalError InvalidConfiguration.
 */
export function bundleConfig(csv: Csv, inline: unknown, options: { installNamespace: string; deploymentConfig: boolean }): BundleConfig {
  const value = inline ?? {};
  const checker = new SchemaChecker(
    kubernetes.schemas as ConstructorParameters<typeof SchemaChecker>[0],
    formats(options.installNamespace),
  );
  const failures = checker.check(configSchema(csv, options), value);
  if (failures.length > 0) {
    throw new TerminalError(
      Reason.InvalidConfiguration,
      `invalid ClusterExtension configuration: invalid configuration: ${configErrorText(failures)}`,
    );
  }
  const { watchNamespace, deploymentConfig } = value as { watchNamespace?: string | null; deploymentConfig?: JsonObject };
  const config: BundleConfig = {};
  if (typeof watchNamespace === "string") config.watchNamespace = watchNamespace;
  if (deploymentConfig && options.deploymentConfig) config.deploymentConfig = decoded(deploymentConfig);
  return config;
}

/** The typed form; `nodeSelector: {}` is kept, though Go's encoder would leave it out. */
function decoded(given: JsonObject): DeploymentConfig {
  try {
    const config = CONFIG_TYPES.convert("operators/v1alpha1.SubscriptionConfig", given) as DeploymentConfig;
    return given["nodeSelector"] ? { nodeSelector: {}, ...config } : config;
  } catch (err) {
    throw new TerminalError(
      Reason.InvalidConfiguration,
      `invalid deploymentConfig: failed to unmarshal deploymentConfig: ${messageOf(err)}`,
      { cause: err },
    );
  }
}

/** The asserted formats; without an install namespace its two are not. */
function formats(installNamespace: string): ReadonlyMap<string, Format> {
  const given =
    (check: Format): Format =>
    (value) =>
      installNamespace === "" ? undefined : check(value);
  return new Map([
    [OWN_NAMESPACE_FORMAT, given((value) => (value === installNamespace ? undefined : notOwn(value, installNamespace)))],
    [SINGLE_NAMESPACE_FORMAT, given((value) => (value === installNamespace ? notSingle(value) : undefined))],
    ["date-time", dateTimeFault],
  ]);
}

function notOwn(value: string, namespace: string): string {
  const because = "(the namespace where the operator is installed) because this operator only supports OwnNamespace install mode";
  return `invalid value ${goQuote(value)}: must be ${goQuote(namespace)} ${because}`;
}

function notSingle(value: string): string {
  const because = "(the install namespace) because this operator uses SingleNamespace install mode to watch a different namespace";
  return `invalid value ${goQuote(value)}: must be different from ${goQuote(value)} ${because}`;
}

function dateTimeFault(value: string): string | undefined {
  if (Buffer.byteLength(value) < 20) return "less than 20 characters long";
  if (!/^[Tt]/.test(value.slice(10))) return "11th character must be t or T";
  return Number.isNaN(Date.parse(value)) ? "invalid date or time element" : undefined;
}
