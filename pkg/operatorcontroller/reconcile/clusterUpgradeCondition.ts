import type { ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import type { Condition } from "../../api/k8s.ts";
import { findProblem, newProblem, type Problem } from "../../api/problems.ts";
import { MAX_OPENSHIFT_VERSION } from "../../bundle/maxOpenShiftVersion.ts";
import { goQuote } from "../../golang/quote.ts";
import { assessRelease, type ReleaseVerdict, toActiveRelease } from "../../openshift/upgradeable.ts";
import { findRemedy, formatRemedy } from "../../resolve/remedy.ts";
import { type ClusterVersion, formatMinorVersion, getNextMinor } from "../../version/clusterVersion.ts";
import type { KnownReleases } from "../state/clusterChanges.ts";
import { getReleases, type Phase } from "../state/phases.ts";

/** The condition ClusterUpgradeBlocked, and the problem if it is True. */
export interface UpgradeVerdict {
  readonly condition: ConditionVerdict;
  readonly problems: readonly Problem[];
}

type ActiveReleases = NonNullable<KnownReleases["active"]>;
type StatedVerdict = Exclude<ReleaseVerdict, { kind: "unlimited" }>;

/**
 * Computes condition ClusterUpgradeBlocked: whether the active releases of an extension block the upgrade of the
 * cluster to its next minor version. Undefined if no release limits the cluster version. The first matching row
 * decides; the message lists every release:
 *
 * | a maximum that is too low     | True / IncompatibleOperatorInstalled |
 * | a malformed maximum           | True / InvalidMaxOpenShiftVersion    |
 * | an unreadable release         | True / ReleasesUnreadable            |
 * | an unknown cluster version    | Unknown / ClusterVersionUnknown      |
 * | a maximum                     | False / Compatible                   |
 */
export function computeUpgradeCondition(phase: Phase, active: ActiveReleases, today: string): UpgradeVerdict | undefined {
  const { extension, clusterVersion } = phase;
  const { unreadable } = getReleases(phase);
  const { name } = extension.metadata;
  const releases = [
    ...active.map((release) => toActiveRelease(name, release)),
    ...unreadable.map((reason) => ({ extension: name, reason })),
  ];
  const verdicts = releases.map((release) => assessRelease(release, clusterVersion));
  const stated = verdicts.filter((verdict): verdict is StatedVerdict => verdict.kind !== "unlimited");
  const [status, reason] = computeOutcome(stated) ?? [];
  if (status === undefined || reason === undefined) return undefined;
  const blocking = stated.filter(({ kind }) => kind === "blocked" || kind === "error").map(({ bundle }) => bundle);
  const remedy = blocking.length > 0 ? chooseRemedy(phase, blocking, today) : undefined;
  const sentences = [...new Set(stated.map((verdict) => toSentence(verdict, clusterVersion))), ...(remedy === undefined ? [] : [remedy])];
  const message = sentences.join("; ");
  const isTooLow = stated.some(({ kind }) => kind === "blocked") && clusterVersion.kind === "known";
  const details = {
    bundles: [...new Set(blocking)].filter((bundle) => bundle !== ""),
    ...(isTooLow ? { target: formatMinorVersion(getNextMinor(clusterVersion.minor)) } : {}),
    ...(remedy === undefined ? {} : { remedy }),
  };
  return {
    condition: { type: ConditionType.ClusterUpgradeBlocked, status, reason, message },
    problems: status === "True" ? [newProblem("ClusterUpgradeBlocked", { message, details })] : [],
  };
}

function computeOutcome(stated: readonly StatedVerdict[]): [ConditionVerdict["status"], string] | undefined {
  const kinds = stated.map(({ kind }) => kind);
  if (kinds.includes("blocked")) return ["True", Reason.IncompatibleOperatorInstalled];
  if (stated.some(({ kind, bundle }) => kind === "error" && bundle !== "")) return ["True", Reason.InvalidMaxOpenShiftVersion];
  if (kinds.includes("error")) return ["True", Reason.ReleasesUnreadable];
  if (kinds.includes("undecided")) return ["Unknown", Reason.ClusterVersionUnknown];
  return kinds.length > 0 ? ["False", Reason.Compatible] : undefined;
}

function toSentence(verdict: StatedVerdict, cluster: ClusterVersion): string {
  if (verdict.kind === "error") return verdict.text;
  const max = formatMinorVersion(verdict.max);
  const states = `bundle ${goQuote(verdict.bundle)} (version ${verdict.version}) has ${MAX_OPENSHIFT_VERSION} ${max}`;
  if (verdict.kind === "compatible") return `${states}: the cluster can be upgraded up to ${max}`;
  if (verdict.kind === "undecided")
    return `${states}, but the cluster version is unknown (${verdict.reason}): set the operator-controller flag --cluster-version`;
  const next = cluster.kind === "known" ? formatMinorVersion(getNextMinor(cluster.minor)) : "its next minor version";
  return `${states}, which blocks an upgrade of the cluster to ${next}`;
}

/** Returns a version that would unblock the upgrade, if this reconcile read the catalogs. */
function chooseRemedy(phase: Phase, blocking: readonly string[], today: string): string | undefined {
  const { extension, clusterVersion, report } = phase;
  const { installed } = getReleases(phase);
  const { packages: catalogs } = report.catalogs;
  const source = extension.spec.source.catalog;
  if (!source || !catalogs || clusterVersion.kind !== "known") return undefined;
  const remedy = findRemedy({ source, catalogs, installed, blocking, cluster: clusterVersion.minor, today });
  return remedy && formatRemedy(remedy, source, installed);
}

/**
 * Returns the remedy in the status of an extension that blocks an upgrade of the cluster, such as `version 1.1.0 of
 * catalog "x" allows the cluster upgrade`. Undefined if the status contains no remedy, or the remedy is for a different
 * target.
 * @param target.text major and minor version to upgrade to, such as "4.19".
 * @param target.isNext whether this is the cluster's next minor version. A problem without a target refers to that
 * version.
 */
export function readRemedy(
  status: Pick<ClusterExtensionStatus, "problems"> | undefined,
  { text, isNext }: { text: string; isNext: boolean },
): string | undefined {
  const { clusterUpgrade } = findProblem(status, "ClusterUpgradeBlocked")?.details ?? {};
  const isAboutTarget = clusterUpgrade?.target === undefined ? isNext : clusterUpgrade.target === text;
  return isAboutTarget ? clusterUpgrade?.remedy : undefined;
}

/** The part of a condition that a reconcile computes. */
export type ConditionVerdict = Pick<Condition, "type" | "status" | "reason" | "message">;
