import { messageOf, ReconcileError } from "../../../pkg/errors/errors.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";

/** How an error is written: a line for people, or a document for programs that asked for their answer as one. */
export type FaultFormat = "text" | "json" | "yaml";

/** What is written of an error, its end of line included. */
export async function faultText(err: unknown, format: FaultFormat): Promise<string> {
  const message = messageOf(err);
  if (format === "text") return `olmv1: ${escapeControlCharacters(message)}\n`;
  const reason = reasonOf(err);
  const fault = { error: { message, ...(reason === undefined ? {} : { reason }) } };
  return format === "yaml" ? (await import("../../../pkg/golang/yaml.ts")).toYaml(fault) : `${JSON.stringify(fault, null, 2)}\n`;
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
export function faultFormat(args: readonly string[]): FaultFormat {
  const asked = args.flatMap((arg, i) =>
    arg === "-o" || arg === "--output" ? [args[i + 1] ?? ""] : [/^(?:-o|--output=)(.+)$/.exec(arg)?.[1] ?? ""],
  );
  return asked.findLast((format): format is "json" | "yaml" => format === "json" || format === "yaml") ?? "text";
}
