import { formatClusterVersionConflict } from "../bundle/maxOpenShiftVersion.ts";
import { goQuote } from "../golang/quote.ts";
import { CAUSE_LENGTH, truncate } from "../text/truncate.ts";
import { compareVersions, formatVersion } from "../version/version.ts";
import { type Candidate, listEntryNames } from "./candidates.ts";
import { formatCandidateChannels } from "./filterSteps.ts";
import { type FilterResult, isInRange, isReachable, type ResolutionQuery, rejectByCluster } from "./filters.ts";
import type { CatalogPackage, FilteredCatalogs } from "./resolution.ts";
import type { CatalogCandidate } from "./resolutionRecord.ts";
import { findBlockingCatalog, rankCatalogs } from "./resolve.ts";
import { findDestinations, SearchBudget } from "./successors.ts";
import { explainUnavailable } from "./unresolved.ts";
import { formatCandidateVersion, formatGoList } from "./wording.ts";

/** One rule that excludes a candidate. */
export interface Exclusion {
  /** Name of the filter, as in records; otherwise `deprecation`, `catalogPriority`, `catalogTie`, `silentCatalog` or `preference`. */
  readonly rule: string;
  /** Why the rule excludes the candidate, as a clause. */
  readonly text: string;
  /** How to prevent the rule from excluding the candidate, as a clause. */
  readonly remedy: string;
}

/** Default maximum number of comparisons in the search for a sequence of upgrades, see `SearchBudget`. It takes some hundred milliseconds. */
const MAX_COMPARISONS = 1_000_000;
const MAX_DEPRECATION = 200;

/** What the rules need to know about the packages of a resolution. Reads and searches each catalog once, also for several candidates. */
export class ExclusionFacts {
  readonly #filtered: FilteredCatalogs;
  readonly #searched: number;
  readonly #paths = new Map<FilterResult, ReadonlyMap<string, readonly Candidate[]>>();
  readonly #channels = new Map<FilterResult, ReadonlyMap<string, readonly string[]>>();
  readonly #deprecations = new Map<FilterResult, ReadonlyMap<string, string>>();

  /** @param searched maximum number of comparisons in each catalog, see `SearchBudget` */
  constructor(filtered: FilteredCatalogs, searched = MAX_COMPARISONS) {
    this.#filtered = filtered;
    this.#searched = searched;
  }

  /** Returns the bundles between the installed bundle and the candidate; undefined if no sequence of upgrades was found. */
  findPath(result: FilterResult, { bundle }: Candidate): readonly Candidate[] | undefined {
    const known = this.#paths.get(result) ?? this.#search(result);
    this.#paths.set(result, known);
    return known.get(bundle.name);
  }

  /** Returns the names of the channels that contain the candidate, in the order of the catalog. */
  listChannels(result: FilterResult, { bundle }: Candidate): readonly string[] {
    const known = this.#channels.get(result) ?? mapChannels(result);
    this.#channels.set(result, known);
    return known.get(bundle.name) ?? [];
  }

  /** Returns the message of the candidate's own deprecation; undefined if it has none. */
  findDeprecation(result: FilterResult, { bundle }: Candidate): string | undefined {
    const known = this.#deprecations.get(result) ?? mapDeprecations(result);
    this.#deprecations.set(result, known);
    return known.get(bundle.name);
  }

  /** Searches the requested channels first and then all channels of the catalog. */
  #search({ catalog, channels, inChannels, content, all }: FilterResult): ReadonlyMap<string, readonly Candidate[]> {
    const { query } = this.#filtered;
    const ways = new Map<string, readonly Candidate[]>();
    if (!query.installed) return ways;
    const budget = new SearchBudget(this.#searched);
    const maps = [
      { catalog, channels, candidates: inChannels },
      { catalog, channels: content.channels, candidates: all },
    ];
    for (const map of maps.slice(0, query.channels.length === content.channels.length ? 1 : 2)) {
      for (const { candidate, through } of findDestinations([map], query.installed, budget))
        if (!ways.has(candidate.bundle.name)) ways.set(candidate.bundle.name, through);
    }
    return ways;
  }
}

