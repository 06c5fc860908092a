import { goQuote } from "../golang/quote.ts";
import { formatList } from "../text/lists.ts";
import { formatVersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import type { ResolutionQuery } from "./filters.ts";

const MAX_LISTED = 10;

/** Formats at most ten of `items` like Go's list format `[a b c]`, followed by the number of omitted items. */
export function formatGoList(items: readonly string[]): string {
  return `[${formatList(items, { max: MAX_LISTED, separator: " " })}]`;
}

/** Formats at most ten of `items`, comma-separated, followed by the number of omitted items. */
export function formatEnumeration(items: readonly string[]): string {
  return formatList(items, { max: MAX_LISTED });
}

/** Returns the candidate's version as users write it, or its name if it has none. */
export function formatCandidateVersion({ bundle, version }: Candidate): string {
  return version ? formatVersionRelease(version) : goQuote(bundle.name);
}

/** Formats the limits of the query: ` in channels [a b] matching "1.x"`, in the order of the filters; empty if there are none. */
export function formatQuery({ channels, range }: ResolutionQuery): string {
  return `${channels.length > 0 ? ` in channels ${formatGoList(channels)}` : ""}${range ? ` matching ${goQuote(range.text)}` : ""}`;
}

/** Maximum length of a message about a resolution in a condition, in UTF-16 units. */
export const RESOLUTION_MESSAGE_MAX = 2_000;

/**
 * Truncates `message` for a condition to 2,000 characters, at a character boundary, with a reference to the full text.
 * @param extension name of the ClusterExtension
 */
export function truncateForCondition(message: string, extension: string): string {
  if (message.length <= RESOLUTION_MESSAGE_MAX) return message;
  const note = `... (truncated; full text: olmv1 resolve ${extension} --explain, or /debug/resolution/${extension} of operator-controller)`;
  let end = RESOLUTION_MESSAGE_MAX - note.length;
  if (isHighSurrogate(message.charCodeAt(end - 1))) end -= 1;
  return message.slice(0, end) + note;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
