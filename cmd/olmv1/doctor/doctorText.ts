import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { type Mood, styled } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { wrapped } from "../cli/wrapped.ts";
import { counted } from "../counted.ts";
import type { Finding, FindingStatus } from "./finding.ts";

const MOODS: Readonly<Record<FindingStatus, Mood>> = { ok: "good", warning: "warning", problem: "bad", unknown: "warning" };
const STATUS_WIDTH = 9;
const INDENT = " ".repeat(STATUS_WIDTH);
/** Lines of a pipe end somewhere, too. */
const WIDTH_MAX = 160;

/** A finding below the other, each with what to do next, and how many there are of which kind. */
export function doctorText(terminal: Pick<Terminal, "width" | "colour">, findings: readonly Finding[]): string {
  const width = Math.min(terminal.width, WIDTH_MAX);
  const lines = findings.flatMap(({ check, status, message, next }) => {
    const [first = "", ...more] = wrapped(escapeControlCharacters(`${check}: ${message}`), width, INDENT);
    const head = styled(terminal, { text: status, mood: MOODS[status] }) + first.slice(status.length);
    // Not broken: commands are copied.
    return [head, ...more, ...(next === undefined ? [] : [`${INDENT}→ ${escapeControlCharacters(next)}`])];
  });
  return `${lines.join("\n")}\n\n${summary(findings)}\n`;
}

function summary(findings: readonly Finding[]): string {
  const count = (status: FindingStatus): number => findings.filter((finding) => finding.status === status).length;
  const parts = (["problem", "warning"] as const).map((status) => counted(count(status), status));
  const unknown = count("unknown");
  const made = counted(findings.length - unknown, "check");
  return unknown === 0 ? `${parts.join(", ")}; ${made}` : `${parts.join(", ")}; ${made} made, ${unknown} could not be made`;
}
