import { objectionText } from "../bundle/maxOpenShiftVersion.ts";
import { goQuote } from "../golang/quote.ts";
import { CAUSE_LENGTH, truncate } from "../text/truncate.ts";
import { compareVersionRelease, compareVersions, formatVersion } from "../version/version.ts";
import { type Candidate, entryNames } from "./candidates.ts";
import { silenceReason } from "./explain.ts";
import { channelsWith } from "./filterSteps.ts";
import { edgeTo, type Findings, isInRange, isInstalled, objectionOf, type Query } from "./filters.ts";
import { blockingCatalog, type CatalogContent, type Considered, offersOf } from "./resolution.ts";
import type { Ranked } from "./resolutionRecord.ts";
import { destinationsFrom, SearchBudget } from "./successors.ts";
import { listed, versionOf } from "./wording.ts";

/** One thing for which a candidate is not taken. */
export interface Obstacle {
  /** Name of the filter, as records have it; else `deprecation`, `catalogPriority`, `catalogTie`, `silentCatalog` or `preference`. */
  readonly rule: string;
  /** What the rule says, a clause. */
  readonly text: string;
  /** What would let the candidate through as far as this rule goes, a clause. */
  readonly remedy: string;
}

/** How many channel entries a search for a way of several upgrades looks at, unless told otherwise: some hundred milliseconds. */
const SEARCHED_ENTRIES = 1_000_000;
const MAX_DEPRECATION = 200;

/**
 * Everything for which a candidate is not what resolution takes: each filter that would remove it, whether it came to that or not, and if there
 * is none, what is preferred to it. Empty for the one that is taken.
 * @param searched how many channel entries may be looked at to find a way of several upgrades.
 */
export function obstaclesTo(ranked: Ranked, considered: Considered, searched = SEARCHED_ENTRIES): Obstacle[] {
  const filters = filterObstacles(ranked, considered, searched);
  return filters.length > 0 ? filters : preferenceObstacles(ranked, considered);
}

function filterObstacles({ found, candidate }: Ranked, considered: Considered, searched: number): Obstacle[] {
  const { query } = considered;
  return [
    ...channelObstacle(found, candidate, query),
    ...rangeObstacle(candidate, query),
    ...edgeObstacle(found, candidate, considered, searched),
    ...clusterObstacle(candidate, query),
    ...found.later.flatMap(({ name, removed, near, remedies }) => {
      const text = removed.get(candidate);
      return text === undefined ? [] : [{ rule: name, text, remedy: remedies?.get(candidate) ?? near.join(", ") }];
    }),
  ];
}

function channelObstacle(found: Findings, candidate: Candidate, { channels }: Query): Obstacle[] {
  if (channels.length === 0 || entryNames(found.channels).has(candidate.bundle.name)) return [];
  const there = channelsWith(candidate, found);
  const text = `it is not in spec.source.catalog.channels ${listed(channels)}`;
  const remedy =
    there === "no channel" ? "it is in no channel: leave spec.source.catalog.channels out" : `it is in ${there}: name one of these too`;
  return [{ rule: "channels", text, remedy }];
}

function rangeObstacle(candidate: Candidate, query: Query): Obstacle[] {
  if (isInRange(candidate, query)) return [];
  if (!candidate.version) return [{ rule: "versionRange", text: "it has no version that can be read", remedy: "no range contains it" }];
  const text = `spec.source.catalog.version ${goQuote(query.range?.text ?? "")} does not match it`;
  return [{ rule: "versionRange", text, remedy: pin(candidate) }];
}

function edgeObstacle(found: Findings, candidate: Candidate, considered: Considered, searched: number): Obstacle[] {
  const { query } = considered;
  const { installed, edgesDecide, channels } = query;
  if (!installed || !edgesDecide || edgeTo(candidate, query, found.edges)) return [];
  const of = channels.length > 0 ? ` of channels ${listed(channels)}` : "";
  const text = `no edge${of} leads to it from ${goQuote(installed.name)}`;
  const selfCertified = "upgradeConstraintPolicy SelfCertified goes there directly, against the catalog's advice";
  const way = wayThrough(found, candidate, considered, searched);
  if (!way) return [{ rule: "upgradeEdges", text, remedy: `no way of several upgrades leads there; ${selfCertified}` }];
  if (way.length === 0) return [{ rule: "upgradeEdges", text, remedy: `an edge of ${channelsWith(candidate, found)} does` }];
  return [{ rule: "upgradeEdges", text, remedy: `upgrade through ${listed(way.map(versionOf))} first; ${selfCertified}` }];
}

