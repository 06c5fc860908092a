import { findMember, getListMember } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { truncate, truncateExcerpt } from "../text/truncate.ts";

// Catalog texts are untrusted: values of the wrong type are treated as absent, and long texts are truncated.

/** Maximum length of package, channel and bundle names in summaries, in characters. Names in a cluster have at most 253 characters. */
const MAX_NAME = 512;
/** Maximum length of a text in characters. */
export const MAX_TEXT = 1_024;
/** Maximum length of a word, such as a keyword, in characters. */
const MAX_WORD = 128;
/** Maximum words in a list. */
export const MAX_WORDS = 64;

/** Reads the text of a case-insensitive key, truncated; undefined if it is missing or empty. */
export function readBoundedText(object: Readonly<Record<string, unknown>>, key: string, max = MAX_TEXT): string | undefined {
  const value = findMember(object, key);
  return typeof value === "string" ? truncate(value.trim(), max) || undefined : undefined;
}

/** Reads the list of texts at a key. See `collectWords`. */
export function readWords(object: Readonly<Record<string, unknown>>, key: string): string[] {
  return collectWords(getListMember(object, key));
}

/** Returns the distinct, trimmed, non-empty texts in `values`, in order: at most 64, each of at most 128 characters. */
export function collectWords(values: readonly unknown[]): string[] {
  const found = new Set<string>();
  for (const value of values) {
    if (found.size === MAX_WORDS) break;
    const word = typeof value === "string" ? truncate(value.trim(), MAX_WORD) : "";
    if (word !== "") found.add(word);
  }
  return [...found];
}

/** Reports whether a value is a usable name: a text of 1 to 512 characters. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME;
}

/** Maximum length of a quoted text in a message, in characters. Quoting megabytes takes too long. */
export const MAX_QUOTED = 1_024;

/** Quotes a text like Go's `%q` and truncates it to MAX_QUOTED characters. */
export function quoteExcerpt(text: string): string {
  return goQuote(truncateExcerpt(text, { length: MAX_QUOTED }));
}
