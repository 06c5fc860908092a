import { givenText, listMember, objectMembers, textMember } from "../members.ts";
import type { Meta } from "../types.ts";
import type { Subject } from "./finding.ts";
import type { FindingLog } from "./findingLog.ts";
import type { NameTable } from "./nameTable.ts";
import { rangeFaultOf } from "./propertyCheck.ts";
import { quoted } from "./quoted.ts";

/** What is kept of an entry until the whole catalog is known. */
export interface EntryFacts {
  readonly name: string;
  /** Empty where it replaces nothing. */
  readonly replaces: string;
  readonly skips: readonly string[];
  /** What opm has against its skipRange. */
  readonly skipRangeFault: string | undefined;
}

/** What is kept of a channel until the whole catalog is known. */
export interface ChannelFacts extends Subject {
  /** By name, in the channel's order. */
  readonly entries: ReadonlyMap<string, EntryFacts>;
  /** Names that more than one entry has. */
  readonly duplicates: readonly string[];
}

const NOTHING: readonly string[] = [];

/** Checks a channel for itself. */
export function checkChannel({ blob }: Meta, subject: Subject, log: FindingLog, names: NameTable): ChannelFacts {
  const entries = new Map<string, EntryFacts>();
  const duplicates = new Set<string>();
  for (const [i, entry] of objectMembers(blob, "entries").entries()) {
    const name = names.keep(textMember(entry, "name"));
    const replaces = givenText(entry, "replaces");
    const skipRange = givenText(entry, "skipRange");
    if (replaces === "") log.add("entry-replaces-empty", subject, `entries[${i}] (${quoted(name)}): replaces must not be empty`);
    if (skipRange === "") log.add("entry-skip-range-empty", subject, `entries[${i}] (${quoted(name)}): skipRange must not be empty`);
    const skips = listMember(entry, "skips").flatMap((skip) => (skip === null || typeof skip === "string" ? [names.keep(skip ?? "")] : []));
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
  const fault = rangeFaultOf(skipRange);
  return fault === undefined ? undefined : `invalid skipRange ${quoted(skipRange)}: ${fault}`;
}
