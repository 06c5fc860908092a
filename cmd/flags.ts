import { parseArgs } from "node:util";
import { z } from "zod";
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

/** What `--help` prints: a line that says what the program is, then a line a flag. */
export function usageOf(head: string, shape: FlagShape): string {
  const lines = Object.entries(shape).map(([name, type]) => `  --${name.padEnd(28)} ${type.description ?? ""}`);
  return `${head}\n\n${lines.join("\n")}\n`;
}

/**
 * The flags in `args`; "help" when they ask for it.
 * @throws Error that names each wrong flag.
 */
export function parseFlagsWith<T>(schema: z.ZodType<T>, shape: FlagShape, args: string[]): T | "help" {
  const options = {
    ...Object.fromEntries(Object.keys(shape).map((name) => [name, { type: "string" as const }])),
    help: { type: "boolean" as const },
  };
  const { help, ...given } = parseArgs({ args, options, strict: true }).values;
  if (help) return "help";
  const flags = schema.safeParse(given);
  if (flags.success) return flags.data;
  const issues = flags.error.issues.map(({ path, message }) => (path.length > 0 ? `--${path.join(".")}: ${message}` : message));
  throw new Error(issues.join("; "));
}
