import { formatAge } from "../../../pkg/golang/time.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import { type ReleaseRow, readReleaseRows } from "../../../pkg/rollout/releaseHistory.ts";
import { withCluster } from "../cli/cluster.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { type Cell, formatTable } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

function getMood(status: string): { mood?: "good" | "bad" } {
  if (status === "deployed") return { mood: "good" };
  return status === "failed" || status === "unreadable" ? { mood: "bad" } : {};
}

/** Minimum terminal width for the column with bundle names, which usually repeat the version. */
const ROOMY_WIDTH = 140;

/** Formats releases as a table. @param now milliseconds since the epoch. */
export function formatReleases(terminal: Pick<Terminal, "width" | "colour">, rows: readonly ReleaseRow[], now: number): string {
  const isRoomy = terminal.width >= ROOMY_WIDTH;
  const cells = rows.map(({ revision, status, bundle, version, deployed, description, pinned, current, cause }): Cell[] => [
    revision === 0 ? "-" : `${revision}${formatMarks(current, pinned)}`,
    { text: status, ...getMood(status) },
    version,
    ...(isRoomy ? [bundle] : []),
    formatAge(deployed, now),
    cause,
    description,
  ]);
  const head = ["REVISION", "STATUS", "VERSION", ...(isRoomy ? ["BUNDLE"] : []), "AGE", "CAUSE", "DESCRIPTION"];
  return formatTable(terminal, head, cells);
}

function formatMarks(current: boolean, pinned: boolean): string {
  const marks = [...(current ? ["current"] : []), ...(pinned ? ["pinned"] : [])];
  return marks.length === 0 ? "" : ` (${marks.join(", ")})`;
}

/** Runs `olmv1 history`. */
export async function runHistory(terminal: Terminal, name: string, options: ReleaseOptions & { output: Output }): Promise<void> {
  await withCluster(options, async (client) => {
    const rows = await readReleaseRows(client, await readExtension(client, name), options.systemNamespace);
    if (rows.length === 0)
      terminal.err(`ClusterExtension ${name} has no release in namespace ${options.systemNamespace}: no bundle has been installed yet\n`);
    await print(terminal, options.output, {
      data: rows,
      text: () => (rows.length === 0 ? "" : formatReleases(terminal, rows, Date.now())),
    });
  });
}
