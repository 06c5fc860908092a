import { GRAPH_LIMITS, type GraphSource, updateGraph, updatesOf } from "./updateGraph.ts";

/**
 * The package with only the bundle `name` and what updates lead to from it, channel by channel; channels that do not have it are left out.
 * @throws GraphTooLargeError
 */
export function onwardsFrom(source: GraphSource, name: string): GraphSource {
  const graph = updateGraph(source);
  const channels = source.channels.flatMap((channel) => {
    const drawn = graph.channels.find((one) => one.name === channel.name);
    const edges = drawn ? [...updatesOf(drawn, GRAPH_LIMITS.comparisons)] : [];
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
