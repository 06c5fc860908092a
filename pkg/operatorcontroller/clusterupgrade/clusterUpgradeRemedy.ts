import { findCondition } from "../../api/conditions.ts";
import { ConditionType } from "../../api/constants.ts";
import type { Condition } from "../../api/k8s.ts";
import { KEEPS_FROM } from "./clusterUpgradeVerdict.ts";

const BETWEEN = "; ";
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
  const sentences = condition.message.split(BETWEEN);
  const isAboutTarget = condition.message.includes(KEEPS_FROM) ? sentences.some((one) => one.endsWith(`${KEEPS_FROM}${text}`)) : isNext;
  const remedy = sentences.slice(sentences.findLastIndex((one) => ABOUT_A_RELEASE.test(one)) + 1).join(BETWEEN);
  return isAboutTarget && remedy !== "" ? remedy : undefined;
}
