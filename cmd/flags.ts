import { parseArgs } from "node:util";
import * as z from "zod";
import { parseDuration } from "./duration.ts";

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
export function goBool(text: string): boolean | undefined {
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
