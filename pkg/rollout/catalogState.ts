import { CATALOG_FAILURE_REASONS, type CatalogFailureReason, type ClusterCatalog } from "../api/clusterCatalog.ts";
import { findCondition } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import type { Styled } from "./mood.ts";

/** Returns the state of a catalog in a word or two. */
export function describeCatalogState({ metadata, spec, status }: Pick<ClusterCatalog, "metadata" | "spec" | "status">): Styled {
  const serving = findCondition(status?.conditions, ConditionType.Serving);
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  const valid = findCondition(status?.conditions, "Valid");
  if (metadata.deletionTimestamp) return { text: "removing", mood: "warning" };
  if (spec.availabilityMode === "Unavailable") return { text: "disabled", mood: "faint" };
  const fault = formatFailure(progressing);
  if (serving?.status === "True") {
    if (fault !== undefined) return { text: `serving, ${fault}`, mood: "warning" };
    return valid?.status === "False" ? { text: "serving, has errors", mood: "warning" } : { text: "serving", mood: "good" };
  }
  if (fault !== undefined) return { text: fault, mood: progressing?.reason === Reason.Blocked ? "bad" : "warning" };
  return { text: progressing ? "unpacking" : "waiting", mood: "warning" };
}

/** Suggested fixes for failures that retries cannot fix, by error class. */
const REMEDIES: Partial<Record<CatalogFailureReason, string>> = {
  not_found: "check the image name and tag",
  unauthorized: "configure registry credentials for catalogd: docs/how-to/air-gap.md",
  image: "build a catalog image with olmv1 catalog build",
  content: "list the errors with olmv1 catalog validate",
  rejected: "sign the image, or change the signature policy: docs/how-to/image-signatures.md",
};

/**
 * Returns why the content for the current spec is not served, with catalogd's message; undefined if nothing failed. If retries cannot succeed,
 * `isFinal` is true, and `remedy` contains the suggested fix, if known.
 */
export function findCatalogFailure({
  metadata,
  status,
}: Pick<ClusterCatalog, "metadata" | "status">): { isFinal: boolean; because: string; remedy?: string } | undefined {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing || progressing.observedGeneration !== metadata.generation || formatFailure(progressing) === undefined) return undefined;
  const reason = CATALOG_FAILURE_REASONS.find((one) => one === status?.failure?.reason);
  const remedy = reason && REMEDIES[reason];
  const isFinal = progressing.reason === Reason.Blocked || remedy !== undefined;
  return { isFinal, because: progressing.message, ...(remedy === undefined ? {} : { remedy }) };
}

/** Returns whether the content for the current spec is served. */
export function isServed({ metadata, status }: Pick<ClusterCatalog, "metadata" | "status">): boolean {
  const [serving, progressing] = [ConditionType.Serving, ConditionType.Progressing].map((type) => findCondition(status?.conditions, type));
  return serving?.status === "True" && progressing?.reason === Reason.Succeeded && progressing.observedGeneration === metadata.generation;
}

function formatFailure(progressing: { reason: string } | undefined): string | undefined {
  if (progressing?.reason === Reason.Blocked) return "blocked";
  return progressing?.reason === Reason.Retrying ? "retrying" : undefined;
}
