import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { compareText } from "../text/compare.ts";
import { CAUSE_LENGTH, NAME_LENGTH, truncate } from "../text/truncate.ts";
import { compareVersionRelease, compareVersions } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import { type FilterStep, listFilterSteps } from "./filterSteps.ts";
import type { FilterResult, ResolutionQuery } from "./filters.ts";
import type { CatalogPackage, FilteredCatalogs, Resolution, UnresolvedReason } from "./resolution.ts";
import { explainUnavailable } from "./unresolved.ts";
import { formatCandidateVersion } from "./wording.ts";

/** A bundle of a catalog. */
export interface RecordedBundle {
  readonly catalog: string;
  readonly priority: number;
  readonly bundle: string;
  /** Version and release as users write them; absent if they are invalid. */
  readonly version?: string;
  readonly deprecated: boolean;
}

/** A candidate that a filter removed, and why, as a clause. */
interface RemovedCandidate {
  readonly bundle: string;
  readonly version?: string;
  readonly rule: string;
}

/** The result of one filter on the candidates of one catalog. */
export interface FilterRecord {
  /** channels, versionRange, upgradeEdges, clusterVersion, deprecation, or an extra filter. */
  readonly filter: string;
  /** The condition of the filter, such as `in channels [stable]`. */
  readonly asks: string;
  readonly left: number;
  readonly removed: number;
  /** The highest versions that the filter removed, highest first; at most ten. */
  readonly last: readonly RemovedCandidate[];
}

/** One selected catalog. */
export interface CatalogRecord {
  readonly catalog: string;
  readonly priority: number;
  /** `silent`: the catalog is unavailable. */
  readonly state: "asked" | "withoutPackage" | "silent";
  /** Why the catalog is unavailable. */
  readonly because?: string;
  /** Number of bundles of the package in the catalog. */
  readonly bundles: number;
  /** The filters that the query uses, in order, up to the first filter that no candidate passed. */
  readonly filters: readonly FilterRecord[];
  /** The filter that no candidate passed. */
  readonly emptiedBy?: string;
  /** Alternatives if no candidate passed a filter, as clauses; at most five. */
  readonly near?: readonly string[];
  /** The best remaining candidate. */
  readonly best?: RecordedBundle;
}

/** The chosen bundle and why it was preferred, or why nothing was chosen. */
export type OutcomeRecord =
  | {
      readonly kind: "resolved";
      readonly winner: RecordedBundle;
      /** The edge from the installed bundle, such as `replaces in channel stable`, or `stay`. */
      readonly edge?: string;
      /** The bundle that would be chosen if the winner did not exist; absent if there is no other candidate. */
      readonly runnerUp?: RecordedBundle;
      /** The criterion that decided between the winner and the runner-up, as a word and as a clause. */
      readonly decidedBy?: "deprecation" | "priority" | "version" | "release" | "channel" | "name";
      readonly because?: string;
      readonly explanation: string;
      readonly notes: readonly string[];
    }
  | {
      readonly kind: "unresolved";
      readonly reason: UnresolvedReason;
      /** The text of the Go operator-controller. */
      readonly message: string;
      readonly explanation: string;
      /** The bundles of an ambiguous choice; at most ten. */
      readonly tied?: readonly RecordedBundle[];
      /** Hints, one sentence each; only set by `olmv1 resolve`. */
      readonly notes?: readonly string[];
    };

/** The parsed parts of the request. */
export interface RequestRecord {
  /** At most ten. */
  readonly channels?: readonly string[];
  readonly version?: string;
  readonly upgradeConstraintPolicy: "CatalogProvided" | "SelfCertified";
  readonly clusterVersionPolicy: "Warn" | "Enforce";
  /** Absent if it is Ignore. */
  readonly supportPolicy?: "Warn" | "Enforce";
  /** UTC day on which supportPolicy is applied. */
  readonly today?: string;
  readonly installed?: { readonly bundle: string; readonly version: string };
  readonly clusterVersion?: string;
}

/** A resolution as JSON: usually a few kilobytes, and bounded for any catalog. Members may be added; existing ones keep their meaning. */
export interface ResolutionRecord {
  readonly formatVersion: 1;
  readonly package: string;
  /** Absent if the selector or the version range is invalid. */
  readonly asked?: RequestRecord;
  /** The selected catalogs, highest priority first, then by name; at most 32, and the number of the others. */
  readonly catalogs: readonly CatalogRecord[];
  readonly moreCatalogs: number;
  readonly outcome: OutcomeRecord;
  /** Checks that were not possible, with the reason, one sentence each. Absent if everything was checked. Only set by `olmv1 resolve`. */
  readonly unjudged?: readonly string[];
}

