import type { Problem } from "../../../pkg/api/problems.ts";
import { messageOf, problemsIn, ReconcileError } from "../../../pkg/errors/errors.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";

/** How an error is written: a line for people, or a document for programs that asked for their answer as one. */
export type ErrorFormat = "text" | "json" | "yaml";

/** What is written of an error, its end of line included. */
export async function formatCommandError(err: unknown, format: ErrorFormat): Promise<string> {
  const message = messageOf(err);
  const problems = problemsIn(err);
  if (format === "text")
    return [`olmv1: ${message}`, ...adviceOn(problems, message)].map((line) => `${escapeControlCharacters(line)}\n`).join("");
  const reason = reasonOf(err);
  const fault = { error: { message, ...(reason === undefined ? {} : { reason }), ...(problems.length === 0 ? {} : { problems }) } };
  return format === "yaml" ? (await import("../../../pkg/golang/yaml.ts")).toYaml(fault) : `${JSON.stringify(fault, null, 2)}\n`;
}

/** What problems say beyond the message: mistakes in a configuration, and what to do. */
function adviceOn(problems: readonly Problem[], message: string): string[] {
  return problems.flatMap(({ next, details }) => [
    ...(details?.configuration ?? [])
      .map((mistake) => `  ${mistake.path}: ${mistake.message}`)
      .filter((line) => !message.includes(line.trim())),
    ...(next === undefined || message.includes(next) ? [] : [`  next: ${next}`]),
  ]);
}

/** The reason of the first error in the cause chain that has one that says something: ours, or that of an answer of the API server. */
function reasonOf(err: unknown): string | undefined {
  for (let e = err; e instanceof Error; e = e.cause) {
    const reason = "reason" in e && typeof e.reason === "string" ? e.reason : "";
    if (reason !== "" && !(e instanceof ReconcileError && reason === "Retrying")) return reason;
  }
  return undefined;
}

/** The format that arguments ask for: also those that cannot be parsed have an answer. */
export function errorFormat(args: readonly string[]): ErrorFormat {
  const asked = args.flatMap((arg, i) =>
    arg === "-o" || arg === "--output" ? [args[i + 1] ?? ""] : [/^(?:-o|--output=)(.+)$/.exec(arg)?.[1] ?? ""],
  );
  return asked.findLast((format): format is "json" | "yaml" => format === "json" || format === "yaml") ?? "text";
}

/** What `olmv1` exits with; scripts rely on it. */
export const EXIT = {
  /** Done, or the answer is yes. */
  yes: 0,
  /** The answer is no: something was found, does not resolve, differs, or did not come right. */
  no: 1,
  /** It could not be done or asked: wrong use, input that cannot be read, a refusal, no cluster. */
  error: 2,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;
