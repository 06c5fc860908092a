import { truncate, NAME_LENGTH } from "../../text/truncate.ts";
import { compareNewestFirst } from "../../fbc/bundleOrder.ts";
import { compareVersionRelease, compareVersions } from "../../version/version.ts";
import { type Candidate } from "../candidates.ts";
import type { Findings } from "../filters.ts";
import { versionOf } from "../wording.ts";
import type { OutcomeRecord, RecordedBundle } from "./record.ts";

/** A candidate that all filters left, with its catalog. */
export interface Ranked {
  readonly found: Findings;
  readonly candidate: Candidate;
}

/** What the filters left in all catalogs, in the order in which resolution takes it: not deprecated, then priority, then as `compareNewestFirst` orders. */
export function ranking(findings: readonly Findings[]): Ranked[] {
  return findings.flatMap((found) => found.allowed.map((candidate) => ({ found, candidate }))).sort(compareRanked);
}

/** The best of what `ranking` holds but `winner`; in one pass over it. */
export function runnerUpOf(findings: readonly Findings[], winner: Ranked): Ranked | undefined {
  let best: Ranked | undefined;
  for (const found of findings) {
    for (const candidate of found.allowed) {
      if (candidate === winner.candidate) continue;
      const next = { found, candidate };
      if (!best || compareRanked(next, best) < 0) best = next;
    }
  }
  return best;
}

function compareRanked(a: Ranked, b: Ranked): number {
  return (
    Number(a.candidate.deprecated) - Number(b.candidate.deprecated) ||
    b.found.priority - a.found.priority ||
    compareNewestFirst(a.candidate, b.candidate) ||
    (a.found.catalog < b.found.catalog ? -1 : Number(a.found.catalog > b.found.catalog))
  );
}

/** What puts `winner` before `other`, as a word and as a clause. */
export function decided(winner: Ranked, other: Ranked): Required<Pick<OutcomeRecord & { kind: "resolved" }, "decidedBy" | "because">> {
  const [a, b] = [winner.candidate, other.candidate];
  if (a.deprecated !== b.deprecated) return { decidedBy: "deprecation", because: `${versionOf(b)} is deprecated` };
  const [mine, others] = [winner.found, other.found];
  if (mine.priority !== others.priority)
    return {
      decidedBy: "priority",
      because: `priority ${mine.priority} of catalog ${mine.catalog} comes before priority ${others.priority} of catalog ${others.catalog}`,
    };
  if (!a.version || !b.version) return { decidedBy: "version", because: `${versionOf(b)} has no version that can be read` };
  if (compareVersions(a.version.version, b.version.version) !== 0)
    return { decidedBy: "version", because: `version ${versionOf(a)} is higher than ${versionOf(b)}` };
  if (compareVersionRelease(a.version, b.version) !== 0)
    return { decidedBy: "release", because: `of one version, release ${versionOf(a)} is higher than ${versionOf(b)}` };
  if (a.rank() !== b.rank())
    return { decidedBy: "channel", because: "version and release are equal, and its channel comes first: the default one, then by name" };
  return { decidedBy: "name", because: "version and release are equal, so the name of the bundle decides" };
}

/** A ranked candidate as records have it. */
export function recordedBundle({ found, candidate }: Ranked): RecordedBundle {
  const { bundle, version, deprecated } = candidate;
  return {
    catalog: found.catalog,
    priority: found.priority,
    bundle: truncate(bundle.name, NAME_LENGTH).toWellFormed(),
    ...(version ? { version: truncate(versionOf(candidate), NAME_LENGTH).toWellFormed() } : {}),
    deprecated,
  };
}