/** Returns the names of channels by the names of the bundles in them. */
function mapChannels({ content }: FilterResult): Map<string, string[]> {
  const byBundle = new Map<string, string[]>();
  for (const channel of content.channels) {
    for (const bundle of listEntryNames([channel])) {
      const known = byBundle.get(bundle) ?? [];
      byBundle.set(bundle, known);
      known.push(channel.name);
    }
  }
  return byBundle;
}

/** Returns the first deprecation message of each deprecated bundle. */
function mapDeprecations({ deprecations }: FilterResult): Map<string, string> {
  const byBundle = new Map<string, string>();
  for (const { reference, message } of deprecations?.entries ?? []) {
    const { schema, name = "" } = reference;
    if (schema === "olm.bundle" && !byBundle.has(name)) byBundle.set(name, message);
  }
  return byBundle;
}

/**
 * Returns every rule that excludes a candidate: all filters that would remove it, including those after the first. If no filter removes it, returns
 * why another candidate is preferred. Empty for the best candidate.
 */
export function findExclusions(
  ranked: CatalogCandidate,
  filtered: FilteredCatalogs,
  facts: ExclusionFacts = new ExclusionFacts(filtered),
): Exclusion[] {
  const filters = findFilterExclusions(ranked, filtered, facts);
  return filters.length > 0 ? filters : findPreferenceExclusions(ranked, filtered, facts);
}

function findFilterExclusions({ result, candidate }: CatalogCandidate, filtered: FilteredCatalogs, facts: ExclusionFacts): Exclusion[] {
  const { query } = filtered;
  return [
    ...findChannelExclusion(result, candidate, query, facts),
    ...findRangeExclusion(candidate, query),
    ...findEdgeExclusion(result, candidate, filtered, facts),
    ...findClusterExclusion(candidate, query),
    ...result.extraFilters.flatMap(({ name, removed, near, remedies }) => {
      const text = removed.get(candidate);
      return text === undefined ? [] : [{ rule: name, text, remedy: remedies?.get(candidate) ?? near.join(", ") }];
    }),
  ];
}

function findChannelExclusion(
  result: FilterResult,
  candidate: Candidate,
  { channels }: ResolutionQuery,
  facts: ExclusionFacts,
): Exclusion[] {
  if (channels.length === 0) return [];
  const own = facts.listChannels(result, candidate);
  if (own.some((name) => channels.includes(name))) return [];
  const there = formatCandidateChannels(own);
  const text = `it is not in spec.source.catalog.channels ${formatGoList(channels)}`;
  const remedy =
    there === "no channel"
      ? "it is in no channel: omit spec.source.catalog.channels"
      : `it is in ${there}: add one of them to spec.source.catalog.channels`;
  return [{ rule: "channels", text, remedy }];
}

function findRangeExclusion(candidate: Candidate, query: ResolutionQuery): Exclusion[] {
  if (isInRange(candidate, query)) return [];
  if (!candidate.version) return [{ rule: "versionRange", text: "it has no valid version", remedy: "no version range matches it" }];
  const text = `spec.source.catalog.version ${goQuote(query.range?.text ?? "")} excludes it`;
  const version = goQuote(formatVersion(candidate.version.version));
  return [{ rule: "versionRange", text, remedy: `change the range, for example to ${version}, or remove the range` }];
}

