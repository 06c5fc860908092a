import { goQuote } from "../../golang/quote.ts";
import { compareVersions, type Version } from "../../version/version.ts";
import { compileRangeTest } from "../bundleOrder.ts";
import type { ChannelEntry, FbcChannel } from "../types.ts";
import { buildUpdateGraph, GRAPH_LIMITS, type GraphSource, listUpdates } from "./updateGraph.ts";

const ZERO: Version = { major: 0, minor: 0, patch: 0, prerelease: [], build: [] };

/** Thrown if the requested minimum bundle is not in the catalogs. */
export class UnknownMinimumError extends Error {
  override readonly name = "UnknownMinimumError";
}

/**
 * Returns the package of the bundle `minimum` with only the entries at or above its version. Omits channels without such entries. Treats an unknown
 * version as 0.0.0.
 * @throws UnknownMinimumError `unknown minimum edge name: "…"`
 * @see C-21
 */
export function selectAboveMinimum(sources: readonly GraphSource[], minimum: string): GraphSource[] {
  const owner = sources.find(
    ({ channels, versions }) => versions.has(minimum) && channels.some(({ entries }) => entries.some(({ name }) => name === minimum)),
  );
  if (!owner) throw new UnknownMinimumError(`unknown minimum edge name: ${goQuote(minimum)}`);
  const floor = { name: minimum, version: getVersion(owner, minimum) };
  const channels = owner.channels.map((channel) => aboveFloor(channel, owner, floor)).filter(({ entries }) => entries.length > 0);
  return [{ ...owner, channels }];
}

/** The minimum bundle. */
interface Floor {
  readonly name: string;
  readonly version: Version;
}

function getVersion({ versions }: GraphSource, name: string): Version {
  return versions.get(name)?.parsed?.version ?? ZERO;
}

/** Removes entries and references below the minimum version from a channel. Also removes an entry if all its references are removed. */
function aboveFloor(channel: FbcChannel, source: GraphSource, floor: Floor): FbcChannel {
  const isAbove = (name: string): boolean => compareVersions(getVersion(source, name), floor.version) >= 0;
  const entries = channel.entries.flatMap(({ name, replaces, skips = [], skipRange }): ChannelEntry[] => {
    if (name === floor.name) return [{ name }];
    const kept: ChannelEntry = { name };
    if (replaces && isAbove(replaces)) kept.replaces = replaces;
    if (skips.some(isAbove)) kept.skips = skips.filter(isAbove);
    if (skipRange && compileRangeTest(skipRange)({ text: "", parsed: { version: floor.version, release: undefined } }))
      kept.skipRange = skipRange;
    const hasReferences = kept.replaces !== undefined || kept.skips !== undefined || kept.skipRange !== undefined;
    const hadNone = !replaces && skips.length === 0 && !skipRange;
    return hasReferences || (hadNone && isAbove(name)) ? [kept] : [];
  });
  return { ...channel, entries };
}

/**
 * Returns the package reduced to the bundle `name` and the bundles that it can be upgraded to, in each channel. Omits channels without the bundle.
 * @throws GraphTooLargeError
 */
export function selectReachable(source: GraphSource, name: string): GraphSource {
  const graph = buildUpdateGraph(source);
  const channels = source.channels.flatMap((channel) => {
    const drawn = graph.channels.find((one) => one.name === channel.name);
    const edges = drawn ? [...listUpdates(drawn, GRAPH_LIMITS.comparisons)] : [];
    if (!channel.entries.some((entry) => entry.name === name) && !edges.some(({ from }) => from === name)) return [];
    const targets = new Map<string, string[]>();
    for (const { from, to } of edges) {
      const known = targets.get(from);
      if (known) known.push(to);
      else targets.set(from, [to]);
    }
    const kept = new Set([name]);
    for (const one of kept) for (const to of targets.get(one) ?? []) kept.add(to);
    const entries = channel.entries
      .filter((entry) => kept.has(entry.name))
      .map(({ replaces, skips, ...entry }) => ({
        ...entry,
        ...(replaces !== undefined && kept.has(replaces) && entry.name !== name ? { replaces } : {}),
        ...(skips && entry.name !== name ? { skips: skips.filter((skip) => kept.has(skip)) } : {}),
      }))
      .map(({ skipRange, ...entry }) => (skipRange === undefined || entry.name === name ? entry : { ...entry, skipRange }));
    return [{ ...channel, entries }];
  });
  return { ...source, channels };
}
