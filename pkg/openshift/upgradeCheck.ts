import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import { type ClusterVersion, isBelow, type MinorVersion, minorOf, minorText, nextMinor } from "../version/clusterVersion.ts";
import { compareVersions, formatVersion, parseVersion, type Version } from "../version/version.ts";
import { type ActiveRelease, type ReleaseVerdict, verdictOn } from "./upgradeable.ts";

/** The version of the cluster that is asked about. */
export interface ClusterUpgradeTarget {
  /** As it was asked for, or the next minor: "4.19", "4.18.9". */
  readonly text: string;
  readonly minor: MinorVersion;
  /** The cluster is at this minor version already, so that nothing blocks. */
  readonly isPatch: boolean;
}

/** What the cluster says about one extension. */
export interface ExtensionReleases {
  readonly extension: string;
  /** Its active releases that can be read, newest first; empty where it was never installed. */
  readonly releases: readonly ActiveRelease[];
  /** Why its releases do not say all that may be installed, a text each; one blocks like a maximum that cannot be read. */
  readonly unreadable?: readonly string[];
  /** A sentence about what would lift its block, where that is known for this target. */
  readonly remedy?: string | undefined;
}

/** What one release means for the upgrade: the members of the JSON output, so a name that is there stays. */
export interface UpgradeCheckRow {
  extension: string;
  /** Empty where the extension is not installed, or where nobody can tell. */
  bundle: string;
  version: string;
  /** The newest minor version that the bundle supports, "4.18"; null where it states none or none that can be read. */
  maximum: string | null;
  verdict: "blocked" | "error" | "compatible" | "unlimited" | "not installed";
  blocks: boolean;
  /** What cannot be read, and why; empty unless the verdict is "error". */
  message: string;
  /** What would lift the block; empty where nothing is known, or nothing blocks. */
  remedy: string;
}

/** The answer of the check, in the documented shape of its JSON output. */
export interface UpgradeCheck {
  /** Grows when a member changes its meaning or goes. */
  formatVersion: 1;
  /** Null where nobody can tell. */
  clusterVersion: string | null;
  target: string;
  upgradeable: boolean;
  /** By name, in byte order; several active releases of one extension newest first, those that say the same once. */
  extensions: UpgradeCheckRow[];
}

/** Asked without a version of the cluster, a release says only whether a maximum is stated, and which. */
const NO_CLUSTER: ClusterVersion = { kind: "none" };
/** The greatest number that a version can have. */
const MAX_UINT64 = 2n ** 64n - 1n;
const PARTIAL = /^\d+(\.\d+)?$/;

/**
 * The target that `to` names: "5", "4.19" or a whole version; the next minor version of the cluster without it.
 * @throws Error when `to` is no version or is below the cluster's, or when there is neither.
 */
export function upgradeTarget(to: string | undefined, cluster: ClusterVersion): ClusterUpgradeTarget {
  if (to === undefined) {
    if (cluster.kind !== "known") throw new Error("there is no target: the version of the cluster is not known");
    if (BigInt(cluster.minor.minor) === MAX_UINT64)
      throw new Error(`there is no target: no minor version follows ${cluster.text}, the version of the cluster`);
    const minor = nextMinor(cluster.minor);
    return { text: minorText(minor), minor, isPatch: false };
  }
  const isPartial = PARTIAL.test(to);
  const version = wholeVersion(to);
  const minor = minorOf(formatVersion(version));
  const text = isPartial ? minorText(minor) : to;
  if (cluster.kind !== "known") return { text, minor, isPatch: false };
  const isPatch = minorText(minor) === minorText(cluster.minor);
  const mayBeCurrent = isPatch && (isPartial || PARTIAL.test(cluster.text));
  if (!mayBeCurrent && compareVersions(version, wholeVersion(cluster.text)) < 0)
    throw new Error(`${text} is below the version of the cluster, ${cluster.text}`);
  return { text, minor, isPatch };
}

/** "4.18" as 4.18.0; @throws Error that quotes what is no version. */
function wholeVersion(text: string): Version {
  const missing = PARTIAL.test(text) ? (text.includes(".") ? ".0" : ".0.0") : "";
  try {
    return parseVersion(`${text}${missing}`);
  } catch (err) {
    throw new Error(`${goQuote(text)}: ${messageOf(err)}`, { cause: err });
  }
}

/**
 * Whether the cluster may be upgraded to `target` with what is installed. Every active release counts, and one that cannot be judged blocks:
 * nobody knows what it supports. For the next minor version the answer is that of the condition `InstalledOLMOperatorsUpgradeable`.
 */
export function checkUpgrade(
  extensions: readonly ExtensionReleases[],
  cluster: ClusterVersion,
  target: ClusterUpgradeTarget,
): UpgradeCheck {
  const rows = extensions.toSorted((a, b) => compareText(a.extension, b.extension)).flatMap((one) => rowsOf(one, target));
  return {
    formatVersion: 1,
    clusterVersion: cluster.kind === "known" ? cluster.text : null,
    target: target.text,
    upgradeable: rows.every((row) => !row.blocks),
    extensions: rows,
  };
}

function rowsOf({ extension, releases, unreadable = [], remedy = "" }: ExtensionReleases, target: ClusterUpgradeTarget): UpgradeCheckRow[] {
  const all = [...releases, ...unreadable.map((because) => ({ extension, because }))];
  if (all.length === 0) return [emptyRow({ extension, bundle: "", version: "" }, "not installed")];
  const rows = all.map((release) => rowFrom(verdictOn(release, NO_CLUSTER), remedy, target));
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

function rowFrom(verdict: ReleaseVerdict, remedy: string, target: ClusterUpgradeTarget): UpgradeCheckRow {
  if (verdict.kind === "unlimited") return emptyRow(verdict, "unlimited");
  const obstacle = target.isPatch ? {} : { blocks: true, remedy };
  if (verdict.kind === "error") return { ...emptyRow(verdict, "error"), ...obstacle, message: verdict.text };
  const maximum = minorText(verdict.max);
  if (target.isPatch || !isBelow(verdict.max, target.minor)) return { ...emptyRow(verdict, "compatible"), maximum };
  return { ...emptyRow(verdict, "blocked"), maximum, ...obstacle };
}

/** The members in the order in which they are printed. */
function emptyRow(about: Pick<UpgradeCheckRow, "extension" | "bundle" | "version">, verdict: UpgradeCheckRow["verdict"]): UpgradeCheckRow {
  const { extension, bundle, version } = about;
  return { extension, bundle, version, maximum: null, verdict, blocks: false, message: "", remedy: "" };
}
