import { AVAILABLE_UPDATES_MAX } from "../api/constants.ts";
import { compareNewestFirst } from "../fbc/bundleOrder.ts";
import { NAME_LENGTH, truncate } from "../text/truncate.ts";
import { compareVersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import { edgeTo } from "./filters.ts";
import { isNewer, obstaclesTo } from "./obstacles.ts";
import { blockingCatalog, type Considered, offersOf } from "./resolution.ts";
import { type Ranked, recordedBundle } from "./resolutionRecord.ts";

/** A version that may follow what is installed. */
export interface AvailableUpdate {
  readonly version: string;
  readonly bundle: string;
  readonly catalog: string;
  /** Such as `replaces`; absent where upgradeConstraintPolicy SelfCertified goes where no edge leads. */
  readonly edge?: "replaces" | "skips" | "skipRange";
  /** The channel of the edge. */
  readonly channel?: string;
  readonly deprecated: boolean;
}

/** The newest version that may not. */
export interface BlockedUpdate {
  readonly version: string;
  readonly bundle: string;
  readonly catalog: string;
  /** Name of the first rule against it with a capital letter, such as `UpgradeEdges`. */
  readonly reason: string;
  /** Each rule against it, and what would let it through; at most 1,024 characters. */
  readonly message: string;
}

/** What an installed extension can be upgraded to next. */
export interface AvailableUpdates {
  /** Highest version first, at most ten. */
  readonly updates: readonly AvailableUpdate[];
  /** Where it is newer than all of those. */
  readonly blocked?: BlockedUpdate;
}

const MAX_MESSAGE = 1_024;
/** A pass over an extension looks no further for a way of several upgrades: less than a millisecond. */
const SEARCHED_ENTRIES = 2_000;

/**
 * The newer versions that resolution may take next, from the catalogs whose priority counts, and the newest one that it may not take.
 * Undefined where nothing is installed, its version cannot be read, or a catalog that cannot be asked may have something better.
 */
export function availableUpdates(considered: Considered): AvailableUpdates | undefined {
  const { query, findings, selected } = considered;
  if (!query.installed || selected.length === 0) return undefined;
  const [first] = offersOf(findings);
  if (blockingCatalog(considered)) return undefined;
  const legal: Ranked[] = [];
  let newest: Ranked | undefined;
  for (const found of findings) {
    const counts = found.priority === first?.priority;
    const allowed = new Set(counts ? found.allowed : []);
    for (const candidate of found.all) {
      if (!isNewer(candidate, query)) continue;
      if (allowed.has(candidate)) legal.push({ found, candidate });
      else if (!newest || compareNewestFirst(candidate, newest.candidate) < 0) newest = { found, candidate };
    }
  }
  legal.sort((a, b) => compareNewestFirst(a.candidate, b.candidate) || (a.found.catalog < b.found.catalog ? -1 : 1));
  const highest = legal[0]?.candidate;
  const blocked = newest && (!highest || isHigher(newest.candidate, highest)) ? blockedUpdate(newest, considered) : undefined;
  return {
    updates: legal.slice(0, AVAILABLE_UPDATES_MAX).map((ranked) => updateFrom(ranked, considered)),
    ...(blocked ? { blocked } : {}),
  };
}

function isHigher({ version: a }: Candidate, { version: b }: Candidate): boolean {
  return a !== undefined && b !== undefined && compareVersionRelease(a, b) > 0;
}

function updateFrom(ranked: Ranked, { query }: Considered): AvailableUpdate {
  const { bundle, version = "", catalog, deprecated } = recordedBundle(ranked);
  const edge = edgeTo(ranked.candidate, query, ranked.found.edges);
  const by = edge && edge.via !== "stay" ? { edge: edge.via, channel: truncate(edge.channel, NAME_LENGTH).toWellFormed() } : {};
  return { version, bundle, catalog, ...by, deprecated };
}

function blockedUpdate(ranked: Ranked, considered: Considered): BlockedUpdate | undefined {
  const obstacles = obstaclesTo(ranked, considered, SEARCHED_ENTRIES);
  const [first] = obstacles;
  if (!first) return undefined;
  const { bundle, version = "", catalog } = recordedBundle(ranked);
  const message = truncate(
    obstacles.map(({ text, remedy }) => (remedy === "" ? text : `${text}: ${remedy}`)).join("; "),
    MAX_MESSAGE - 3,
  ).toWellFormed();
  return { version, bundle, catalog, reason: `${first.rule.charAt(0).toUpperCase()}${first.rule.slice(1)}`, message };
}