/** A candidate that passes all filters, with its catalog. */
export interface CatalogCandidate {
  readonly result: FilterResult;
  readonly candidate: Candidate;
}

/** Returns the best candidate other than `winner`, in one iteration. */
function findRunnerUp(results: readonly FilterResult[], winner: CatalogCandidate): CatalogCandidate | undefined {
  let best: CatalogCandidate | undefined;
  for (const result of results) {
    for (const candidate of result.allowed) {
      if (candidate === winner.candidate) continue;
      const next = { result, candidate };
      if (!best || compareRanked(next, best) < 0) best = next;
    }
  }
  return best;
}

function compareRanked(a: CatalogCandidate, b: CatalogCandidate): number {
  return (
    Number(a.candidate.deprecated) - Number(b.candidate.deprecated) ||
    b.result.priority - a.result.priority ||
    compareNewestFirst(a.candidate, b.candidate) ||
    compareText(a.result.catalog, b.result.catalog)
  );
}

/** Returns the criterion by which `winner` is preferred to `other`, as a word and as a clause. */
function decided(
  winner: CatalogCandidate,
  other: CatalogCandidate,
): Required<Pick<OutcomeRecord & { kind: "resolved" }, "decidedBy" | "because">> {
  const [a, b] = [winner.candidate, other.candidate];
  if (a.deprecated !== b.deprecated) return { decidedBy: "deprecation", because: `${formatCandidateVersion(b)} is deprecated` };
  const [mine, others] = [winner.result, other.result];
  if (mine.priority !== others.priority)
    return {
      decidedBy: "priority",
      because: `catalog ${mine.catalog} (priority ${mine.priority}) takes precedence over catalog ${others.catalog} (priority ${others.priority})`,
    };
  if (!a.version || !b.version) return { decidedBy: "version", because: `${formatCandidateVersion(b)} has no valid version` };
  if (compareVersions(a.version.version, b.version.version) !== 0)
    return { decidedBy: "version", because: `version ${formatCandidateVersion(a)} is higher than ${formatCandidateVersion(b)}` };
  if (compareVersionRelease(a.version, b.version) !== 0)
    return {
      decidedBy: "release",
      because: `the versions are equal, and release ${formatCandidateVersion(a)} is higher than ${formatCandidateVersion(b)}`,
    };
  if (a.rank() !== b.rank())
    return {
      decidedBy: "channel",
      because: "version and release are equal, and its channel is preferred: the default channel first, then by channel name",
    };
  return { decidedBy: "name", because: "version and release are equal, so the bundle name decides" };
}

/** Converts a candidate to a record. */
export function recordBundle({ result, candidate }: CatalogCandidate): RecordedBundle {
  const { bundle, version, deprecated } = candidate;
  return {
    catalog: result.catalog,
    priority: result.priority,
    bundle: truncate(bundle.name, NAME_LENGTH).toWellFormed(),
    ...(version ? { version: truncate(formatCandidateVersion(candidate), NAME_LENGTH).toWellFormed() } : {}),
    deprecated,
  };
}

const MAX_CATALOGS = 32;
const MAX_REMOVED = 10;
const MAX_LISTED = 10;
const MAX_NEAR = 5;
/** Maximum length of an explanation or of a text of the Go implementation, in characters. */
const MAX_TEXT = 8_192;

/** Converts a resolution to a record. Pure; does not depend on the order of catalogs and bundles. */
export function recordResolution(packageName: string, resolution: Resolution): ResolutionRecord {
  const { filtered } = resolution;
  const selected = (filtered?.catalogs ?? []).toSorted((a, b) => b.priority - a.priority);
  return {
    formatVersion: 1,
    package: truncate(packageName, NAME_LENGTH),
    ...(filtered ? { asked: recordRequest(filtered) } : {}),
    catalogs: filtered ? selected.slice(0, MAX_CATALOGS).map((catalog) => catalogRecord(catalog, filtered)) : [],
    moreCatalogs: Math.max(0, selected.length - MAX_CATALOGS),
    outcome: recordOutcome(resolution),
  };
}

