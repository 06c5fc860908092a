import type { UpgradeCheck, UpgradeCheckRow } from "../../../pkg/openshift/upgradeCheck.ts";
import {
  describeUpgradeVerdict,
  listUpgradeRemedies,
  parseGivenVersion,
  previewClusterUpgrade,
} from "../../../pkg/preview/clusterUpgradePreview.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { truncateExcerpt } from "../../../pkg/text/truncate.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { formatTableLines } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

const HEAD = ["EXTENSION", "BUNDLE", "VERSION", "MAXIMUM", "VERDICT"] as const;
/** Maximum number of rows for compatible extensions; JSON output has all. */
const MAX_OTHERS = 100;
/** Maximum length of a cell, in characters: the maximum length of a bundle name. */
const MAX_CELL = 253;
/** Maximum length of a printed reason, in characters; JSON output has the whole text. */
const MAX_REASON = 1_000;

/** Formats the result for a terminal width: the verdict, a table of extensions with blocking ones first, and what to do. */
export function formatUpgradeReport(check: UpgradeCheck, width: number): string {
  const blocking = check.extensions.filter(({ blocks }) => blocks);
  const others = check.extensions.filter(({ blocks }) => !blocks);
  const shown = others.slice(0, MAX_OTHERS);
  const left = others.length - shown.length;
  const parts = [
    [describeUpgradeVerdict(check)],
    check.extensions.length > 0 ? table([...blocking, ...shown], width) : [],
    left > 0 ? [`... and ${left} more compatible extensions; --output json lists all`] : [],
    reasons(check.extensions),
    whatToDo(check),
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map(escapeControlCharacters).join("\n"))
    .join("\n\n")}\n`;
}

function table(rows: readonly UpgradeCheckRow[], width: number): string[] {
  const cells = rows.map(({ extension, bundle, version, maximum, verdict }) =>
    [extension, bundle || "-", version || "-", maximum ?? "-", verdict].map((cell) => cell.slice(0, MAX_CELL)),
  );
  return formatTableLines([HEAD, ...cells], width);
}

function reasons(rows: readonly UpgradeCheckRow[]): string[] {
  const lines = rows.filter(({ verdict }) => verdict === "error").map(({ message }) => `  ${indented(shortened(message))}`);
  return lines.length === 0 ? [] : ["Errors:", ...lines];
}

function whatToDo(check: UpgradeCheck): string[] {
  const lines = listUpgradeRemedies(check).map(({ extension, text }) => `  ${extension}: ${indented(shortened(text))}`);
  return lines.length === 0 ? [] : ["What to do:", ...lines];
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n    ");
}

function shortened(text: string): string {
  return text.length <= MAX_REASON ? text : `${truncateExcerpt(text, { length: MAX_REASON })} (--output json prints the whole text)`;
}

/** Options of `olmv1 cluster-upgrade-check`. */
export interface ClusterUpgradeCheckOptions extends ReleaseOptions {
  to?: string;
  clusterVersion?: string;
  output: Output;
}

/** Runs `olmv1 cluster-upgrade-check`. */
export async function showUpgradeCheck(terminal: Terminal, options: ClusterUpgradeCheckOptions): Promise<void> {
  const { to, systemNamespace, clusterVersion } = options;
  const cluster = clusterVersion === undefined ? undefined : parseGivenVersion(clusterVersion);
  const check = await withCluster(options, (client) => previewClusterUpgrade(client, { systemNamespace, to, cluster }));
  await print(terminal, options.output, { data: check, text: () => formatUpgradeReport(check, terminal.width) });
  if (!check.upgradeable) terminal.exit(EXIT.no);
}
