import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { compareText } from "../text/compare.ts";
import {
  type ClusterVersion,
  formatMinorVersion,
  getNextMinor,
  isBelow,
  type MinorVersion,
  parseMinorVersion,
} from "../version/clusterVersion.ts";
import { compareVersions, formatVersion, parseVersion, type Version } from "../version/version.ts";
import { type ActiveRelease, assessRelease, type ReleaseVerdict } from "./upgradeable.ts";

/** The target version of a cluster upgrade. */
export interface ClusterUpgradeTarget {
  /** The requested version, or the next minor version of the cluster, such as "4.19" or "4.18.9". */
  readonly text: string;
  readonly minor: MinorVersion;
  /** Whether the cluster already has this minor version. If so, nothing blocks the upgrade. */
  readonly isPatch: boolean;
}

/** The releases of one extension. */
export interface ExtensionReleases {
  readonly extension: string;
  /** The readable active releases, newest first; empty if the extension was never installed. */
  readonly releases: readonly ActiveRelease[];
  /**
   * Reasons why installed objects may be missing from `releases`. Each of them blocks the upgrade, like a malformed
   * maximum.
   */
  readonly unreadable?: readonly string[];
  /** A sentence that explains how to unblock the upgrade to this target, if known. */
  readonly remedy?: string | undefined;
}

/** The result for one release. The member names are part of the JSON output and must not change. */
export interface UpgradeCheckRow {
  extension: string;
  /** Empty if the extension is not installed or its releases cannot be read. */
  bundle: string;
  version: string;
  /**
   * The newest minor version that the bundle supports, such as "4.18"; null if it has no maximum or a malformed one.
   */
  maximum: string | null;
  verdict: "blocked" | "error" | "compatible" | "unlimited" | "not installed";
  blocks: boolean;
  /** The cause of verdict "error"; otherwise empty. */
  message: string;
  /** How to unblock the upgrade; empty if unknown, or if the release does not block the upgrade. */
  remedy: string;
}

/** The result of the check, in the documented format of its JSON output. */
export interface UpgradeCheck {
  /** Increases when the meaning of a member changes or a member is removed. */
  formatVersion: 1;
  /** Null if unknown. */
  clusterVersion: string | null;
  target: string;
  upgradeable: boolean;
  /** Sorted by name in byte order. Active releases of one extension are sorted newest first, without duplicates. */
  extensions: UpgradeCheckRow[];
}

/** Without a cluster version, `assessRelease` only determines the maximum. */
const NO_CLUSTER: ClusterVersion = { kind: "none" };
/** Greatest number in a version. */
const MAX_UINT64 = 2n ** 64n - 1n;
const PARTIAL = /^\d+(\.\d+)?$/;

/**
 * Parses the target version in `to`, such as "5", "4.19" or "4.19.2". If `to` is undefined, returns the next minor
 * version of the cluster.
 * @throws Error if `to` is not a version, or is lower than the cluster version; or if `to` is undefined and there is no
 * next minor version.
 */
export function parseUpgradeTarget(to: string | undefined, cluster: ClusterVersion): ClusterUpgradeTarget {
  if (to === undefined) {
    if (cluster.kind !== "known") throw new Error("cannot determine the target version: the cluster version is unknown");
    if (BigInt(cluster.minor.minor) === MAX_UINT64)
      throw new Error(`cannot determine the target version: cluster version ${cluster.text} has the highest possible minor version`);
    const minor = getNextMinor(cluster.minor);
    return { text: formatMinorVersion(minor), minor, isPatch: false };
  }
  const isPartial = PARTIAL.test(to);
  const version = wholeVersion(to);
  const minor = parseMinorVersion(formatVersion(version));
  const text = isPartial ? formatMinorVersion(minor) : to;
  if (cluster.kind !== "known") return { text, minor, isPatch: false };
  const isPatch = formatMinorVersion(minor) === formatMinorVersion(cluster.minor);
  const mayBeCurrent = isPatch && (isPartial || PARTIAL.test(cluster.text));
  if (!mayBeCurrent && compareVersions(version, wholeVersion(cluster.text)) < 0)
    throw new Error(`target version ${text} is lower than cluster version ${cluster.text}`);
  return { text, minor, isPatch };
}

/** Parses "4.18" as 4.18.0. @throws Error that quotes a malformed version. */
function wholeVersion(text: string): Version {
  const missing = PARTIAL.test(text) ? (text.includes(".") ? ".0" : ".0.0") : "";
  try {
    return parseVersion(`${text}${missing}`);
  } catch (err) {
    throw new Error(`${goQuote(text)}: ${getErrorMessage(err)}`, { cause: err });
  }
}

/**
 * Checks whether the installed bundles allow an upgrade of the cluster to `target`. Every active release counts. A
 * release that cannot be read blocks the upgrade, because its maximum is unknown. For the next minor version, the
 * result is the same as in condition `InstalledOLMOperatorsUpgradeable`.
 */
export function checkUpgrade(
  extensions: readonly ExtensionReleases[],
  cluster: ClusterVersion,
  target: ClusterUpgradeTarget,
): UpgradeCheck {
  const rows = extensions.toSorted((a, b) => compareText(a.extension, b.extension)).flatMap((one) => toRows(one, target));
  return {
    formatVersion: 1,
    clusterVersion: cluster.kind === "known" ? cluster.text : null,
    target: target.text,
    upgradeable: rows.every((row) => !row.blocks),
    extensions: rows,
  };
}

function toRows({ extension, releases, unreadable = [], remedy = "" }: ExtensionReleases, target: ClusterUpgradeTarget): UpgradeCheckRow[] {
  const all = [...releases, ...unreadable.map((reason) => ({ extension, reason }))];
  if (all.length === 0) return [createEmptyRow({ extension, bundle: "", version: "" }, "not installed")];
  const rows = all.map((release) => toRow(assessRelease(release, NO_CLUSTER), remedy, target));
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()];
}

function toRow(verdict: ReleaseVerdict, remedy: string, target: ClusterUpgradeTarget): UpgradeCheckRow {
  if (verdict.kind === "unlimited") return createEmptyRow(verdict, "unlimited");
  const blocking = target.isPatch ? {} : { blocks: true, remedy };
  if (verdict.kind === "error") return { ...createEmptyRow(verdict, "error"), ...blocking, message: verdict.text };
  const maximum = formatMinorVersion(verdict.max);
  if (target.isPatch || !isBelow(verdict.max, target.minor)) return { ...createEmptyRow(verdict, "compatible"), maximum };
  return { ...createEmptyRow(verdict, "blocked"), maximum, ...blocking };
}

/** Returns a row whose members are in the order of the JSON output. */
function createEmptyRow(
  about: Pick<UpgradeCheckRow, "extension" | "bundle" | "version">,
  verdict: UpgradeCheckRow["verdict"],
): UpgradeCheckRow {
  const { extension, bundle, version } = about;
  return { extension, bundle, version, maximum: null, verdict, blocks: false, message: "", remedy: "" };
}
