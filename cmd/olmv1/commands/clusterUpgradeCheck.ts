import { messageOf } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import {
  type ClusterUpgradeTarget,
  checkUpgrade,
  type UpgradeCheck,
  type UpgradeCheckRow,
  parseUpgradeTarget,
} from "../../../pkg/openshift/upgradeCheck.ts";
import { parseClusterVersion, readClusterVersion } from "../../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { readExtensions } from "../../../pkg/preview/clusterState.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { excerpt } from "../../../pkg/text/truncate.ts";
import type { ClusterVersion } from "../../../pkg/version/clusterVersion.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { tableLines } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

const HEAD = ["EXTENSION", "BUNDLE", "VERSION", "MAXIMUM", "VERDICT"] as const;
/** Rows of extensions that block nothing; the JSON output has them all. */
const MAX_OTHERS = 100;
/** No name of a bundle is longer; in characters. */
const MAX_CELL = 253;
/** Longest reason that is printed for one extension, in characters; the JSON output has all of it. */
const MAX_REASON = 1_000;

/** The answer for people, for a terminal of this width: a line with the verdict, a table of what is installed with what blocks first, and what to do. */
export function formatUpgradeReport(check: UpgradeCheck, width: number): string {
  const blocking = check.extensions.filter(({ blocks }) => blocks);
  const others = check.extensions.filter(({ blocks }) => !blocks);
  const shown = others.slice(0, MAX_OTHERS);
  const left = others.length - shown.length;
  const parts = [
    [verdictLine(check, blocking)],
    check.extensions.length > 0 ? table([...blocking, ...shown], width) : [],
    left > 0 ? [`... and ${left} more that block nothing; --output json lists all of them`] : [],
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
    return extensions.length === 0 ? `OK: nothing is installed that could block ${step}` : `OK: nothing installed blocks ${step}`;
  const names = new Set(blocking.map(({ extension }) => extension));
  const all = new Set(extensions.map(({ extension }) => extension));
  return `BLOCKED: ${names.size} of ${all.size} extensions ${names.size === 1 ? "blocks" : "block"} ${step}`;
}

function table(rows: readonly UpgradeCheckRow[], width: number): string[] {
  const cells = rows.map(({ extension, bundle, version, maximum, verdict }) =>
    [extension, bundle || "-", version || "-", maximum ?? "-", verdict].map((cell) => cell.slice(0, MAX_CELL)),
  );
  return tableLines([HEAD, ...cells], width);
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

/** What to do where the cluster says nothing more to the point. */
function advice({ verdict, bundle }: UpgradeCheckRow, target: string): string {
  if (verdict === "blocked") return `upgrade it to a bundle that supports ${target}, or uninstall it`;
  if (bundle === "") return "repair what the error names";
  return "upgrade it to a bundle that states a maximum such as 4.18 or none, or uninstall it";
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n    ");
}

function shortened(text: string): string {
  return text.length <= MAX_REASON ? text : `${excerpt(text, { length: MAX_REASON })} (--output json has all of it)`;
}

/** How `olmv1 cluster-upgrade-check` can be asked. */
export interface ClusterUpgradeCheckOptions extends ReleaseOptions {
  to?: string;
  clusterVersion?: string;
  output: Output;
}

/** `olmv1 cluster-upgrade-check`. */
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
      const target = targetOf(to, cluster);
      return checkUpgrade(await readExtensions(client, { systemNamespace, cluster, target }), cluster, target);
    } catch (err) {
      if (!isRefusal(err)) throw err;
      throw new Error(`${messageOf(err)}; grant that right, as config/openshift/upgrade-checker.yaml does`, { cause: err });
    }
  });
}

function givenVersion(text: string): ClusterVersion {
  try {
    return parseClusterVersion(text);
  } catch (err) {
    throw new Error(`--cluster-version: ${goQuote(text)}: ${messageOf(err)}`, { cause: err });
  }
}

function targetOf(to: string | undefined, cluster: ClusterVersion): ClusterUpgradeTarget {
  if (to === undefined && cluster.kind !== "known") {
    const why = cluster.kind === "none" ? "this cluster has no ClusterVersion" : cluster.because;
    throw new Error(
      `the version of the cluster is not known: ${why}; give it with --cluster-version, or the version to upgrade to with --to`,
    );
  }
  try {
    return parseUpgradeTarget(to, cluster);
  } catch (err) {
    throw new Error(`--to: ${messageOf(err)}`, { cause: err });
  }
}

function isRefusal(err: unknown): boolean {
  for (let cause = err; cause instanceof Error; cause = cause.cause) if (isForbidden(cause)) return true;
  return false;
}
