import type { BlockedUpdate } from "../api/clusterExtensionStatus.ts";
import { AVAILABLE_UPDATES_MAX } from "../api/constants.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { compareText } from "../text/compare.ts";
import { NAME_LENGTH, truncate } from "../text/truncate.ts";
import { compareVersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import { ExclusionFacts, findExclusions } from "./exclusions.ts";
import { findEdge, isNewerThanInstalled } from "./filters.ts";
import type { FilteredCatalogs } from "./resolution.ts";
import { type CatalogCandidate, recordBundle } from "./resolutionRecord.ts";
import { findBlockingCatalog, rankCatalogs } from "./resolve.ts";

/** A version that the installed bundle can be upgraded to in one step. */
export interface AvailableUpdate {
  readonly version: string;
  readonly bundle: string;
  readonly catalog: string;
  /** Such as `replaces`; undefined if upgradeConstraintPolicy SelfCertified allows the upgrade without an edge. */
  readonly edge?: "replaces" | "skips" | "skipRange";
  /** The channel of the edge. */
  readonly channel?: string;
  readonly deprecated: boolean;
}

/** The versions that an installed extension can be upgraded to in one step. */
export interface NextUpdates {
  /** Highest version first, at most ten. */
  readonly updates: readonly AvailableUpdate[];
  /** The newest excluded version, if it is higher than all updates. */
  readonly blocked?: BlockedUpdate;
}

const MAX_MESSAGE = 1_024;
/** Limits the search for a sequence of upgrades in a reconcile to less than a millisecond, see `SearchBudget`. */
const MAX_COMPARISONS = 10_000;

/**
 * Lists the newer versions that resolution can choose next, from the catalogs with the highest priority, and the newest version that it cannot
 * choose. Undefined if nothing is installed, the installed version is invalid, or an unavailable catalog may have a better bundle.
 */
export function findAvailableUpdates(filtered: FilteredCatalogs): NextUpdates | undefined {
  const { query, results, catalogs } = filtered;
  if (!query.installed || catalogs.length === 0) return undefined;
  const [first] = rankCatalogs(results);
  if (findBlockingCatalog(filtered)) return undefined;
  const legal: CatalogCandidate[] = [];
  let newest: CatalogCandidate | undefined;
  for (const result of results) {
    const counts = result.priority === first?.priority;
    const allowed = new Set(counts ? result.allowed : []);
    for (const candidate of result.all) {
      if (!isNewerThanInstalled(candidate, query)) continue;
      if (allowed.has(candidate)) legal.push({ result, candidate });
      else if (!newest || compareNewestFirst(candidate, newest.candidate) < 0) newest = { result, candidate };
    }
  }
  legal.sort((a, b) => compareNewestFirst(a.candidate, b.candidate) || compareText(a.result.catalog, b.result.catalog));
  const highest = legal[0]?.candidate;
  const blocked = newest && (!highest || isHigher(newest.candidate, highest)) ? describeBlockedUpdate(newest, filtered) : undefined;
  return {
    updates: legal.slice(0, AVAILABLE_UPDATES_MAX).map((ranked) => toUpdate(ranked, filtered)),
    ...(blocked ? { blocked } : {}),
  };
}

function isHigher({ version: a }: Candidate, { version: b }: Candidate): boolean {
  return a !== undefined && b !== undefined && compareVersionRelease(a, b) > 0;
}

function toUpdate(ranked: CatalogCandidate, { query }: FilteredCatalogs): AvailableUpdate {
  const { bundle, version = "", catalog, deprecated } = recordBundle(ranked);
  const edge = findEdge(ranked.candidate, query, ranked.result.edges);
  const by = edge && edge.via !== "stay" ? { edge: edge.via, channel: truncate(edge.channel, NAME_LENGTH).toWellFormed() } : {};
  return { version, bundle, catalog, ...by, deprecated };
}

function describeBlockedUpdate(ranked: CatalogCandidate, filtered: FilteredCatalogs): BlockedUpdate | undefined {
  const exclusions = findExclusions(ranked, filtered, new ExclusionFacts(filtered, MAX_COMPARISONS));
  const [first] = exclusions;
  if (!first) return undefined;
  const { bundle, version = "", catalog } = recordBundle(ranked);
  const message = truncate(
    exclusions.map(({ text, remedy }) => (remedy === "" ? text : `${text}: ${remedy}`)).join("; "),
    MAX_MESSAGE - 3,
  ).toWellFormed();
  return { version, bundle, catalog, reason: `${first.rule.charAt(0).toUpperCase()}${first.rule.slice(1)}`, message };
}
