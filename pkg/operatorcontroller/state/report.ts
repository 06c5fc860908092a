import type { Plan } from "../../api/clusterExtensionStatus.ts";
import type { Problem } from "../../api/problems.ts";
import type { FbcDeprecations } from "../../fbc/types.ts";
import type { Availability } from "../../release/health/availability.ts";
import type { CatalogPackage, FilteredCatalogs } from "../../resolve/resolution.ts";
import type { VersionRelease } from "../../version/version.ts";
import type { IsOver } from "./waiting.ts";

/** What catalogs say about the deprecation of the package. */
export type DeprecationStatus = { kind: "unknown" } | { kind: "known"; entries: FbcDeprecations | undefined };

/** What the catalogs said in a reconcile, also in one that found no bundle in them. */
export interface CatalogObservations {
  /** What the selected catalogs say about the package; absent while they were not asked. */
  packages?: readonly CatalogPackage[];
  /** What resolution chose from, or could not; absent while the catalogs were not asked. */
  filtered?: FilteredCatalogs;
  deprecation: DeprecationStatus;
  /** Highest version of the package in the catalog that was resolved from, whatever limits the extension sets. */
  newest?: VersionRelease;
}

/** What a reconcile reports in addition to its phase, whatever phase it ends in. `statusFrom` makes the status from both; no step writes status. */
export interface Report {
  readonly catalogs: CatalogObservations;
  /** For `status.problems`, in addition to the error that ends the reconcile. */
  readonly problems: Problem[];
  /** Permissions that the ServiceAccount lacks, with which the reconcile continued. */
  lacking?: Problem;
  /** What would be done once it is approved. */
  plan?: Plan;
  /** Whether the installed objects work; absent if they could not be read. */
  availability?: Availability;
  /** The rollout takes longer than `spec.progressDeadlineMinutes`: the text of condition Progressing. */
  overdue?: string;
  /** Asks whether another reconcile would find something else, although this one succeeded. */
  awaits?: IsOver;
}

/** Returns a report without findings. */
export function newReport(): Report {
  return { catalogs: { deprecation: { kind: "unknown" } }, problems: [] };
}
