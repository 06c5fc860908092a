import { type DoctorFinding, type FindingStatus, readSnapshot } from "../../../pkg/doctor/clusterSnapshot.ts";
import { collectFindings } from "../../../pkg/doctor/findings.ts";
import type { Mood } from "../../../pkg/rollout/mood.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { PROGRAM_VERSION } from "../../internal/program.ts";
import { withCluster } from "../cli/cluster.ts";
import { wrapText } from "../cli/columns.ts";
import { EXIT } from "../cli/errors.ts";
import type { ClusterOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import { formatStyled } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

const MOODS: Readonly<Record<FindingStatus, Mood>> = { ok: "good", warning: "warning", problem: "bad", unknown: "warning" };
const STATUS_WIDTH = 9;
const INDENT = " ".repeat(STATUS_WIDTH);
/** Also applies to pipes, which have no width. */
const WIDTH_MAX = 160;

/** Formats findings as a list with suggested fixes, and the number of findings per status. */
export function formatDoctorReport(terminal: Pick<Terminal, "width" | "colour">, findings: readonly DoctorFinding[]): string {
  const width = Math.min(terminal.width, WIDTH_MAX);
  const lines = findings.flatMap(({ check, status, message, next }) => {
    const [first = "", ...more] = wrapText(escapeControlCharacters(`${check}: ${message}`), width, INDENT);
    const head = formatStyled(terminal, { text: status, mood: MOODS[status] }) + first.slice(status.length);
    // Suggested commands are not wrapped, so that they can be copied.
    return [head, ...more, ...(next === undefined ? [] : [`${INDENT}→ ${escapeControlCharacters(next)}`])];
  });
  return `${lines.join("\n")}\n\n${summary(findings)}\n`;
}

function summary(findings: readonly DoctorFinding[]): string {
  const count = (status: FindingStatus): number => findings.filter((finding) => finding.status === status).length;
  const parts = (["problem", "warning"] as const).map((status) => formatCount(count(status), status));
  const unknown = count("unknown");
  const checkCount = formatCount(findings.length - unknown, "check");
  return unknown === 0 ? `${parts.join(", ")}; ${checkCount}` : `${parts.join(", ")}; ${checkCount} made, ${unknown} could not be made`;
}

/** Options of `olmv1 doctor`. */
export interface DoctorOptions extends ClusterOptions {
  systemNamespace: string;
  output: Output;
}

/** Returns the exit code: a problem takes precedence over a check that could not run, and both take precedence over success. */
export function computeExitCode(findings: readonly DoctorFinding[]): number {
  if (findings.some(({ status }) => status === "problem")) return EXIT.no;
  return findings.some(({ status }) => status === "unknown") ? EXIT.error : EXIT.yes;
}

/** Runs `olmv1 doctor`. */
export async function runDoctor(terminal: Terminal, options: DoctorOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const snapshot = await withProgress(terminal, "reading the cluster", () =>
      readSnapshot(client, options.systemNamespace, terminal.signal),
    );
    const findings = collectFindings(snapshot, PROGRAM_VERSION);
    terminal.exit(computeExitCode(findings));
    await print(terminal, options.output, { data: { findings }, text: () => formatDoctorReport(terminal, findings) });
  });
}