function recordRequest({ query, installed }: FilteredCatalogs): RequestRecord {
  const { channels, range, enforceEdges, enforceClusterVersion, cluster, support } = query;
  return {
    ...(channels.length > 0 ? { channels: channels.slice(0, MAX_LISTED).map((name) => truncate(name, NAME_LENGTH)) } : {}),
    ...(range ? { version: truncate(range.text, NAME_LENGTH) } : {}),
    upgradeConstraintPolicy: enforceEdges ? "CatalogProvided" : "SelfCertified",
    clusterVersionPolicy: enforceClusterVersion ? "Enforce" : "Warn",
    ...(support && support.policy !== "Ignore" ? { supportPolicy: support.policy, today: support.today } : {}),
    ...(installed ? { installed: { bundle: installed.name, version: installed.version } } : {}),
    ...(cluster.kind === "known" ? { clusterVersion: cluster.text } : {}),
  };
}

function catalogRecord(catalog: CatalogPackage, { results, query }: FilteredCatalogs): CatalogRecord {
  const { name, priority } = catalog;
  const head = { catalog: name, priority };
  if (catalog.unavailable !== undefined)
    return { ...head, state: "silent", because: truncate(explainUnavailable(catalog), CAUSE_LENGTH), bundles: 0, filters: [] };
  const result = results.find(({ catalog }) => catalog === name);
  if (!result) return { ...head, state: "withoutPackage", bundles: 0, filters: [] };
  const { steps, emptied } = untilEmpty(result, query);
  return {
    ...head,
    state: "asked",
    bundles: result.all.length,
    filters: steps.map(filterRecord),
    ...(emptied
      ? {
          emptiedBy: emptied.name,
          near: emptied
            .near()
            .slice(0, MAX_NEAR)
            .map((text) => truncate(text, CAUSE_LENGTH)),
        }
      : {}),
    ...(result.best ? { best: recordBundle({ result, candidate: result.best }) } : {}),
  };
}

function untilEmpty(result: FilterResult, query: ResolutionQuery): { steps: readonly FilterStep[]; emptied: FilterStep | undefined } {
  const steps = listFilterSteps(result, query);
  const at = result.all.length === 0 ? 0 : steps.findIndex(({ left }) => left.length === 0);
  return at === -1
    ? { steps, emptied: undefined }
    : { steps: steps.slice(0, at + 1), emptied: result.all.length === 0 ? undefined : steps[at] };
}

function filterRecord({ name, asks, left, removed, rule }: FilterStep): FilterRecord {
  const last = removed.toSorted(compareNewestFirst).slice(0, MAX_REMOVED);
  return {
    filter: name,
    asks: truncate(asks, CAUSE_LENGTH),
    left: left.length,
    removed: removed.length,
    last: last.map((candidate) => ({
      bundle: truncate(candidate.bundle.name, NAME_LENGTH),
      ...(candidate.version ? { version: truncate(formatCandidateVersion(candidate), NAME_LENGTH) } : {}),
      rule: truncate(rule(candidate), CAUSE_LENGTH),
    })),
  };
}

function recordOutcome(resolution: Resolution): OutcomeRecord {
  const explanation = truncate(resolution.explanation, MAX_TEXT);
  if (resolution.kind === "unresolved") {
    const { reason, goMessage } = resolution;
    const tied = reason === "AmbiguousCatalogs" ? resolution.tied : [];
    const bundles = tied.slice(0, MAX_LISTED).map((result) => recordBundle({ result, candidate: result.best }));
    return {
      kind: "unresolved",
      reason,
      message: truncate(goMessage, MAX_TEXT),
      explanation,
      ...(bundles.length > 0 ? { tied: bundles } : {}),
    };
  }
  const { catalog, edge, problems, filtered } = resolution;
  const notes = problems.map(({ message }) => message);
  const result = filtered.results.find((one) => one.catalog === catalog);
  if (!result?.best) throw new Error(`catalog ${catalog} of the chosen bundle was not considered`);
  const winner = { result, candidate: result.best };
  const second = findRunnerUp(filtered.results, winner);
  return {
    kind: "resolved",
    winner: recordBundle(winner),
    ...(edge ? { edge: edge.via === "stay" ? "stay" : truncate(`${edge.via} in channel ${edge.channel}`, CAUSE_LENGTH) } : {}),
    ...(second ? { runnerUp: recordBundle(second), ...decided(winner, second) } : {}),
    explanation,
    notes: notes.slice(0, MAX_LISTED).map((note) => truncate(note, CAUSE_LENGTH)),
  };
}
