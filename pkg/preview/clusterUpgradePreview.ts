import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import {
  type ClusterUpgradeTarget,
  checkUpgrade,
  parseUpgradeTarget,
  type UpgradeCheck,
  type UpgradeCheckRow,
} from "../openshift/upgradeCheck.ts";
import { parseClusterVersion, readClusterVersion } from "../operatorcontroller/openshift/clusterVersion.ts";
import type { ClusterVersion } from "../version/clusterVersion.ts";
import { readExtensions } from "./clusterState.ts";

/** Options of a check. */
export interface ClusterUpgradeOptions {
  /** The namespace of the releases. */
  readonly systemNamespace: string;
  /** The version to upgrade to; default: the next minor version. */
  readonly to?: string | undefined;
  /** The version of the cluster; default: that of the cluster's ClusterVersion. */
  readonly cluster?: ClusterVersion | undefined;
}

/**
 * Checks which extensions block the upgrade of the cluster; writes nothing.
 * @throws Error if a version is invalid or unknown, or if a request fails or is denied
 */
export async function previewClusterUpgrade(
  client: Client,
  { systemNamespace, to, cluster: given }: ClusterUpgradeOptions,
): Promise<UpgradeCheck> {
  try {
    const cluster = given ?? (await readClusterVersion(client));
    const target = parseTarget(to, cluster);
    return checkUpgrade(await readExtensions(client, { systemNamespace, cluster, target }), cluster, target);
  } catch (err) {
    if (!isRefusal(err)) throw err;
    throw new Error(`${getErrorMessage(err)}; config/openshift/upgrade-checker.yaml grants this permission`, { cause: err });
  }
}

/** Parses a cluster version that the user gives. @throws Error that names the option */
export function parseGivenVersion(text: string): ClusterVersion {
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

/** Returns the result as a sentence. */
export function describeUpgradeVerdict({ clusterVersion, target, upgradeable, extensions }: UpgradeCheck): string {
  const step = clusterVersion === null ? `the upgrade to ${target}` : `the upgrade from ${clusterVersion} to ${target}`;
  if (upgradeable)
    return extensions.length === 0 ? `OK: no extension is installed, so none blocks ${step}` : `OK: no extension blocks ${step}`;
  const names = new Set(extensions.filter(({ blocks }) => blocks).map(({ extension }) => extension));
  const all = new Set(extensions.map(({ extension }) => extension));
  return `BLOCKED: ${names.size} of ${all.size} extensions ${names.size === 1 ? "blocks" : "block"} ${step}`;
}

/** What lifts the block of one extension. */
export interface UpgradeRemedy {
  readonly extension: string;
  readonly text: string;
}

/** Returns what lifts the block of each extension: the remedy in its status, or general advice. Empty if nothing blocks the upgrade. */
export function listUpgradeRemedies({ target, upgradeable, extensions }: UpgradeCheck): UpgradeRemedy[] {
  if (upgradeable) return [];
  const first = new Map<string, UpgradeCheckRow>();
  for (const row of extensions) if (row.blocks && !first.has(row.extension)) first.set(row.extension, row);
  return [...first.values()].map((row) => ({ extension: row.extension, text: row.remedy || adviseUpgrade(row, target) }));
}

/** Returns general advice for an extension, if the cluster reports no specific remedy. */
function adviseUpgrade({ verdict, bundle }: UpgradeCheckRow, target: string): string {
  if (verdict === "blocked") return `upgrade the extension to a bundle that supports ${target}, or uninstall it`;
  if (bundle === "") return "fix the cause of the error";
  return "upgrade the extension to a bundle with a valid maximum such as 4.18, or without a maximum, or uninstall it";
}
