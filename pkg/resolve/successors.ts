import { messageOf } from "../errors/errors.ts";
import type { ChannelEntry, FbcChannel } from "../fbc/types.ts";
import { parseRange, type Range } from "../version/blang.ts";
import { parseVersion, parseVersionRelease, type VersionRelease } from "../version/version.ts";

/** The bundle that an upgrade starts from. */
export interface InstalledBundle {
  name: string;
  version: string;
  /** Given, even empty, where the bundle stated its release itself; else build metadata of `version` counts as release. */
  release?: string | undefined;
}

/** Why a bundle may follow the installed one. `channel` is empty for `stay`, the installed bundle itself. */
export interface Edge {
  readonly channel: string;
  readonly via: "replaces" | "skips" | "skipRange" | "stay";
}

/** Ranges by their text, for callers that ask for the successors of many bundles; undefined stands for what is no range. */
export type ParsedRanges = Map<string, Range | undefined>;

const STRENGTH: Readonly<Record<Edge["via"], number>> = { stay: 0, replaces: 1, skips: 2, skipRange: 3 };

/**
 * The version and release of what is installed.
 * @throws Error in Go's words when they cannot be read.
 */
export function installedVersion({ version, release }: InstalledBundle): VersionRelease {
  try {
    return parseVersionRelease(version, release);
  } catch (err) {
    const doing =
      release === undefined
        ? "failed to get version and release of installed bundle"
        : "failed to parse installed bundle version and release";
    throw new Error(`${doing}: ${messageOf(err)}`, { cause: err });
  }
}

/**
 * The direct successors of `installed` by name, each with its edge: every entry of any of `channels` counts, wherever in the
 * channel it stands, whose `replaces` or `skips` names the installed bundle or whose `skipRange` holds its version.
 * Of several edges to one bundle replaces comes before skips before skipRange, then the channel's name decides.
 * A skipRange that is no range is passed over. The installed version must be readable.
 */
export function successorEdges(
  channels: readonly FbcChannel[],
  installed: InstalledBundle,
  parsed: ParsedRanges = new Map(),
): ReadonlyMap<string, Edge> {
  const edges = new Map<string, Edge>();
  const version = parseVersion(installed.version);
  const ranges = new Map<string, boolean>();
  const inRange = (text: string): boolean => {
    const known = ranges.get(text);
    if (known !== undefined) return known;
    if (!parsed.has(text)) parsed.set(text, rangeOrNone(text));
    const contained = parsed.get(text)?.contains(version) ?? false;
    ranges.set(text, contained);
    return contained;
  };
  for (const { name: channel, entries } of channels) {
    for (const entry of entries) {
      const via = viaOf(entry, installed.name, inRange);
      if (!via) continue;
      const edge = { channel, via };
      const known = edges.get(entry.name);
      if (!known || isStronger(edge, known)) edges.set(entry.name, edge);
    }
  }
  return edges;
}

function viaOf(entry: ChannelEntry, installed: string, inRange: (range: string) => boolean): Edge["via"] | undefined {
  if (entry.replaces === installed) return "replaces";
  if (entry.skips?.includes(installed)) return "skips";
  return entry.skipRange && inRange(entry.skipRange) ? "skipRange" : undefined;
}

function isStronger(a: Edge, b: Edge): boolean {
  return STRENGTH[a.via] - STRENGTH[b.via] < 0 || (a.via === b.via && a.channel < b.channel);
}

function rangeOrNone(text: string): Range | undefined {
  try {
    return parseRange(text);
  } catch {
    return undefined;
  }
}

/**
 * The entries of `channels`, as channel and name, that list `name` in their `skips`, of those channels that have `name` as an entry: in another
 * one it is only where an edge comes from. A skipped bundle remains a legal target.
 */
export function skippedBy(channels: readonly FbcChannel[], name: string): { channel: string; entry: string }[] {
  return channels
    .filter(({ entries }) => entries.some((entry) => entry.name === name))
    .flatMap(({ name: channel, entries }) =>
      entries.filter(({ skips }) => skips?.includes(name)).map((entry) => ({ channel, entry: entry.name })),
    );
}
