import { goQuote } from "../golang/quote.ts";
import { formatList } from "../text/lists.ts";
import { formatVersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import type { ResolutionQuery } from "./filters.ts";

const MAX_LISTED = 10;

/** At most ten of `items` as Go prints a list: `[a b c]`; how many more there are stands at the end. */
export function formatGoList(items: readonly string[]): string {
  return `[${formatList(items, { max: MAX_LISTED, separator: " " })}]`;
}

/** At most ten of `items`, with commas; how many more there are stands at the end. */
export function formatEnumeration(items: readonly string[]): string {
  return formatList(items, { max: MAX_LISTED });
}

/** The candidate's version as users write it, or its name where it has none. */
export function formatCandidateVersion({ bundle, version }: Candidate): string {
  return version ? formatVersionRelease(version) : goQuote(bundle.name);
}

/** What the query asks for besides the package: ` in channels [a b] matching "1.x"`, in the order of the filters; empty for anything. */
export function formatQuery({ channels, range }: ResolutionQuery): string {
  return `${channels.length > 0 ? ` in channels ${formatGoList(channels)}` : ""}${range ? ` matching ${goQuote(range.text)}` : ""}`;
}

/** Longest message about a resolution, in UTF-16 units, and so in characters: one that people read in a condition. */
export const RESOLUTION_MESSAGE_MAX = 2_000;

/**
 * `message` as a condition has it: at most 2,000 characters, cut between characters, with a note where all of it is told.
 * @param extension name of the ClusterExtension that it is about.
 */
export function conditionText(message: string, extension: string): string {
  if (message.length <= RESOLUTION_MESSAGE_MAX) return message;
  const note = `... (cut; all of it: olmv1 resolve ${extension} --explain, or /debug/resolution/${extension} of operator-controller)`;
  let end = RESOLUTION_MESSAGE_MAX - note.length;
  if (isHighSurrogate(message.charCodeAt(end - 1))) end -= 1;
  return message.slice(0, end) + note;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
