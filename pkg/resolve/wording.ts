import { goQuote } from "../golang/quote.ts";
import { formatVersionRelease } from "../version/version.ts";
import type { Candidate } from "./candidates.ts";
import type { Query } from "./filters.ts";

const MAX_LISTED = 10;

/** At most ten of `items` as Go prints a list: `[a b c]`; how many more there are stands at the end. */
export function listed(items: readonly string[]): string {
  const more = items.length - MAX_LISTED;
  return more > 0 ? `[${items.slice(0, MAX_LISTED).join(" ")} and ${more} more]` : `[${items.join(" ")}]`;
}

/** At most ten of `items`, with commas; how many more there are stands at the end. */
export function enumerated(items: readonly string[]): string {
  const more = items.length - MAX_LISTED;
  return more > 0 ? `${items.slice(0, MAX_LISTED).join(", ")} and ${more} more` : items.join(", ");
}

/** `1 version`, `3 versions`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The candidate's version as users write it, or its name where it has none. */
export function versionOf({ bundle, version }: Candidate): string {
  return version ? formatVersionRelease(version) : goQuote(bundle.name);
}

/** What the query asks for besides the package: ` in channels [a b] matching "1.x"`, in the order of the filters; empty for anything. */
export function wanted({ channels, range }: Query): string {
  return `${channels.length > 0 ? ` in channels ${listed(channels)}` : ""}${range ? ` matching ${goQuote(range.text)}` : ""}`;
}
