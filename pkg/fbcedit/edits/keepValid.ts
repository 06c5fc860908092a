import { channelGraphFault } from "../../fbc/checks/channelGraph.ts";
import { channelHeads } from "../../fbc/summary/channelHeads.ts";
import { compareByVersion, headOf, type Versions } from "../channelOrder.ts";
import { type EditedEntry, withEdges } from "../entry.ts";

/**
 * What is left of a channel when only some of its entries stay, as a valid graph: who replaced one that went replaces the next older one that
 * stays and skips those between; whatever then has no way on is skipped by the head. So every bundle that is installed still has its update.
 */
export function keptEntries(entries: readonly EditedEntry[], isKept: (name: string) => boolean, versions: Versions): EditedEntry[] {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const kept = entries.filter(({ name }) => isKept(name)).map((entry) => bridged(entry, byName, isKept));
  const head = headOf(kept, versions);
  if (head === undefined) return kept;
  const heads = channelHeads(kept).filter((name) => name !== head && compareByVersion(name, head, versions) <= 0);
  const single = skippedBy(kept, head, heads);
  const whole = skippedBy(single, head, strandedIn(single));
  const followed = followedBy(whole);
  const hadUpdate = followedBy(entries);
  const lost = entries.filter(({ name }) => !isKept(name) && hadUpdate.has(name) && !followed.has(name)).map(({ name }) => name);
  return skippedBy(
    whole,
    head,
    lost.filter((name) => compareByVersion(name, head, versions) < 0),
  );
}

function bridged(entry: EditedEntry, byName: ReadonlyMap<string, EditedEntry>, isKept: (name: string) => boolean): EditedEntry {
  const passed: string[] = [];
  let replaces = entry.replaces;
  while (replaces !== undefined && !isKept(replaces) && !passed.includes(replaces)) {
    const gone = byName.get(replaces);
    if (!gone) break;
    passed.push(replaces, ...gone.skips.filter((name) => !passed.includes(name)));
    replaces = gone.replaces;
  }
  if (passed.length === 0) return entry;
  const skips = [...new Set([...entry.skips, ...passed])].filter((name) => name !== entry.name && name !== replaces);
  return withEdges(entry, { replaces: replaces !== undefined && passed.includes(replaces) ? undefined : replaces, skips });
}

/** The names that entries replace or skip. */
function followedBy(entries: readonly EditedEntry[]): ReadonlySet<string> {
  return new Set(entries.flatMap(({ replaces = "", skips }) => [replaces, ...skips]));
}

function skippedBy(entries: readonly EditedEntry[], head: string, names: readonly string[]): EditedEntry[] {
  return entries.map((entry) =>
    entry.name === head && names.length > 0 ? withEdges(entry, { skips: [...entry.skips, ...names] }) : entry,
  );
}

function strandedIn(entries: readonly EditedEntry[]): string[] {
  const facts = entries.map(({ name, replaces = "", skips }) => ({ name, replaces, skips, skipRangeFault: undefined }));
  const graph = new Map(facts.map((entry) => [entry.name, entry]));
  if (channelGraphFault(graph)?.rule !== "stranded-bundles") return [];
  const skipped = new Set(facts.flatMap(({ skips }) => skips));
  const chain = new Set<string>();
  const [head] = channelHeads(entries);
  for (let next = head; next !== undefined && !chain.has(next); ) {
    chain.add(next);
    const replaces = graph.get(next)?.replaces ?? "";
    next = graph.has(replaces) && !skipped.has(replaces) ? replaces : undefined;
  }
  return facts.map(({ name }) => name).filter((name) => !chain.has(name) && !skipped.has(name));
}