/** The bundles between what is installed and the candidate, in the catalog's channels that count, or else in all of them. */
function wayThrough(
  { catalog, channels, inChannels, content, all }: Findings,
  { bundle }: Candidate,
  { query: { installed } }: Considered,
  searched: number,
): readonly Candidate[] | undefined {
  if (!installed) return undefined;
  const budget = new SearchBudget(searched);
  const maps = [
    { catalog, channels, candidates: inChannels },
    { catalog, channels: content.channels, candidates: all },
  ];
  for (const map of maps.slice(0, channels.length === content.channels.length ? 1 : 2)) {
    const found = destinationsFrom([map], installed, budget).find(({ candidate }) => candidate.bundle.name === bundle.name);
    if (found) return found.through;
  }
  return undefined;
}

function clusterObstacle(candidate: Candidate, query: Query): Obstacle[] {
  if (!query.clusterDecides || isInstalled(candidate, query)) return [];
  const objection = objectionOf(candidate, query);
  return objection ? [{ rule: "clusterVersion", text: objectionText(objection), remedy: "clusterVersionPolicy Warn takes it" }] : [];
}

/** What comes before a candidate that all filters let through. */
function preferenceObstacles({ found, candidate }: Ranked, considered: Considered): Obstacle[] {
  const offers = offersOf(considered.findings);
  const [first] = offers;
  if (!first) return [];
  const silent = blockingCatalog(considered);
  if (silent) return [silentObstacle(silent)];
  if (candidate.deprecated && !first.best.deprecated) return [deprecationObstacle(found, candidate, first.best)];
  if (found.priority < first.priority) {
    const text = `catalog ${goQuote(first.catalog)} of priority ${first.priority} offers ${versionOf(first.best)}, catalog ${goQuote(found.catalog)} has priority ${found.priority}`;
    return [{ rule: "catalogPriority", text, remedy: selectCatalog(found) }];
  }
  if (found.best && found.best !== candidate) {
    const isSame = candidate.version && found.best.version && compareVersions(candidate.version.version, found.best.version.version) === 0;
    const text = `of what the filters leave, ${isSame ? `bundle ${goQuote(found.best.bundle.name)}` : `version ${versionOf(found.best)}`} is preferred`;
    return [
      { rule: "preference", text, remedy: isSame ? "both have the same version, so that no range tells them apart" : pin(candidate) },
    ];
  }
  const tied = offers.filter(({ priority, catalog }) => priority === first.priority && catalog !== found.catalog);
  if (tied.length === 0) return [];
  const text = `catalogs ${listed(tied.map(({ catalog }) => catalog))} of the same priority ${found.priority} offer a bundle too, so that none is taken`;
  return [{ rule: "catalogTie", text, remedy: selectCatalog(found) }];
}

function silentObstacle(catalog: CatalogContent): Obstacle {
  const because = truncate(silenceReason(catalog), CAUSE_LENGTH);
  const text = `catalog ${goQuote(catalog.name)} may have a better bundle and cannot be asked (${because}), so that none is taken`;
  return { rule: "silentCatalog", text, remedy: "give it a lower spec.priority, or select catalogs without it" };
}

function deprecationObstacle({ deprecations }: Findings, candidate: Candidate, best: Candidate): Obstacle {
  const { name } = candidate.bundle;
  const entry = deprecations?.entries.find(({ reference }) => reference.schema === "olm.bundle" && reference.name === name);
  const why = entry?.message ? ` (${truncate(entry.message, MAX_DEPRECATION)})` : "";
  return { rule: "deprecation", text: `it is deprecated${why}, and ${versionOf(best)} is not`, remedy: pin(candidate) };
}

function pin({ version }: Candidate): string {
  return version ? `spec.source.catalog.version ${goQuote(formatVersion(version.version))} takes it` : "no range contains it";
}

function selectCatalog({ catalog }: Findings): string {
  return `select catalog ${goQuote(catalog)} alone with spec.source.catalog.selector, or raise its spec.priority`;
}

/** Whether a candidate is newer than what is installed. */
export function isNewer({ version }: Candidate, { installed }: Query): boolean {
  return installed !== undefined && version !== undefined && compareVersionRelease(version, installed.parsed) > 0;
}
