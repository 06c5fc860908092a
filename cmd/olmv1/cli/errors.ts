import type { Problem } from "../../../pkg/api/problems.ts";
import { getErrorMessage, getProblems, ReconcileError } from "../../../pkg/errors/errors.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";

/** Format of an error: text, or a document if the command prints JSON or YAML. */
export type ErrorFormat = "text" | "json" | "yaml";

/** Formats an error, with a final line end. */
export async function formatCommandError(err: unknown, format: ErrorFormat): Promise<string> {
  const message = getErrorMessage(err);
  const problems = getProblems(err);
  if (format === "text")
    return [`olmv1: ${message}`, ...formatAdvice(problems, message)].map((line) => `${escapeControlCharacters(line)}\n`).join("");
  const reason = findReason(err);
  const document = { error: { message, ...(reason === undefined ? {} : { reason }), ...(problems.length === 0 ? {} : { problems }) } };
  return format === "yaml" ? (await import("../../../pkg/golang/yaml.ts")).toYaml(document) : `${JSON.stringify(document, null, 2)}\n`;
}

/** Returns details that the message does not contain: configuration mistakes and next steps. */
function formatAdvice(problems: readonly Problem[], message: string): string[] {
  return problems.flatMap(({ next, details }) => [
    ...(details?.configuration ?? [])
      .map((mistake) => `  ${mistake.path}: ${mistake.message}`)
      .filter((line) => !message.includes(line.trim())),
    ...(next === undefined || message.includes(next) ? [] : [`  next: ${next}`]),
  ]);
}

/** Returns the first specific reason in the cause chain, for example from an API server response. */
function findReason(err: unknown): string | undefined {
  for (let e = err; e instanceof Error; e = e.cause) {
    const reason = "reason" in e && typeof e.reason === "string" ? e.reason : "";
    if (reason !== "" && !(e instanceof ReconcileError && reason === "Retrying")) return reason;
  }
  return undefined;
}

/** Returns the requested output format, even if the arguments are invalid. */
export function parseErrorFormat(args: readonly string[]): ErrorFormat {
  const formats = args.flatMap((arg, i) =>
    arg === "-o" || arg === "--output" ? [args[i + 1] ?? ""] : [/^(?:-o|--output=)(.+)$/.exec(arg)?.[1] ?? ""],
  );
  return formats.findLast((format): format is "json" | "yaml" => format === "json" || format === "yaml") ?? "text";
}

/** Exit codes of `olmv1`. They are stable. */
export const EXIT = {
  /** Success, or a positive result. */
  yes: 0,
  /** A negative result: findings, no resolution, differences, or a failed rollout. */
  no: 1,
  /** An error: wrong usage, unreadable input, a denied request, no cluster. */
  error: 2,
  /** Interrupted with Ctrl-C. */
  interrupted: 130,
} as const;
