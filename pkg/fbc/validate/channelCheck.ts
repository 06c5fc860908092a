import { getListMember, getObjectMembers, getOptionalText, getTextMember } from "../../golang/members.ts";
import { quoteExcerpt } from "../boundedTexts.ts";
import type { NameTable } from "../intern.ts";
import type { Meta } from "../types.ts";
import type { FindingLog, FindingSubject } from "./finding.ts";
import { findRangeFault } from "./propertyCheck.ts";
import type { RuleCode } from "./rules.ts";

/** The parts of an entry that are needed to check the whole catalog. */
export interface EntryOutline {
  readonly name: string;
  /** Empty if the entry replaces nothing. */
  readonly replaces: string;
  readonly skips: readonly string[];
  /** The error that opm reports for the skipRange. */
  readonly skipRangeFault: string | undefined;
}

/** The parts of a channel that are needed to check the whole catalog. */
export interface ChannelOutline extends FindingSubject {
  /** By name, in the order of the channel. */
  readonly entries: ReadonlyMap<string, EntryOutline>;
  /** Duplicate names of entries. */
  readonly duplicates: readonly string[];
}

const NOTHING: readonly string[] = [];

/** Checks a single olm.channel object. */
export function checkChannel({ blob }: Meta, subject: FindingSubject, log: FindingLog, names: NameTable): ChannelOutline {
  const entries = new Map<string, EntryOutline>();
  const duplicates = new Set<string>();
  for (const [i, entry] of getObjectMembers(blob, "entries").entries()) {
    const name = names.keep(getTextMember(entry, "name"));
    const replaces = getOptionalText(entry, "replaces");
    const skipRange = getOptionalText(entry, "skipRange");
    if (replaces === "") log.add("entry-replaces-empty", subject, `entries[${i}] (${quoteExcerpt(name)}): replaces must not be empty`);
    if (skipRange === "") log.add("entry-skip-range-empty", subject, `entries[${i}] (${quoteExcerpt(name)}): skipRange must not be empty`);
    const skips = getListMember(entry, "skips").flatMap((skip) =>
      skip === null || typeof skip === "string" ? [names.keep(skip ?? "")] : [],
    );
    if (entries.has(name)) duplicates.add(name);
    else
      entries.set(name, {
        name,
        replaces: names.keep(replaces ?? ""),
        skips: skips.length === 0 ? NOTHING : skips,
        skipRangeFault: skipRangeFault(skipRange),
      });
  }
  return { ...subject, entries, duplicates: duplicates.size === 0 ? NOTHING : [...duplicates] };
}

function skipRangeFault(skipRange: string | undefined): string | undefined {
  if (skipRange === undefined || skipRange === "") return undefined;
  const fault = findRangeFault(skipRange);
  return fault === undefined ? undefined : `invalid skipRange ${quoteExcerpt(skipRange)}: ${fault}`;
}

/** An error in the upgrade graph of a channel. */
export interface GraphFault {
  readonly rule: RuleCode;
  readonly message: string;
}

/**
 * Returns the first error that opm reports for the graph of a non-empty channel; undefined if the graph is valid. Takes linear time.
 * @see operator-registry v1.73.0 alpha/model/model.go, Channel.Head and validateReplacesChain
 */
export function findGraphFault(entries: ReadonlyMap<string, EntryOutline>): GraphFault | undefined {
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
  let next: EntryOutline | undefined = head;
  while (next) {
    chain.add(next.name);
    const { replaces } = next;
    if (skipped.has(replaces)) break; // treated as if the entry replaced nothing
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

function listed(entries: readonly EntryOutline[]): string {
  return entries
    .map(({ name }) => name)
    .sort()
    .join(", ");
}
