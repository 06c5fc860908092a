import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import * as z from "zod";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { parseDuration } from "../../pkg/golang/time.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";

/** Flags by name; each schema is the flag's default, its validation and, in `describe`, its help. */
export type FlagShape = Readonly<Record<string, z.ZodType>>;

/** A duration of at least a second, in milliseconds; written as Go does, such as "90s" or "12h". */
export function duration(byDefault: string) {
  return z
    .string()
    .default(byDefault)
    .refine((text) => (parseDuration(text) ?? 0) >= 1_000, `want a duration of at least a second, such as "${byDefault}"`)
    .transform((text) => parseDuration(text) ?? 0);
}

/** A text of which "" means that the flag is not given. */
export function optionalText() {
  return z
    .string()
    .transform((text) => (text === "" ? undefined : text))
    .optional();
}

/** What Go's strconv.ParseBool takes. */
const TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/** The truth value that Go reads in a text; undefined where it reads none. */
function goBool(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** A flag that is on when it stands alone, as `--name`, and that takes a truth value only as `--name=false`, as Go's do. */
export function switchFlag(byDefault: boolean, description: string) {
  return z
    .string()
    .default(String(byDefault))
    .refine((text) => goBool(text) !== undefined, "want true or false")
    .transform((text) => goBool(text) ?? byDefault)
    .meta({ description, isSwitch: true });
}

/** Room for all names but those of klog, which nobody looks for. */
const NAME_WIDTH = 30;

/** The default behind a flag's help; nothing where there is none, or where the help tells it. */
function defaultNote(type: z.ZodType): string {
  let inner: unknown = type;
  while (inner instanceof z.ZodPipe || inner instanceof z.ZodOptional) inner = inner instanceof z.ZodPipe ? inner.in : inner.unwrap();
  if (!(inner instanceof z.ZodDefault) || type.description?.includes("default")) return "";
  const value: unknown = inner.def.defaultValue;
  return (typeof value === "string" || typeof value === "number") && value !== "" ? ` (default ${value})` : "";
}

/** What `--help` prints: a line that says what the program is, then a line a flag. */
export function usageOf(head: string, shape: FlagShape): string {
  const lines = Object.entries(shape).map(([name, type]) => `  --${name.padEnd(NAME_WIDTH)} ${type.description ?? ""}${defaultNote(type)}`);
  return `${head}\n\n${lines.join("\n")}\n\nWith the one word version in place of flags its version is printed.\n`;
}

/**
 * The flags in `args`; "help" when they ask for it. Of a flag given twice the last counts; values of a flag whose schema has `isList` in its
 * metadata are joined by commas.
 * @throws Error that names each wrong flag.
 */
export function parseFlagsWith<T>(schema: z.ZodType<T>, shape: FlagShape, args: string[]): T | "help" {
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

/** As pflag reads them: `--switch` alone is true, `-v4`, `-v=4` and `-v 4` are `--v`, and `-h` asks for help. */
function asLongFlags(args: readonly string[], shape: FlagShape): string[] {
  return args.map((arg) => {
    if (arg === "-h") return "--help";
    const short = /^-([a-z])(?:=?(.+))?$/.exec(arg);
    if (short?.[1] !== undefined && Object.hasOwn(shape, short[1])) return `--${short[1]}${short[2] === undefined ? "" : `=${short[2]}`}`;
    return arg.startsWith("--") && isMarked(shape[arg.slice(2)], "isSwitch") ? `${arg}=true` : arg;
  });
}

function isMarked(type: z.ZodType | undefined, mark: "isSwitch" | "isList"): boolean {
  return type?.meta()?.[mark] === true;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;
const KLOG = "the log is JSON lines on standard output";
/** Flags of the reference implementation that mean nothing here, with why; those that stand alone there do so here. */
const IGNORED = {
  "pprof-bind-address": { why: "Node.js has no pprof; SIGUSR1 opens a process's inspector", isSwitch: false },
  "webhook-server-port": { why: "there is no webhook: the controller sets the label of catalogs itself", isSwitch: false },
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

/** Flags about the log that both servers have, to be spread into their flags. */
export function logFlags() {
  return {
    "log-level": z
      .enum(LEVELS)
      .optional()
      .describe("least level that is logged: debug, info, warn or error; default: what -v says, else info"),
    v: z.coerce
      .number({ error: "want a whole number from 0 on" })
      .int()
      .min(0)
      .optional()
      .describe("verbosity as klog counts it, also as -v: 0 is --log-level=info, more is --log-level=debug; --log-level comes first"),
  };
}

/** The least level that is logged, by what was given for `logFlags`. */
export function logLevelOf(flags: { "log-level"?: (typeof LEVELS)[number] | undefined; v?: number | undefined }): string {
  return flags["log-level"] ?? ((flags.v ?? 0) > 0 ? "debug" : "info");
}

/** Flags that are taken and do nothing, to be spread into a server's flags behind all others. */
export function ignoredFlags() {
  const shape = Object.entries(IGNORED).map(([name, { why, isSwitch }]) => [
    name,
    z
      .string()
      .optional()
      .meta({ description: `without effect, taken for compatibility: ${why}`, isSwitch }),
  ]);
  return Object.fromEntries(shape) as Record<IgnoredFlag, z.ZodOptional<z.ZodString>>;
}

/** Says once what was asked for that has no effect here: flags, and feature gates. What asks for nothing (no pprof) is not told. */
export function tellIgnored(
  flags: Partial<Record<IgnoredFlag, string | undefined>> & { "feature-gates": FeatureGates<string> },
  log: Logger,
): void {
  const names = Object.keys(IGNORED).filter((name): name is IgnoredFlag => Object.hasOwn(flags, name));
  const given = names.filter((name) => flags[name] !== undefined && !(name === "pprof-bind-address" && /^0?$/.test(flags[name])));
  if (given.length > 0) log.warn({ flags: given.map((name) => `--${name}: ${IGNORED[name].why}`) }, "flags without effect");
  const gates = flags["feature-gates"];
  if (gates.ignored.length > 0) log.warn({ gates: gates.ignored }, "feature gates without effect");
}

/** One feature gate of the reference implementation, and what it is here. */
export interface FeatureGate {
  /** What `AllAlpha` and `AllBeta` mean by it. */
  readonly stage: "alpha" | "beta" | "GA";
  readonly byDefault: boolean;
  /** Why a value other than the default has no effect here; without it the gate can be set. */
  readonly fixed?: string;
}

/** What was asked for with --feature-gates. */
interface FeatureGates<Name extends string> {
  /** Whether each is on. */
  readonly enabled: Readonly<Record<Name, boolean>>;
  /** What was asked for and is not so, each with why: "BoxcutterRuntime=true: …". */
  readonly ignored: readonly string[];
}

/** What sets all gates of a stage that are not set by themselves. */
const STAGES = new Map([
  ["AllAlpha", "alpha"],
  ["AllBeta", "beta"],
]);

/** The flag --feature-gates of a program with these gates: "Name=true,Other=false", as often as one likes. */
export function featureGatesFlag<Name extends string>(gates: Readonly<Record<Name, FeatureGate>>) {
  const shown = Object.entries<FeatureGate>(gates).map(([name, gate]) => `${name}=${gate.byDefault}`);
  return z
    .string()
    .default("")
    .transform((text, context): FeatureGates<Name> => {
      const asked = pairsOf(text, gates);
      if (typeof asked === "string") {
        context.addIssue({ code: "custom", message: asked });
        return z.NEVER;
      }
      return settled(asked, gates);
    })
    .meta({ description: `features to switch on or off, such as Name=false,Other=true; they are ${shown.join(", ")}`, isList: true });
}

/** The gates by name, or what is wrong, as k8s.io/component-base words it. */
function pairsOf(text: string, gates: Readonly<Record<string, FeatureGate>>): Map<string, boolean> | string {
  const asked = new Map<string, boolean>();
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
    asked.set(name, on);
  }
  return asked;
}

function settled<Name extends string>(asked: ReadonlyMap<string, boolean>, gates: Readonly<Record<Name, FeatureGate>>): FeatureGates<Name> {
  const ignored: string[] = [];
  const stages = new Map([...STAGES].map(([name, stage]) => [stage, asked.get(name)]));
  const enabled = Object.entries<FeatureGate>(gates).map(([name, { stage, byDefault, fixed }]) => {
    const own = asked.get(name);
    const wanted = own ?? stages.get(stage) ?? byDefault;
    if (fixed === undefined || wanted === byDefault) return [name, wanted];
    if (own !== undefined) ignored.push(`${name}=${wanted}: ${fixed}`);
    return [name, byDefault];
  });
  return { enabled: Object.fromEntries(enabled) as Record<Name, boolean>, ignored };
}

/** Where the kubelet says which namespace a Pod is in. */
const POD_NAMESPACE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/**
 * The flag --system-namespace: without it, or with "", the namespace of the Pod, and outside of one that of the manifests.
 * @param purpose what the namespace is, as the flag's help
 * @param file where a Pod's namespace is read; it need not exist
 */
export function systemNamespaceFlag(purpose: string, file: string = POD_NAMESPACE) {
  return z
    .string()
    .default("")
    .transform((text) => text || podNamespace(file) || SYSTEM_NAMESPACE)
    .describe(`${purpose}; default: that of the Pod, else ${SYSTEM_NAMESPACE}`);
}

function podNamespace(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return ""; // not in a Pod
  }
}
