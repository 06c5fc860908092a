import type { VersionRelease } from "../../version/version.ts";
import { type BundleVersion, compareKnownVersions, rangeTest, versionInName } from "../graph/bundleVersion.ts";
import type { LintedChannel, LintedEntry, LintedPackage } from "./lintedCatalog.ts";

/** The updates within one channel, ranges included. */
export class ChannelPaths {
  readonly #bundles: LintedPackage["bundles"];
  /** Entries by name; of several the first. */
  readonly entries: ReadonlyMap<string, LintedEntry>;
  /** Names of entries from which each entry can be come to. */
  readonly sources: ReadonlyMap<string, ReadonlySet<string>>;
  /** Entries that no other one replaces or skips. */
  readonly heads: readonly string[];
  /** Entries by rising version, those without one first. */
  readonly byVersion: readonly LintedEntry[];

  constructor(channel: LintedChannel, { bundles }: LintedPackage) {
    this.#bundles = bundles;
    const entries = new Map<string, LintedEntry>();
    for (const entry of channel.entries) if (!entries.has(entry.name)) entries.set(entry.name, entry);
    this.entries = entries;
    const all = [...entries.values()];
    this.sources = new Map(all.map((entry) => [entry.name, this.#sourcesOf(entry, all)]));
    const followed = new Set(all.flatMap(({ replaces, skips }) => [replaces, ...skips]));
    this.heads = all.map(({ name }) => name).filter((name) => !followed.has(name));
    this.byVersion = all.toSorted((a, b) => compareKnownVersions(this.parsed(a.name), this.parsed(b.name)));
  }

  /** What the bundle states, else what its name ends with. */
  parsed(name: string): VersionRelease | undefined {
    return this.#version(name)?.parsed;
  }

  /** The newest entry whose version is known. */
  get newest(): LintedEntry | undefined {
    const last = this.byVersion.at(-1);
    return last && this.parsed(last.name) ? last : undefined;
  }

  /** The entries from which updates lead to `target`, itself included. */
  leadingTo(targets: readonly string[]): ReadonlySet<string> {
    const found = new Set(targets);
    for (const name of found) for (const source of this.sources.get(name) ?? []) found.add(source);
    return found;
  }

  #sourcesOf({ name, replaces, skips, skipRange }: LintedEntry, all: readonly LintedEntry[]): ReadonlySet<string> {
    const holds = skipRange ? rangeTest(skipRange) : () => false;
    const ranged = skipRange ? all.map((entry) => entry.name).filter((other) => holds(this.#version(other))) : [];
    const named = [replaces, ...skips].filter((other) => this.entries.has(other));
    return new Set([...named, ...ranged].filter((other) => other !== name));
  }

  #version(name: string): BundleVersion | undefined {
    const stated = this.#bundles.get(name)?.version;
    return stated?.parsed ? stated : versionInName(name);
  }
}
