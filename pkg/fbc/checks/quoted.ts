import { goQuote } from "../../golang/quote.ts";

/** Longer texts are of no use in a message, and quoting megabytes takes time. */
export const MAX_QUOTED = 1_024;

/** `text` as Go's `%q` prints it, its beginning where it is absurdly long. */
export function quoted(text: string): string {
  return goQuote(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);
}
