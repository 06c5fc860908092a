import type { EntryFacts } from "./channelCheck.ts";
import type { RuleCode } from "./rules.ts";

/** What is wrong with the upgrade graph of a channel. */
export interface GraphFault {
  readonly rule: RuleCode;
  readonly message: string;
}

/**
 * What opm has against the graph of a channel that has entries, the first thing it finds; undefined for a sound one. Takes time in proportion to
 * the entries and what they skip.
 * @see operator-registry alpha/model/model.go, Channel.Head and validateReplacesChain
 */
export function channelGraphFault(entries: ReadonlyMap<string, EntryFacts>): GraphFault | undefined {
  const skipped = new Set<string>();
  const followed = new Set<string>();
  for (const { replaces, skips } of entries.values()) {
    if (replaces !== "") followed.add(replaces);
    for (const skip of skips) skipped.add(skip);
  }
  const heads = [...entries.values()].filter(({ name }) => !followed.has(name) && !skipped.has(name));
  const [head] = heads;
  if (head === undefined) return { rule: "channel-head-missing", message: "no channel head found in graph" };
  if (heads.length > 1) return { rule: "channel-heads", message: `multiple channel heads found in graph: ${listed(heads)}` };
  const chain = new Set<string>();
  let next: EntryFacts | undefined = head;
  while (next) {
    chain.add(next.name);
    const { replaces } = next;
    if (skipped.has(replaces)) break; // as if it replaced nothing
    if (chain.has(replaces)) return { rule: "replaces-cycle", message: cycleText([...chain], replaces) };
    next = entries.get(replaces);
  }
  const stranded = [...entries.values()].filter(({ name }) => !chain.has(name) && !skipped.has(name));
  if (stranded.length === 0) return undefined;
  return { rule: "stranded-bundles", message: `channel contains one or more stranded bundles: ${listed(stranded)}` };
}

function cycleText(chain: readonly string[], back: string): string {
  return `detected cycle in replaces chain of upgrade graph: ${[...chain.slice(chain.indexOf(back)), back].join(" -> ")}`;
}

function listed(entries: readonly EntryFacts[]): string {
  return entries
    .map(({ name }) => name)
    .sort()
    .join(", ");
}
