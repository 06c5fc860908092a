import { getErrorMessage } from "../errors/errors.ts";
import { tryParseRange } from "../fbc/bundleOrder.ts";
import type { ChannelEntry, FbcChannel } from "../fbc/types.ts";
import type { Range } from "../version/blang.ts";
import { formatVersion, parseVersion, parseVersionRelease, type VersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";

/** Name, version and release of an installed bundle. */
export interface BundleMetadata {
  name: string;
  version: string;
  /** Set, possibly empty, if the bundle has a separate `release`. Otherwise the build metadata of `version` is the release. */
  release?: string | undefined;
}

/** Why the installed bundle may be upgraded to a bundle. `channel` is empty for `stay`, the installed bundle itself. */
export interface UpgradeEdge {
  readonly channel: string;
  readonly via: "replaces" | "skips" | "skipRange" | "stay";
}

/** Cache of parsed ranges by their text, for callers that compute the successors of many bundles. Undefined for invalid and too long ranges. */
type ParsedRanges = Map<string, Range | undefined>;

const STRENGTH: Readonly<Record<UpgradeEdge["via"], number>> = { stay: 0, replaces: 1, skips: 2, skipRange: 3 };

/**
 * Returns the version and release of the installed bundle.
 * @throws Error with Go's message if the version or release is invalid
 */
export function parseInstalledVersion({ version, release }: BundleMetadata): VersionRelease {
  try {
    return parseVersionRelease(version, release);
  } catch (err) {
    const doing =
      release === undefined
        ? "failed to get version and release of installed bundle"
        : "failed to parse installed bundle version and release";
    throw new Error(`${doing}: ${getErrorMessage(err)}`, { cause: err });
  }
}

/**
 * Returns the direct successors of `installed` by name, each with its edge: every entry of `channels`, at any position, whose `replaces` or `skips`
 * contains the installed bundle or whose `skipRange` contains its version. If a bundle has several edges, `replaces` takes precedence over `skips`,
 * which takes precedence over `skipRange`, then the first channel by name. Invalid and too long skipRanges are ignored. The installed version must be valid.
 */
export function findSuccessorEdges(
  channels: readonly FbcChannel[],
  installed: BundleMetadata,
  parsed: ParsedRanges = new Map(),
): ReadonlyMap<string, UpgradeEdge> {
  const edges = new Map<string, UpgradeEdge>();
  const version = parseVersion(installed.version);
  const ranges = new Map<string, boolean>();
  const inRange = (text: string): boolean => {
    const known = ranges.get(text);
    if (known !== undefined) return known;
    if (!parsed.has(text)) parsed.set(text, tryParseRange(text));
    const contained = parsed.get(text)?.contains(version) ?? false;
    ranges.set(text, contained);
    return contained;
  };
  for (const { name: channel, entries } of channels) {
    for (const entry of entries) {
      const via = formatVia(entry, installed.name, inRange);
      if (!via) continue;
      const edge = { channel, via };
      const known = edges.get(entry.name);
      if (!known || isStronger(edge, known)) edges.set(entry.name, edge);
    }
  }
  return edges;
}

function formatVia(entry: ChannelEntry, installed: string, inRange: (range: string) => boolean): UpgradeEdge["via"] | undefined {
  if (entry.replaces === installed) return "replaces";
  if (entry.skips?.includes(installed)) return "skips";
  return entry.skipRange && inRange(entry.skipRange) ? "skipRange" : undefined;
}

function isStronger(a: UpgradeEdge, b: UpgradeEdge): boolean {
  return STRENGTH[a.via] - STRENGTH[b.via] < 0 || (a.via === b.via && a.channel < b.channel);
}

/**
 * Returns the entries of `channels`, as channel and name, that list `name` in their `skips`. Only includes channels that have `name` as an entry; in
 * other channels it is only the start of an edge. A skipped bundle can still be chosen.
 */
export function findSkippingEntries(channels: readonly FbcChannel[], name: string): { channel: string; entry: string }[] {
  return channels
    .filter(({ entries }) => entries.some((entry) => entry.name === name))
    .flatMap(({ name: channel, entries }) =>
      entries.filter(({ skips }) => skips?.includes(name)).map((entry) => ({ channel, entry: entry.name })),
    );
}

/** The upgrade graph of a catalog: the bundles that can be chosen, and the channels with the edges. */
export interface UpgradeGraph {
  readonly catalog: string;
  readonly channels: readonly FbcChannel[];
  readonly candidates: readonly Candidate[];
}

/** A bundle that can be reached with one or more upgrades. */
export interface UpgradeTarget {
  readonly catalog: string;
  readonly candidate: Candidate;
  /** The intermediate bundles, in the order of the upgrades; empty for a direct successor. */
  readonly through: readonly Candidate[];
}

/** Maximum number of comparisons with channel entries of searches, which bounds them to some tenths of a second in any catalog. */
const MAX_COMPARISONS = 1_000_000;
/** Minimum length of one comparison in a range, such as `1.x `, in characters. */
const COMPARISON_LENGTH = 4;

/** The remaining effort of several searches, and their shared parsed ranges. */
export class SearchBudget {
  readonly ranges: ParsedRanges = new Map();
  readonly #costs = new Map<UpgradeGraph, number>();
  #comparisons: number;

  /** @param comparisons maximum number of comparisons: one for each channel entry, one for each of its skips, and those of its skipRange */
  constructor(comparisons = MAX_COMPARISONS) {
    this.#comparisons = comparisons;
  }

  /** Reports whether `maps` may be searched once more. */
  spend(maps: readonly UpgradeGraph[]): boolean {
    for (const map of maps) {
      const cost = this.#costs.get(map) ?? countComparisons(map);
      this.#costs.set(map, cost);
      this.#comparisons -= cost;
    }
    return this.#comparisons >= 0;
  }
}

function countComparisons({ channels }: UpgradeGraph): number {
  let count = 0;
  for (const { entries } of channels)
    for (const { skips = [], skipRange = "" } of entries) count += 1 + skips.length + Math.ceil(skipRange.length / COMPARISON_LENGTH);
  return count;
}

/**
 * Finds all bundles that can be reached from `start` with sequences of upgrades along the edges of all `maps`, each with the fewest upgrades, nearest
 * first. A bundle in several maps is reported for the first of them. Bundles without a version are not included. Breadth first; stops when the budget
 * is used up.
 */
export function findDestinations(maps: readonly UpgradeGraph[], start: BundleMetadata, budget: SearchBudget): UpgradeTarget[] {
  const found = new Map<string, UpgradeTarget>();
  const byName = maps.map((map) => new Map(map.candidates.map((candidate) => [candidate.bundle.name, candidate])));
  const from = (bundle: BundleMetadata, through: readonly Candidate[]): void => {
    maps.forEach(({ catalog, channels }, at) => {
      for (const name of findSuccessorEdges(channels, bundle, budget.ranges).keys()) {
        const candidate = byName[at]?.get(name);
        if (candidate?.version && name !== start.name && !found.has(name)) found.set(name, { catalog, candidate, through });
      }
    });
  };
  if (budget.spend(maps)) from(start, []);
  for (const { candidate, through } of found.values()) {
    if (!budget.spend(maps)) break;
    if (candidate.version) from(asInstalled(candidate), [...through, candidate]);
  }
  return [...found.values()];
}

function asInstalled({ bundle, version }: Candidate): BundleMetadata {
  return { name: bundle.name, version: version ? formatVersion(version.version) : "" };
}
