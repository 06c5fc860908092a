import { compareKnownVersions, rangeFrom, versionInName } from "../../fbc/bundleOrder.ts";
import type { Version, VersionRelease } from "../../version/version.ts";
import type { LintedChannel, LintedEntry, LintedPackage } from "./lintedCatalog.ts";

/** All searches of one channel may look at so many entries; the largest real channels have some hundred. */
const MAX_STEPS = 2_000_000;

/** The updates within one channel, ranges included. A search looks at each entry once, however many ranges hold it. */
export class ChannelPaths {
  static readonly #known = new WeakMap<LintedChannel, ChannelPaths>();

  /** Entries by name; of several the first. */
  readonly entries: ReadonlyMap<string, LintedEntry>;
  /** Entries that no other one replaces or skips. */
  readonly heads: readonly string[];
  /** Entries by rising version, those without one first. */
  readonly byVersion: readonly LintedEntry[];
  readonly #bundles: LintedPackage["bundles"];
  readonly #parsed = new Map<string, VersionRelease | undefined>();
  /** The last entries of `byVersion`, which have a version. */
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

  /** The paths of a channel, which all lints share. */
  static of(channel: LintedChannel, owner: LintedPackage): ChannelPaths {
    const known = ChannelPaths.#known.get(channel) ?? new ChannelPaths(channel, owner);
    ChannelPaths.#known.set(channel, known);
    return known;
  }

  /** How many entries all searches have looked at. */
  get steps(): number {
    return this.#steps;
  }

  /** What the bundle states, else what its name ends with. */
  parsed(name: string): VersionRelease | undefined {
    if (this.#parsed.has(name)) return this.#parsed.get(name);
    const parsed = this.#bundles.get(name)?.version?.parsed ?? versionInName(name)?.parsed;
    this.#parsed.set(name, parsed);
    return parsed;
  }

  /** The newest entry whose version is known. */
  get newest(): LintedEntry | undefined {
    return this.#ranged.at(-1);
  }

  /**
   * Finds those of `wanted` from which updates lead to one of `targets`; a target leads to itself.
   * @returns undefined when the searches of this channel have looked at more entries than they may.
   */
  leadingTo(targets: readonly string[], wanted: Iterable<string>): ReadonlySet<string> | undefined {
    const missing = new Set(wanted);
    const found = new Set(targets);
    const unseen = new Unseen(this.#ranged.length);
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

  /** Where the entries are that the range of `entry` holds, among those that have a version. */
  #spansOf({ name, skipRange }: LintedEntry): [from: number, to: number][] {
    if (!skipRange) return [];
    const spans = this.#spans.get(name) ?? rangeFrom(skipRange)?.spans(this.#versions) ?? [];
    this.#spans.set(name, spans);
    return spans;
  }
}

/** Positions that have not been taken. */
class Unseen {
  /** For each position one that is not before it, and not after the next one that has not been taken. */
  readonly #next: Int32Array;

  constructor(count: number) {
    this.#next = Int32Array.from({ length: count + 1 }, (_, at) => at);
  }

  /** Takes and yields what is left from `from` to before `to`. */
  *take(from: number, to: number): Generator<number> {
    for (let at = this.#from(from); at < to; at = this.#from(at)) {
      this.#next[at] = at + 1;
      yield at;
    }
  }

  #from(start: number): number {
    let at = start;
    for (let next = this.#at(at); next !== at; next = this.#at(at)) {
      this.#next[at] = this.#at(next); // halves the way for the next search
      at = next;
    }
    return at;
  }

  #at(position: number): number {
    return this.#next[position] ?? position;
  }
}
