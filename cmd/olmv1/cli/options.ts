import { type Command, InvalidArgumentError, Option } from "commander";
import type { CatalogSource } from "../../../pkg/api/clusterExtension.ts";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import { OPERATOR_PROXY_HELP, OPERATOR_PROXY_MODES, type OperatorProxyMode } from "../../../pkg/api/flagValues.ts";
import { SEVERITIES, type Severity } from "../../../pkg/fbc/validate/rules.ts";
import { parseDuration } from "../../../pkg/golang/time.ts";
import { type Output, outputOption } from "./output.ts";

/** Which cluster, and as whom. */
export interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
}

/** The same, for commands that read releases. */
export interface ReleaseOptions extends ClusterOptions {
  systemNamespace: string;
}

/** Adds the options of `ClusterOptions` to a command. */
export function addClusterOptions(command: Command): Command {
  return command
    .option("--kubeconfig <path>", "path of a kubeconfig; default: $KUBECONFIG, else the Pod's own identity, else ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig; default: its current one");
}

/** Adds the options of `ReleaseOptions` to a command. */
export function addReleaseOptions(command: Command): Command {
  return addClusterOptions(command).option("--system-namespace <name>", "namespace that holds the release Secrets", SYSTEM_NAMESPACE);
}

/**
 * Returns the milliseconds of a duration such as 30s, 5m or 1h30m.
 * @throws InvalidArgumentError for a bare number, with an example, and for any other text that is not a duration.
 */
export function durationOf(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) throw new InvalidArgumentError(`It has no unit: write ${text}s for seconds or ${text}m for minutes.`);
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError("It must be a duration such as 30s, 5m or 1h30m.");
  return ms;
}

/** Returns an option whose value is a duration in milliseconds. @param byDefault such as `5m`; without it the option has no default. */
export function durationOption(flag: `--${string}`, description: string, byDefault?: string): Option {
  const option = new Option(`${flag} <duration>`, `${description}, such as 30s, 5m or 1h30m`).argParser(durationOf);
  return byDefault === undefined ? option : option.default(durationOf(byDefault), byDefault);
}

/** Adds `--wait`, `--no-wait` and `--timeout`. @param forWhat completes "wait until …". */
export function addWaitOptions(command: Command, forWhat: string): Command {
  return command
    .option("--wait", `wait until ${forWhat}`, true)
    .option("--no-wait", "return at once; the cluster goes on by itself")
    .addOption(durationOption("--timeout", "how long to wait", "5m"));
}

/** The proxy flags of operator-controller, for a command that does as it does. */
export interface ProxyOptions {
  operatorProxy: OperatorProxyMode;
  operatorHttpProxy?: string;
  operatorHttpsProxy?: string;
  operatorNoProxy?: string;
}

/** Adds the options of `ProxyOptions` to a command. */
export function addProxyOptions(command: Command): Command {
  return command
    .addOption(new Option("--operator-proxy <mode>", OPERATOR_PROXY_HELP["operator-proxy"]).choices(OPERATOR_PROXY_MODES).default("auto"))
    .option("--operator-http-proxy <url>", OPERATOR_PROXY_HELP["operator-http-proxy"])
    .option("--operator-https-proxy <url>", OPERATOR_PROXY_HELP["operator-https-proxy"])
    .option("--operator-no-proxy <hosts>", OPERATOR_PROXY_HELP["operator-no-proxy"]);
}

/** Takes an option that may be given more than once. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** The same, each time with several texts that have commas between them. */
export function collectCsv(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(",").filter((one) => one !== "")];
}

/** Adds the options that say how images are pulled, those of `ReaderOptions`. */
export function addRegistryOptions(command: Command): Command {
  return command
    .option("--registries-conf <path>", "a registries.conf for images")
    .option("--signature-policy <path>", "a policy.json about whose images are taken; default: the system's")
    .option("--auth-file <path>", "a docker config file with registry credentials; default: those of docker login and podman login");
}

/** The same, for commands that push images. */
export function addPushOptions(command: Command): Command {
  return addRegistryOptions(command).option(
    "--insecure",
    "the registry pushed to may speak plain HTTP, or have a certificate that nobody vouches for",
  );
}

/** How a command that checks something tells what it found. */
export interface FindingOptions {
  output: Output;
  failOn: Severity;
  severity: Severity;
  ignore: string[];
}

/** Adds the options of `FindingOptions`. */
export function addFindingOptions(command: Command): Command {
  return outputOption(command, ["text", "json", "yaml", "sarif"])
    .addOption(new Option("--fail-on <severity>", "the least severity that makes it exit with 1").choices(SEVERITIES).default("error"))
    .addOption(new Option("--severity <severity>", "the least severity that is printed").choices(SEVERITIES).default("info"))
    .option("--ignore <rules>", "codes of rules that are not looked at, with commas between; not of errors", collectCsv, []);
}

/** How long is waited, and whether at all. */
export interface WaitOptions {
  wait: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** How registries are reached. */
export interface RegistryOptions {
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** How `olmv1 install` can be asked. */
export interface InstallOptions extends ReleaseOptions, RegistryOptions, WaitOptions {
  name?: string;
  version?: string;
  channel: string[];
  catalog: string[];
  namespace?: string;
  createServiceAccount?: boolean;
  /** False: none, as --no-service-account asks for. */
  serviceAccount?: string | false;
  config?: string;
  watchNamespace: string[];
  approval?: "Automatic" | "Manual";
  upgradeConstraintPolicy?: NonNullable<CatalogSource["upgradeConstraintPolicy"]>;
  yes?: boolean;
  dryRun?: "client" | "server";
  output: Output;
}

/** Shells for which there is a script. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

export type Shell = (typeof SHELLS)[number];
