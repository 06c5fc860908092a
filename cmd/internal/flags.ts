import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import * as z from "zod";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { parseDuration } from "../../pkg/golang/time.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";

/** Flags by name. Each schema defines the default and validation of a flag; its description is the help. */
export type FlagShape = Readonly<Record<string, z.ZodType>>;

/** Returns a schema that parses a duration of at least one second in Go's format, such as "90s" or "12h", to milliseconds. */
export function duration(byDefault: string) {
  return z
    .string()
    .default(byDefault)
    .refine((text) => (parseDuration(text) ?? 0) >= 1_000, `must be a duration of at least one second, such as "${byDefault}"`)
    .transform((text) => parseDuration(text) ?? 0);
}

/** Returns a schema for a text; "" means that the flag is not set. */
export function optionalText() {
  return z
    .string()
    .transform((text) => (text === "" ? undefined : text))
    .optional();
}

/** The values that Go's strconv.ParseBool accepts. */
const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/** Parses a boolean like Go; undefined if the text is invalid. */
function goBool(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** Returns a schema for a boolean flag. As in Go, `--name` enables it, and a value must be part of the argument: `--name=false`. */
export function switchFlag(byDefault: boolean, description: string) {
  return z
    .string()
    .default(String(byDefault))
    .refine((text) => goBool(text) !== undefined, "must be true or false")
    .transform((text) => goBool(text) ?? byDefault)
    .meta({ description, isSwitch: true });
}

/** Width of the column with flag names; only klog flags are longer. */
const NAME_WIDTH = 30;

/** Returns the default value for a flag's help; empty if the flag has no default, or its description already contains the default. */
function defaultNote(type: z.ZodType): string {
  let inner: unknown = type;
  while (inner instanceof z.ZodPipe || inner instanceof z.ZodOptional) inner = inner instanceof z.ZodPipe ? inner.in : inner.unwrap();
  if (!(inner instanceof z.ZodDefault) || type.description?.includes("(default: ")) return "";
  const value: unknown = inner.def.defaultValue;
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ` (default: ${value})` : "";
}

/** A flag with its description, for the help and the reference. */
export interface FlagHelp {
  /** Without hyphens. */
  readonly name: string;
  /** Including the default value. */
  readonly description: string;
}

/** The flags of a program. */
export interface ProgramFlags<T> {
  /** Returns the flags with their descriptions. */
  readonly flagHelp: () => FlagHelp[];
  /** Returns the text for `--help`. */
  readonly usage: () => string;
  /** @throws Error that lists each invalid flag. */
  readonly parseFlags: (args: string[]) => T | "help";
}

/** Defines the flags of a program. @param head describes the program in its help */
export function defineFlags<T>(head: string, schema: z.ZodType<T>, shape: FlagShape): ProgramFlags<T> {
  return {
    flagHelp: () => describeFlags(shape),
    usage: () => formatUsage(head, shape),
    parseFlags: (args) => parseFlagsWith(schema, shape, args),
  };
}

/** Returns the flags of a program with their descriptions. */
function describeFlags(shape: FlagShape): FlagHelp[] {
  return Object.entries(shape).map(([name, type]) => ({ name, description: `${type.description ?? ""}${defaultNote(type)}` }));
}

/** Returns the text for `--help`: a line that describes the program, then one line per flag. */
function formatUsage(head: string, shape: FlagShape): string {
  const lines = describeFlags(shape).map(({ name, description }) => `  --${name.padEnd(NAME_WIDTH)} ${description}`);
  return `${head}\n\n${lines.join("\n")}\n\nThe argument "version" prints the version.\n`;
}

/**
 * Parses the flags in `args`; returns "help" if they request it. If a flag is repeated, uses its last value; if the metadata of its schema contains
 * `isList`, joins all values with commas.
 * @throws Error that lists each invalid flag.
 */
function parseFlagsWith<T>(schema: z.ZodType<T>, shape: FlagShape, args: string[]): T | "help" {
  const options = {
    ...Object.fromEntries(Object.keys(shape).map((name) => [name, { type: "string" as const, multiple: true as const }])),
    help: { type: "boolean" as const },
  };
  const { help, ...given } = parseArgs({ args: asLongFlags(args, shape), options, strict: true }).values;
  if (help) return "help";
  const values = Object.entries(given).map(([name, all]): [string, unknown] => {
    if (!Array.isArray(all)) return [name, all];
    return [name, isMarked(shape[name], "isList") ? all.join(",") : all.at(-1)];
  });
  const flags = schema.safeParse(Object.fromEntries(values));
  if (flags.success) return flags.data;
  const issues = flags.error.issues.map(({ path, message }) => (path.length > 0 ? `--${path.join(".")}: ${message}` : message));
  throw new Error(issues.join("; "));
}

/** Converts flags like pflag: `--switch` without a value is true, `-v4`, `-v=4` and `-v 4` are `--v`, and `-h` requests help. */
function asLongFlags(args: readonly string[], shape: FlagShape): string[] {
  return args.map((arg) => {
    if (arg === "-h") return "--help";
    const short = /^-([a-z])(?:=?(.+))?$/.exec(arg);
    if (short?.[1] !== undefined && Object.hasOwn(shape, short[1])) return `--${short[1]}${short[2] === undefined ? "" : `=${short[2]}`}`;
    const name = arg.startsWith("--") ? arg.slice(2) : "";
    return Object.hasOwn(shape, name) && isMarked(shape[name], "isSwitch") ? `${arg}=true` : arg;
  });
}

function isMarked(type: z.ZodType | undefined, mark: "isSwitch" | "isList"): boolean {
  return type?.meta()?.[mark] === true;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;
const KLOG = "logs are written as JSON lines to standard output";
/** Flags of the Go implementation that have no effect here, with the reason. `isSwitch` marks boolean flags. */
const IGNORED = {
  "pprof-bind-address": { why: "Node.js has no pprof; SIGUSR1 starts the inspector", isSwitch: false },
  "webhook-server-port": { why: "there is no webhook; catalogd sets the name label of catalogs", isSwitch: false },
  add_dir_header: { why: KLOG, isSwitch: true },
  alsologtostderr: { why: KLOG, isSwitch: true },
  legacy_stderr_threshold_behavior: { why: KLOG, isSwitch: true },
  log_backtrace_at: { why: KLOG, isSwitch: false },
  log_dir: { why: KLOG, isSwitch: false },
  log_file: { why: KLOG, isSwitch: false },
  log_file_max_size: { why: KLOG, isSwitch: false },
  logtostderr: { why: KLOG, isSwitch: true },
  one_output: { why: KLOG, isSwitch: true },
  skip_headers: { why: KLOG, isSwitch: true },
  skip_log_headers: { why: KLOG, isSwitch: true },
  stderrthreshold: { why: KLOG, isSwitch: false },
  vmodule: { why: KLOG, isSwitch: false },
} as const;
type IgnoredFlag = keyof typeof IGNORED;

/** Logging flags of both servers, to spread into their flags. */
export function logFlags() {
  return {
    "log-level": z.enum(LEVELS).optional().describe("minimum log level: debug, info, warn or error (default: from -v, else info)"),
    v: z.coerce
      .number({ error: "must be a whole number, 0 or greater" })
      .int()
      .min(0)
      .optional()
      .describe("klog verbosity, also as -v: 0 means info, a higher number debug; --log-level takes precedence"),
  };
}

/** Returns the minimum log level from the values of `logFlags`. */
export function getLogLevel(flags: { "log-level"?: (typeof LEVELS)[number] | undefined; v?: number | undefined }): string {
  return flags["log-level"] ?? ((flags.v ?? 0) > 0 ? "debug" : "info");
}

/** Flags that are accepted without effect, to spread after all other flags of a server. */
export function ignoredFlags() {
  const shape = Object.entries(IGNORED).map(([name, { why, isSwitch }]) => [
    name,
    z
      .string()
      .optional()
      .meta({ description: `no effect, accepted for compatibility: ${why}`, isSwitch }),
  ]);
  return Object.fromEntries(shape) as Record<IgnoredFlag, z.ZodOptional<z.ZodString>>;
}

/** Logs once which of the given flags and feature gates have no effect. Skips values that only disable a feature, such as pprof. */
export function logIgnoredFlags(
  flags: Partial<Record<IgnoredFlag, string | undefined>> & { "feature-gates": FeatureGates<string> },
  log: Logger,
): void {
  const names = Object.keys(IGNORED).filter((name): name is IgnoredFlag => Object.hasOwn(flags, name));
  const given = names.filter((name) => flags[name] !== undefined && !(name === "pprof-bind-address" && /^0?$/.test(flags[name])));
  if (given.length > 0) log.warn({ flags: given.map((name) => `--${name}: ${IGNORED[name].why}`) }, "some flags have no effect");
  const gates = flags["feature-gates"];
  if (gates.ignored.length > 0) log.warn({ gates: gates.ignored }, "some feature gates have no effect");
}

/** A feature gate of the Go implementation, and its effect here. */
export interface FeatureGate {
  /** The stage that `AllAlpha` and `AllBeta` select. */
  readonly stage: "alpha" | "beta" | "GA";
  readonly byDefault: boolean;
  /** Why a value other than the default has no effect here; undefined if the gate can be set. */
  readonly fixed?: string;
}

/** The result of --feature-gates. */
interface FeatureGates<Name extends string> {
  /** Whether each gate is enabled. */
  readonly enabled: Readonly<Record<Name, boolean>>;
  /** Settings without effect, each with the reason: "BoxcutterRuntime=true: …". */
  readonly ignored: readonly string[];
}

/** Names that set all gates of a stage, except gates that are set individually. */
const STAGES = new Map([
  ["AllAlpha", "alpha"],
  ["AllBeta", "beta"],
]);

/** Returns a schema for --feature-gates with these gates, such as "Name=true,Other=false"; repeatable. */
export function featureGatesFlag<Name extends string>(gates: Readonly<Record<Name, FeatureGate>>) {
  const shown = Object.entries<FeatureGate>(gates).map(([name, gate]) => `${name}=${gate.byDefault}`);
  return z
    .string()
    .default("")
    .transform((text, context): FeatureGates<Name> => {
      const settings = parseGates(text, gates);
      if (typeof settings === "string") {
        context.addIssue({ code: "custom", message: settings });
        return z.NEVER;
      }
      return resolveGates(settings, gates);
    })
    .meta({ description: `features to enable or disable, such as Name=false,Other=true (default: ${shown.join(",")})`, isList: true });
}

/** Returns the gates by name, or an error with the same text as k8s.io/component-base. */
function parseGates(text: string, gates: Readonly<Record<string, FeatureGate>>): Map<string, boolean> | string {
  const settings = new Map<string, boolean>();
  for (const pair of text.split(",").map((part) => part.trim())) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const name = (at < 0 ? pair : pair.slice(0, at)).trim();
    if (at < 0) return `missing bool value for ${name}`;
    const value = pair.slice(at + 1).trim();
    const on = goBool(value);
    if (on === undefined)
      return `invalid value of ${name}=${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;
    if (!Object.hasOwn(gates, name) && !STAGES.has(name))
      return `unrecognized feature gate: ${name}; known are ${Object.keys(gates).join(", ")}`;
    settings.set(name, on);
  }
  return settings;
}

function resolveGates<Name extends string>(
  settings: ReadonlyMap<string, boolean>,
  gates: Readonly<Record<Name, FeatureGate>>,
): FeatureGates<Name> {
  const ignored: string[] = [];
  const stages = new Map([...STAGES].map(([name, stage]) => [stage, settings.get(name)]));
  const enabled = Object.entries<FeatureGate>(gates).map(([name, { stage, byDefault, fixed }]) => {
    const own = settings.get(name);
    const requested = own ?? stages.get(stage) ?? byDefault;
    if (fixed === undefined || requested === byDefault) return [name, requested];
    if (own !== undefined) ignored.push(`${name}=${requested}: ${fixed}`);
    return [name, byDefault];
  });
  return { enabled: Object.fromEntries(enabled) as Record<Name, boolean>, ignored };
}

/** File in which the kubelet provides a Pod's namespace. */
const POD_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/**
 * Returns a schema for --system-namespace. Default, also for "": the namespace of the Pod or, outside of a Pod, the namespace of the manifests.
 * @param purpose of the namespace, for the flag's help
 * @param file that contains the namespace of the Pod; may be missing
 */
export function systemNamespaceFlag(purpose: string, file: string = POD_NAMESPACE) {
  return z
    .string()
    .default("")
    .transform((text) => text || podNamespace(file) || SYSTEM_NAMESPACE)
    .describe(`${purpose} (default: namespace of the Pod, else ${SYSTEM_NAMESPACE})`);
}

function podNamespace(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return ""; // not in a Pod
  }
}
