import { compareKnownVersions, parseVersionInName, tryParseRange } from "../../fbc/bundleOrder.ts";
import type { Version, VersionRelease } from "../../version/version.ts";
import type { LintedChannel, LintedEntry, LintedPackage } from "./lintedCatalog.ts";

/** Maximum steps of all searches in one channel. The largest real channels have a few hundred entries. */
const MAX_STEPS = 2_000_000;

/** The upgrade paths in one channel, including skip ranges. A search visits each entry once, even if many ranges contain it. */
export class ChannelPaths {
  static readonly #known = new WeakMap<LintedChannel, ChannelPaths>();

  /** Entries by name. The first entry with a name counts. */
  readonly entries: ReadonlyMap<string, LintedEntry>;
  /** Names of entries that no other entry replaces or skips. */
  readonly heads: readonly string[];
  /** Entries in ascending order of version. Entries without a version are first. */
  readonly byVersion: readonly LintedEntry[];
  readonly #bundles: LintedPackage["bundles"];
  readonly #parsed = new Map<string, VersionRelease | undefined>();
  /** The entries of `byVersion` that have a version. */
  readonly #ranged: readonly LintedEntry[];
  readonly #versions: readonly Version[];
  readonly #spans = new Map<string, [from: number, to: number][]>();
  #steps = 0;

  private constructor(channel: LintedChannel, { bundles }: LintedPackage) {
    this.#bundles = bundles;
    const entries = new Map<string, LintedEntry>();
    for (const entry of channel.entries) if (!entries.has(entry.name)) entries.set(entry.name, entry);
    this.entries = entries;
    const all = [...entries.values()];
    const followed = new Set(all.flatMap(({ replaces, skips }) => [replaces, ...skips]));
    this.heads = all.map(({ name }) => name).filter((name) => !followed.has(name));
    this.byVersion = all.toSorted((a, b) => compareKnownVersions(this.parsed(a.name), this.parsed(b.name)));
    this.#ranged = this.byVersion.filter(({ name }) => this.parsed(name));
    this.#versions = this.#ranged.flatMap(({ name }) => this.parsed(name)?.version ?? []);
  }

  /** Returns the paths of a channel. All lints share one instance. */
  static of(channel: LintedChannel, owner: LintedPackage): ChannelPaths {
    const known = ChannelPaths.#known.get(channel) ?? new ChannelPaths(channel, owner);
    ChannelPaths.#known.set(channel, known);
    return known;
  }

  /** Entries that all searches have visited. */
  get steps(): number {
    return this.#steps;
  }

  /** Returns the version of a bundle: the version in the catalog, or else the version at the end of its name. */
  parsed(name: string): VersionRelease | undefined {
    if (this.#parsed.has(name)) return this.#parsed.get(name);
    const parsed = this.#bundles.get(name)?.version?.parsed ?? parseVersionInName(name)?.parsed;
    this.#parsed.set(name, parsed);
    return parsed;
  }

  /** The entry with the highest known version. */
  get newest(): LintedEntry | undefined {
    return this.#ranged.at(-1);
  }

  /**
   * Finds the entries that have an upgrade path to one of `targets`, including the targets. Stops when it has found all `sources`.
   * @returns undefined if the searches in this channel exceed the maximum number of steps.
   */
  leadingTo(targets: readonly string[], sources: Iterable<string>): ReadonlySet<string> | undefined {
    const missing = new Set(sources);
    const found = new Set(targets);
    const unseen = new UnvisitedPositions(this.#ranged.length);
    for (const name of found) {
      if (++this.#steps > MAX_STEPS) return undefined;
      missing.delete(name);
      if (missing.size === 0) break;
      const entry = this.entries.get(name);
      if (!entry) continue;
      for (const source of [entry.replaces, ...entry.skips]) if (this.entries.has(source)) found.add(source);
      for (const [from, to] of this.#spansOf(entry)) for (const at of unseen.take(from, to)) found.add(this.#ranged[at]?.name ?? "");
    }
    return found;
  }

  /** Returns the positions in `#ranged` of entries that the skipRange of `entry` contains. */
  #spansOf({ name, skipRange }: LintedEntry): [from: number, to: number][] {
    if (!skipRange) return [];
    const spans = this.#spans.get(name) ?? tryParseRange(skipRange)?.spans(this.#versions) ?? [];
    this.#spans.set(name, spans);
    return spans;
  }
}

/** The positions that a search has not visited yet. */
class UnvisitedPositions {
  /** Union-find links: each points towards the next unvisited position. */
  readonly #next: Int32Array;

  constructor(count: number) {
    this.#next = Int32Array.from({ length: count + 1 }, (_, at) => at);
  }

  /** Marks as visited, and yields, the unvisited positions from `from` up to, but not including, `to`. */
  *take(from: number, to: number): Generator<number> {
    for (let at = this.#from(from); at < to; at = this.#from(at)) {
      this.#next[at] = at + 1;
      yield at;
    }
  }

  #from(start: number): number {
    let at = start;
    for (let next = this.#at(at); next !== at; next = this.#at(at)) {
      this.#next[at] = this.#at(next); // path halving
      at = next;
    }
    return at;
  }

  #at(position: number): number {
    return this.#next[position] ?? position;
  }
}
