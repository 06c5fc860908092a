import type { FbcChannel } from "../fbc/types.ts";
import { formatVersion } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import { type InstalledBundle, type ParsedRanges, successorEdges } from "./successors.ts";

/** One catalog as upgrades may use it: the bundles that may be moved to, and the channels whose edges count. */
export interface UpgradeMap {
  readonly catalog: string;
  readonly channels: readonly FbcChannel[];
  readonly candidates: readonly Candidate[];
}

/** A bundle that upgrades can lead to. */
export interface Destination {
  readonly catalog: string;
  readonly candidate: Candidate;
  /** The bundles in between, in the order of the upgrades; none for a direct successor. */
  readonly through: readonly Candidate[];
}

/** How many channel entries searches may look at in all, some tenths of a second; whatever a catalog holds, a search ends. */
const MAX_ENTRIES = 1_000_000;

/** How much searching is left, shared by several searches, and the ranges that they have in common. */
export class SearchBudget {
  readonly ranges: ParsedRanges = new Map();
  #entries: number;

  /** @param entries how many channel entries may be looked at in all. */
  constructor(entries = MAX_ENTRIES) {
    this.#entries = entries;
  }

  /** Whether `maps` may be looked through once more. */
  spend(maps: readonly UpgradeMap[]): boolean {
    for (const { channels } of maps) for (const { entries } of channels) this.#entries -= entries.length;
    return this.#entries >= 0;
  }
}

/**
 * Everything that upgrades from `start` along the edges of any of `maps` lead to, each bundle by the fewest upgrades, nearest first; of a bundle
 * in several maps the one that comes first in `maps`. Bundles without a version are no destination. Breadth first; it ends when the budget does.
 */
export function destinationsFrom(maps: readonly UpgradeMap[], start: InstalledBundle, budget: SearchBudget): Destination[] {
  const found = new Map<string, Destination>();
  const byName = maps.map((map) => new Map(map.candidates.map((candidate) => [candidate.bundle.name, candidate])));
  const from = (bundle: InstalledBundle, through: readonly Candidate[]): void => {
    maps.forEach(({ catalog, channels }, at) => {
      for (const name of successorEdges(channels, bundle, budget.ranges).keys()) {
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

function asInstalled({ bundle, version }: Candidate): InstalledBundle {
  return { name: bundle.name, version: version ? formatVersion(version.version) : "" };
}
