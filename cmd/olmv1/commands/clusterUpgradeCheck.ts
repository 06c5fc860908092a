import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import {
  type ClusterUpgradeTarget,
  checkUpgrade,
  parseUpgradeTarget,
  type UpgradeCheck,
  type UpgradeCheckRow,
} from "../../../pkg/openshift/upgradeCheck.ts";
import { parseClusterVersion, readClusterVersion } from "../../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { readExtensions } from "../../../pkg/preview/clusterState.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { truncateExcerpt } from "../../../pkg/text/truncate.ts";
import type { ClusterVersion } from "../../../pkg/version/clusterVersion.ts";
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
    [verdictLine(check, blocking)],
    check.extensions.length > 0 ? table([...blocking, ...shown], width) : [],
    left > 0 ? [`... and ${left} more compatible extensions; --output json lists all`] : [],
    reasons(check.extensions),
    check.upgradeable ? [] : whatToDo(check, blocking),
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map(escapeControlCharacters).join("\n"))
    .join("\n\n")}\n`;
}

function verdictLine({ clusterVersion, target, upgradeable, extensions }: UpgradeCheck, blocking: readonly UpgradeCheckRow[]): string {
  const step = clusterVersion === null ? `the upgrade to ${target}` : `the upgrade from ${clusterVersion} to ${target}`;
  if (upgradeable)
    return extensions.length === 0 ? `OK: no extension is installed, so none blocks ${step}` : `OK: no extension blocks ${step}`;
  const names = new Set(blocking.map(({ extension }) => extension));
  const all = new Set(extensions.map(({ extension }) => extension));
  return `BLOCKED: ${names.size} of ${all.size} extensions ${names.size === 1 ? "blocks" : "block"} ${step}`;
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

function whatToDo({ target }: UpgradeCheck, blocking: readonly UpgradeCheckRow[]): string[] {
  const seen = new Map<string, UpgradeCheckRow>();
  for (const row of blocking) if (!seen.has(row.extension)) seen.set(row.extension, row);
  const lines = [...seen.values()].map((row) => `  ${row.extension}: ${indented(shortened(row.remedy || advice(row, target)))}`);
  return ["What to do:", ...lines];
}

/** Returns general advice for an extension, if the cluster reports no specific remedy. */
function advice({ verdict, bundle }: UpgradeCheckRow, target: string): string {
  if (verdict === "blocked") return `upgrade the extension to a bundle that supports ${target}, or uninstall it`;
  if (bundle === "") return "fix the cause of the error";
  return "upgrade the extension to a bundle with a valid maximum such as 4.18, or without a maximum, or uninstall it";
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
  const check = await answer(options);
  await print(terminal, options.output, { data: check, text: () => formatUpgradeReport(check, terminal.width) });
  if (!check.upgradeable) terminal.exit(EXIT.no);
}

async function answer(options: ClusterUpgradeCheckOptions): Promise<UpgradeCheck> {
  const { to, systemNamespace, clusterVersion } = options;
  const given = clusterVersion === undefined ? undefined : givenVersion(clusterVersion);
  return await withCluster(options, async (client) => {
    try {
      const cluster = given ?? (await readClusterVersion(client));
      const target = parseTarget(to, cluster);
      return checkUpgrade(await readExtensions(client, { systemNamespace, cluster, target }), cluster, target);
    } catch (err) {
      if (!isRefusal(err)) throw err;
      throw new Error(`${getErrorMessage(err)}; config/openshift/upgrade-checker.yaml grants this permission`, { cause: err });
    }
  });
}

function givenVersion(text: string): ClusterVersion {
  try {
    return parseClusterVersion(text);
  } catch (err) {
    throw new Error(`--cluster-version: ${goQuote(text)}: ${getErrorMessage(err)}`, { cause: err });
  }
}

function parseTarget(to: string | undefined, cluster: ClusterVersion): ClusterUpgradeTarget {
  if (to === undefined && cluster.kind !== "known") {
    const why = cluster.kind === "none" ? "this cluster has no ClusterVersion" : cluster.reason;
    throw new Error(
      `cannot determine the version of the cluster: ${why}; set --cluster-version, or set the version to upgrade to with --to`,
    );
  }
  try {
    return parseUpgradeTarget(to, cluster);
  } catch (err) {
    throw new Error(`--to: ${getErrorMessage(err)}`, { cause: err });
  }
}

function isRefusal(err: unknown): boolean {
  for (let cause = err; cause instanceof Error; cause = cause.cause) if (isForbidden(cause)) return true;
  return false;
}