function findEdgeExclusion(result: FilterResult, candidate: Candidate, filtered: FilteredCatalogs, facts: ExclusionFacts): Exclusion[] {
  const { query } = filtered;
  const { installed, channels } = query;
  if (!installed || isReachable(candidate, query, result.edges)) return [];
  const where = channels.length > 0 ? ` in channels ${formatGoList(channels)}` : "";
  const text = `it has no upgrade edge from ${goQuote(installed.name)}${where}`;
  const selfCertified = "set upgradeConstraintPolicy to SelfCertified to upgrade directly, without an upgrade edge";
  const way = facts.findPath(result, candidate);
  if (!way) return [{ rule: "upgradeEdges", text, remedy: `no sequence of upgrades reaches it; ${selfCertified}` }];
  if (way.length === 0)
    return [
      { rule: "upgradeEdges", text, remedy: `an upgrade edge exists in ${formatCandidateChannels(facts.listChannels(result, candidate))}` },
    ];
  return [
    { rule: "upgradeEdges", text, remedy: `upgrade through ${formatGoList(way.map(formatCandidateVersion))} first; ${selfCertified}` },
  ];
}

function findClusterExclusion(candidate: Candidate, query: ResolutionQuery): Exclusion[] {
  const conflict = rejectByCluster(candidate, query);
  return conflict
    ? [{ rule: "clusterVersion", text: formatClusterVersionConflict(conflict), remedy: "clusterVersionPolicy Warn allows it" }]
    : [];
}

/** Returns why another candidate is preferred to a candidate that passes all filters. */
function findPreferenceExclusions({ result, candidate }: CatalogCandidate, filtered: FilteredCatalogs, facts: ExclusionFacts): Exclusion[] {
  const matching = rankCatalogs(filtered.results);
  const [first] = matching;
  if (!first) return [];
  const blocking = findBlockingCatalog(filtered);
  if (blocking) return [describeUnavailable(blocking)];
  if (candidate.deprecated && !first.best.deprecated)
    return [describeDeprecation(facts.findDeprecation(result, candidate), candidate, first.best)];
  if (result.priority < first.priority) {
    const text = `catalog ${goQuote(first.catalog)} (priority ${first.priority}) offers ${formatCandidateVersion(first.best)} and takes precedence over catalog ${goQuote(result.catalog)} (priority ${result.priority})`;
    return [{ rule: "catalogPriority", text, remedy: selectCatalog(result) }];
  }
  if (result.best && result.best !== candidate) {
    const isSame =
      candidate.version && result.best.version && compareVersions(candidate.version.version, result.best.version.version) === 0;
    const text = `${isSame ? `bundle ${goQuote(result.best.bundle.name)}` : `version ${formatCandidateVersion(result.best)}`} is preferred among the bundles that pass all filters`;
    return [
      {
        rule: "preference",
        text,
        remedy: isSame ? "both have the same version, so a version range cannot select one of them" : pin(candidate),
      },
    ];
  }
  const tied = matching.filter(({ priority, catalog }) => priority === first.priority && catalog !== result.catalog);
  if (tied.length === 0) return [];
  const text = `catalogs ${formatGoList(tied.map(({ catalog }) => catalog))} with the same priority ${result.priority} also offer a bundle, so no bundle is chosen`;
  return [{ rule: "catalogTie", text, remedy: selectCatalog(result) }];
}

function describeUnavailable(catalog: CatalogPackage): Exclusion {
  const reason = truncate(explainUnavailable(catalog), CAUSE_LENGTH);
  const text = `catalog ${goQuote(catalog.name)} is unavailable (${reason}) and may have a better bundle, so no bundle is chosen`;
  return { rule: "silentCatalog", text, remedy: "lower its spec.priority, or exclude it with spec.source.catalog.selector" };
}

function describeDeprecation(message: string | undefined, candidate: Candidate, best: Candidate): Exclusion {
  const why = message ? ` (${truncate(message, MAX_DEPRECATION)})` : "";
  return { rule: "deprecation", text: `it is deprecated${why}, but ${formatCandidateVersion(best)} is not`, remedy: pin(candidate) };
}

function pin({ version }: Candidate): string {
  return version ? `set spec.source.catalog.version to ${goQuote(formatVersion(version.version))}` : "no version range matches it";
}

function selectCatalog({ catalog }: FilterResult): string {
  return `select only catalog ${goQuote(catalog)} with spec.source.catalog.selector, or raise its spec.priority`;
}
