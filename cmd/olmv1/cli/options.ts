import { type Command, InvalidArgumentError, Option } from "commander";
import type { CatalogSource } from "../../../pkg/api/clusterExtension.ts";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import { OPERATOR_PROXY_HELP, OPERATOR_PROXY_MODES, type OperatorProxyMode } from "../../../pkg/api/flagValues.ts";
import { validateLabel } from "../../../pkg/api/names.ts";
import { SEVERITIES, type Severity } from "../../../pkg/fbc/validate/rules.ts";
import { parseDuration } from "../../../pkg/golang/time.ts";
import { addOutputOption, type Output } from "./output.ts";
import { COLOR_MODES } from "./terminal.ts";

/** Help headings of options that several commands share; cmd/crdgen describes each of these groups once. */
export const OPTION_GROUPS = {
  cluster: "Cluster options:",
  registry: "Registry options:",
  wait: "Wait options:",
  proxy: "Proxy options:",
  catalogs: "Catalog options:",
  resolution: "Resolution options:",
  findings: "Finding options:",
  filters: "Filter options:",
  build: "Build options:",
  conversion: "Conversion options:",
  edit: "Edit options:",
  edges: "Edge options:",
  migration: "Migration options:",
} as const;

/** Adds options under a heading of `OPTION_GROUPS`. */
export function addOptionGroup(command: Command, group: keyof typeof OPTION_GROUPS, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option.helpGroup(OPTION_GROUPS[group]));
  return command;
}

/** Returns an option that you can repeat; its value is a list. */
export function createRepeatableOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(collect).default([]);
}

/** The cluster of a command, and its credentials. */
export interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
}

/** Options of commands that read releases. */
export interface ReleaseOptions extends ClusterOptions {
  systemNamespace: string;
}

/** Adds the options of `ClusterOptions` to a command. */
export function addClusterOptions(command: Command): Command {
  return addOptionGroup(command, "cluster", [
    new Option("--kubeconfig <path>", "path of a kubeconfig (default: $KUBECONFIG, else the Pod's ServiceAccount, else ~/.kube/config)"),
    new Option("--context <name>", "context of the kubeconfig (default: the current context)"),
  ]);
}

/** Adds the options of `ReleaseOptions` to a command. */
export function addReleaseOptions(command: Command): Command {
  return addOptionGroup(addClusterOptions(command), "cluster", [
    new Option("--system-namespace <name>", "namespace of the release Secrets").default(SYSTEM_NAMESPACE),
  ]);
}

/**
 * Parses a duration such as 30s, 5m or 1h30m to milliseconds.
 * @throws InvalidArgumentError for an invalid duration, such as a number without a unit.
 */
export function parseDurationOption(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text))
    throw new InvalidArgumentError(`The unit is missing: use ${text}s for seconds or ${text}m for minutes.`);
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("Use a duration such as 30s, 5m or 1h30m.");
  return ms;
}

/** Returns an option whose value is a duration in milliseconds. @param byDefault such as `5m`; without it the option has no default. */
export function createDurationOption(flag: `--${string}`, description: string, byDefault?: string): Option {
  const option = new Option(`${flag} <duration>`, `${description}, such as 30s, 5m or 1h30m`).argParser(parseDurationOption);
  return byDefault === undefined ? option : option.default(parseDurationOption(byDefault), byDefault);
}

/** Parses the name of a namespace. @throws InvalidArgumentError with the rule of the API server */
export function parseNamespace(text: string): string {
  const [fault] = validateLabel(text);
  if (fault === undefined) return text;
  throw new InvalidArgumentError(`${fault}.`);
}

/** Parses the value of `--parallel`. @throws InvalidArgumentError unless it is a number from 1 to 32 */
export function parseParallel(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= 32) return count;
  throw new InvalidArgumentError("Use a number from 1 to 32.");
}

