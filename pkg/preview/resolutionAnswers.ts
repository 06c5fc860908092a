import { findSimilarNames } from "../fbc/summary/search.ts";
import type { RefusalRecord } from "../resolve/dependencies/refusalRecord.ts";
import type { Resolution } from "../resolve/resolution.ts";
import { type ResolutionRecord, recordResolution } from "../resolve/resolutionRecord.ts";
import { explainWhyNot, type WhyNot } from "../resolve/whyNot.ts";
import { type CheckedResolution, type ResolutionSubject, resolveWithDependencies } from "./resolveWithDependencies.ts";

/** The record of a resolution, with the bundles that were rejected because of their dependencies. */
interface CheckedRecord extends ResolutionRecord {
  /** Absent if there are none. */
  readonly refusals?: readonly RefusalRecord[];
}

/** The selected bundle, or why no bundle is selected. */
export interface ResolutionAnswer {
  readonly resolution: Resolution;
  readonly record: CheckedRecord;
  /** Names of packages similar to the requested one, if no catalog contains it. */
  readonly similarPackages: readonly string[];
}

/** Resolves with the dependency checks of operator-controller. @throws StepLimitError if the CEL rules of the bundles take too many steps */
export async function answerResolution(subject: ResolutionSubject): Promise<ResolutionAnswer> {
  const checked = await resolveWithDependencies(subject);
  const record = recordChecked(subject.request.source.packageName, checked);
  return { resolution: checked.resolution, record, similarPackages: await findSimilarPackages(subject, record) };
}

/** Returns the record of a resolution, with the remarks about dependencies. */
function recordChecked(packageName: string, { resolution, notes, unjudged, refusals }: CheckedResolution): CheckedRecord {
  const record = recordResolution(packageName, resolution);
  const { outcome } = record;
  const all = [...(outcome.notes ?? []), ...notes];
  return {
    ...record,
    outcome: all.length > 0 ? { ...outcome, notes: all } : outcome,
    ...(unjudged.length > 0 ? { unjudged } : {}),
    ...(refusals.length > 0 ? { refusals } : {}),
  };
}

async function findSimilarPackages({ request, catalogs, whole }: ResolutionSubject, record: ResolutionRecord): Promise<string[]> {
  if (record.catalogs.length === 0 || record.catalogs.some(({ state }) => state !== "withoutPackage")) return [];
  const places = catalogs.flatMap(({ status }) => {
    const ref = status?.resolvedSource?.image?.ref;
    return ref === undefined ? [] : [{ ref, base: status?.urls?.base }];
  });
  const names = await Promise.all(places.map(async ({ ref, base }) => [...(await whole.of(ref, base)).index.packages]));
  return findSimilarNames(request.source.packageName, [...new Set(names.flat())]);
}

/** Why a version is not selected, with what is known about dependencies. */
export interface CheckedWhyNot extends WhyNot {
  /** Dependencies that could not be checked, and why, one sentence each. Absent if there are none. */
  readonly unjudged?: readonly string[];
  /** The bundles that were rejected because of their dependencies. Absent if there are none. */
  readonly refusals?: readonly RefusalRecord[];
}

/** Returns why a version is not selected. @param version a version, with or without release, or the name of a bundle */
export async function answerWhyNot(subject: ResolutionSubject, version: string): Promise<CheckedWhyNot> {
  const { resolution, unjudged, refusals } = await resolveWithDependencies(subject, version);
  return {
    ...explainWhyNot(subject.request.source.packageName, version, resolution),
    ...(unjudged.length > 0 ? { unjudged } : {}),
    ...(refusals.length > 0 ? { refusals } : {}),
  };
}
