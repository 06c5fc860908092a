import type { DependencyPlan, Plan } from "../../api/clusterExtensionStatus.ts";
import type { Problem } from "../../api/problems.ts";
import type { FbcDeprecations } from "../../fbc/types.ts";
import type { Availability } from "../../release/health/availability.ts";
import type { CatalogPackage, FilteredCatalogs } from "../../resolve/resolution.ts";
import type { VersionRelease } from "../../version/version.ts";
import type { UnblockCheck } from "./conditionPoller.ts";

/** Deprecations of the package in the catalogs. */
export type DeprecationStatus = { kind: "unknown" } | { kind: "known"; entries: FbcDeprecations | undefined };

/** Data from the catalogs, also after a failed resolution. */
export interface CatalogObservations {
  /** Content of the package in the selected catalogs; absent if they were not read. */
  packages?: readonly CatalogPackage[];
  /** Candidates of the resolution; absent if the catalogs were not read. */
  filtered?: FilteredCatalogs;
  deprecation: DeprecationStatus;
  /** Highest version of the package in the catalog of the resolved bundle, regardless of limits in spec. */
  newest?: VersionRelease;
}

/**
 * What a reconcile reports in any phase. `computeExtensionStatus` computes the status from the phase
 * and the report; steps never write the status.
 */
export interface Report {
  readonly catalogs: CatalogObservations;
  /** Problems for `status.problems`, in addition to the error that ends the reconcile. */
  readonly problems: Problem[];
  /** Missing permissions of the ServiceAccount that did not end the reconcile. */
  lacking?: Problem;
  /** The changes that await approval. */
  plan?: Plan;
  /** The plan in progress that the extension has made. Absent if the reconcile did not find out; the status keeps the known plan then. */
  dependencyPlan?: { readonly kind: "none" } | { readonly kind: "plan"; readonly plan: DependencyPlan };
  /** Whether the installed objects work; absent if they could not be read. */
  availability?: Availability;
  /** Text of condition Progressing if the rollout exceeds `spec.progressDeadlineMinutes`. */
  overdue?: string;
  /** Returns whether to reconcile again because the cluster has changed. */
  awaits?: UnblockCheck;
}

/** Returns a report without findings. */
export function newReport(): Report {
  return { catalogs: { deprecation: { kind: "unknown" } }, problems: [] };
}