/** Adds `--wait`, `--no-wait` and `--timeout`. The help of each command describes when its operation is complete. */
export function addWaitOptions(command: Command): Command {
  return addOptionGroup(command, "wait", [
    new Option("--wait", "wait until the operation completes").default(true),
    new Option("--no-wait", "return immediately; the controller continues the operation"),
    createDurationOption("--timeout", "maximum time to wait", "5m"),
  ]);
}

/** The proxy flags of operator-controller, for commands that simulate it. */
export interface ProxyOptions {
  operatorProxy: OperatorProxyMode;
  operatorHttpProxy?: string;
  operatorHttpsProxy?: string;
  operatorNoProxy?: string;
}

/** Adds the options of `ProxyOptions` to a command. */
export function addProxyOptions(command: Command): Command {
  return addOptionGroup(command, "proxy", [
    new Option("--operator-proxy <mode>", OPERATOR_PROXY_HELP["operator-proxy"]).choices(OPERATOR_PROXY_MODES).default("auto"),
    new Option("--operator-http-proxy <url>", OPERATOR_PROXY_HELP["operator-http-proxy"]),
    new Option("--operator-https-proxy <url>", OPERATOR_PROXY_HELP["operator-https-proxy"]),
    new Option("--operator-no-proxy <hosts>", OPERATOR_PROXY_HELP["operator-no-proxy"]),
  ]);
}

/** Returns `--color`. */
export function createColorOption(): Option {
  return new Option("--color <when>", "when to use colors").choices(COLOR_MODES).default("auto");
}

/** Appends the value of a repeatable option. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Appends the comma-separated values of a repeatable option. */
export function collectCsv(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(",").filter((one) => one !== "")];
}

/** Adds the options of `RegistryOptions`, for pulling images. */
export function addRegistryOptions(command: Command): Command {
  return addOptionGroup(command, "registry", [
    new Option("--registries-conf <path>", "registries.conf with mirrors and blocked registries (default: the system's registries.conf)"),
    new Option("--signature-policy <path>", "policy.json with the accepted images and signatures (default: the system's policy.json)"),
    new Option(
      "--auth-file <path>",
      "docker config file with registry credentials (default: the files that docker login and podman login write)",
    ),
  ]);
}

/** Adds the options for pulling and pushing images. */
export function addPushOptions(command: Command): Command {
  return addOptionGroup(addRegistryOptions(command), "registry", [
    new Option("--insecure", "allow pushing to registries with plain HTTP or an untrusted certificate"),
  ]);
}

/** Options of a command that reports findings. */
export interface FindingOptions {
  output: Output;
  failOn: Severity;
  severity: Severity;
  ignore: string[];
}

/** Adds the options of `FindingOptions`. */
export function addFindingOptions(command: Command): Command {
  return addOptionGroup(addOutputOption(command, ["text", "json", "yaml", "sarif"]), "findings", [
    new Option("--fail-on <severity>", "minimum severity for exit code 1").choices(SEVERITIES).default("error"),
    new Option("--severity <severity>", "minimum severity to print").choices(SEVERITIES).default("info"),
    new Option("--ignore <rules>", "comma-separated rule codes to skip; errors cannot be skipped").argParser(collectCsv).default([]),
  ]);
}

/** The options that `addWaitOptions` adds. */
export interface WaitOptions {
  wait: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Files that configure access to registries. */
export interface RegistryOptions {
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** Options of `olmv1 install`. */
export interface InstallOptions extends ReleaseOptions, RegistryOptions, WaitOptions {
  name?: string;
  version?: string;
  channel: string[];
  catalog: string[];
  namespace?: string;
  createServiceAccount?: boolean;
  serviceAccount?: string;
  config?: string;
  watchNamespace: string[];
  approval?: "Automatic" | "Manual";
  upgradeConstraintPolicy?: NonNullable<CatalogSource["upgradeConstraintPolicy"]>;
  yes?: boolean;
  dryRun?: "client" | "server";
  output: Output;
}

/** Shells with a completion script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof SHELLS)[number];
