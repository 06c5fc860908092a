import { findCondition } from "../../api/conditions.ts";
import { ANNOTATION_PROPERTIES, ConditionType, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION, Reason } from "../../api/constants.ts";
import type { Condition } from "../../api/k8s.ts";
import { MAX_OPENSHIFT_VERSION } from "../../bundle/maxOpenShiftVersion.ts";
import { goQuote } from "../../golang/quote.ts";
import { type ActiveRelease, type Verdict, verdictOn } from "../../openshift/upgradeable.ts";
import { findRemedy, remedyText } from "../../resolve/remedy.ts";
import { type ClusterVersion, minorText, nextMinor } from "../../version/clusterVersion.ts";
import type { ReconcileState } from "../state/reconcileState.ts";

/** What the message says of a maximum that is too low; the version that the cluster would be upgraded to follows. */
const KEEPS_FROM = "which keeps the cluster from being upgraded to ";

type Stated = Exclude<Verdict, { kind: "unlimited" }>;

/**
 * Condition ClusterUpgradeBlocked: what the active releases of an extension mean for the cluster's upgrade to its next minor version. Undefined
 * when none of them limits the cluster's version. The first row that some release makes true decides, every release has its say in the message:
 *
 * | a maximum that is too low   | True / IncompatibleOperatorInstalled |
 * | one that cannot be read     | True / InvalidMaxOpenShiftVersion    |
 * | a release that cannot be    | True / ReleasesUnreadable            |
 * | an unknown cluster version  | Unknown / ClusterVersionUnknown      |
 * | a maximum                   | False / Compatible                   |
 */
export function upgradeVerdict(facts: ReconcileState, active: NonNullable<ReconcileState["active"]>): ConditionVerdict | undefined {
  const { extension, clusterVersion, unreadable = [] } = facts;
  const { name } = extension.metadata;
  const releases = [
    ...active.map((release) => activeRelease(name, release)),
    ...unreadable.map((because) => ({ extension: name, because })),
  ];
  const verdicts = releases.map((release) => verdictOn(release, clusterVersion));
  const stated = verdicts.filter((verdict): verdict is Stated => verdict.kind !== "unlimited");
  const [status, reason] = outcome(stated) ?? [];
  if (status === undefined || reason === undefined) return undefined;
  const blocking = stated.filter(({ kind }) => kind === "blocked" || kind === "error").map(({ bundle }) => bundle);
  const remedy = blocking.length > 0 ? remedyIn(facts, blocking) : undefined;
  const sentences = [...new Set(stated.map((verdict) => sentence(verdict, clusterVersion))), ...(remedy === undefined ? [] : [remedy])];
  return { type: ConditionType.ClusterUpgradeBlocked, status, reason, message: sentences.join("; ") };
}

/** What the gate looks at in a release. */
function activeRelease(extension: string, { labels, annotations }: NonNullable<ReconcileState["active"]>[number]): ActiveRelease {
  const properties = annotations[ANNOTATION_PROPERTIES];
  return { extension, bundle: labels[LABEL_BUNDLE_NAME] ?? "", version: labels[LABEL_BUNDLE_VERSION] ?? "", properties };
}

function outcome(stated: readonly Stated[]): [ConditionVerdict["status"], string] | undefined {
  const kinds = stated.map(({ kind }) => kind);
  if (kinds.includes("blocked")) return ["True", Reason.IncompatibleOperatorInstalled];
  if (stated.some(({ kind, bundle }) => kind === "error" && bundle !== "")) return ["True", Reason.InvalidMaxOpenShiftVersion];
  if (kinds.includes("error")) return ["True", Reason.ReleasesUnreadable];
  if (kinds.includes("undecided")) return ["Unknown", Reason.ClusterVersionUnknown];
  return kinds.length > 0 ? ["False", Reason.Compatible] : undefined;
}

function sentence(verdict: Stated, cluster: ClusterVersion): string {
  if (verdict.kind === "error") return verdict.text;
  const max = minorText(verdict.max);
  const states = `bundle ${goQuote(verdict.bundle)} (version ${verdict.version}) states ${MAX_OPENSHIFT_VERSION} ${max}`;
  if (verdict.kind === "compatible") return `${states}: the cluster may be upgraded to ${max}`;
  if (verdict.kind === "undecided")
    return `${states}, and the cluster's version is not known (${verdict.because}): --cluster-version of operator-controller would tell it`;
  const next = cluster.kind === "known" ? minorText(nextMinor(cluster.minor)) : "its next minor version";
  return `${states}, ${KEEPS_FROM}${next}`;
}

/** What would lift the block, when the catalogs were asked in this pass. */
function remedyIn({ extension, catalogs, installed, clusterVersion }: ReconcileState, blocking: readonly string[]): string | undefined {
  const source = extension.spec.source.catalog;
  if (!source || !catalogs || clusterVersion.kind !== "known") return undefined;
  const remedy = findRemedy({ source, catalogs, installed, blocking, cluster: clusterVersion.minor });
  return remedy && remedyText(remedy, source, installed);
}

const SENTENCE_SEPARATOR = "; ";
/** Sentences about releases; what comes after the last of them is what would lift the block. */
const ABOUT_A_RELEASE = /^(?:bundle "|error(?:\(s\))? with cluster extension )/;

/**
 * What would lift the block of an extension, as its condition ClusterUpgradeBlocked says it, such as `version 1.1.0 of catalog "x" lifts the block`.
 * Undefined where it says nothing, or says it of another target.
 * @param target.text major and minor of the version that the cluster is to be upgraded to, such as "4.19".
 * @param target.isNext it is the cluster's next minor version: a message that names no version is about that one.
 */
export function remedyInCondition(
  conditions: readonly Condition[] | undefined,
  { text, isNext }: { text: string; isNext: boolean },
): string | undefined {
  const condition = findCondition(conditions, ConditionType.ClusterUpgradeBlocked);
  if (condition?.status !== "True") return undefined;
  const sentences = condition.message.split(SENTENCE_SEPARATOR);
  const isAboutTarget = condition.message.includes(KEEPS_FROM) ? sentences.some((one) => one.endsWith(`${KEEPS_FROM}${text}`)) : isNext;
  const remedy = sentences.slice(sentences.findLastIndex((one) => ABOUT_A_RELEASE.test(one)) + 1).join(SENTENCE_SEPARATOR);
  return isAboutTarget && remedy !== "" ? remedy : undefined;
}

/** A condition as a pass sees it. */
export type ConditionVerdict = Pick<Condition, "type" | "status" | "reason" | "message">;
