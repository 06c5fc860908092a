import { listMember, memberOf } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import { excerpt, truncate } from "../text/truncate.ts";

// Texts that anybody may have written: what has another kind than expected counts as absent, and what is long is cut.

/** Longest name of a package, channel or bundle that summaries take up; the longest that a cluster could use has 253 characters. */
const MAX_NAME = 512;
/** Longest text for people. Characters. */
export const MAX_TEXT = 1_024;
/** Longest entry of a list of words, such as a keyword. Characters. */
const MAX_WORD = 128;
/** Most entries of a list of words. */
export const MAX_WORDS = 64;

/** The text under `key`, whatever the case of its letters; undefined where there is none, or an empty one. */
export function readBoundedText(object: Readonly<Record<string, unknown>>, key: string, max = MAX_TEXT): string | undefined {
  const value = memberOf(object, key);
  return typeof value === "string" ? truncate(value.trim(), max) || undefined : undefined;
}

/** The texts in the list under `key`, see `collectWords`. */
export function wordsAt(object: Readonly<Record<string, unknown>>, key: string): string[] {
  return collectWords(listMember(object, key));
}

/** The different texts among `values` in their order: trimmed, none empty, at most 64 of at most 128 characters. */
export function collectWords(values: readonly unknown[]): string[] {
  const found = new Set<string>();
  for (const value of values) {
    if (found.size === MAX_WORDS) break;
    const word = typeof value === "string" ? truncate(value.trim(), MAX_WORD) : "";
    if (word !== "") found.add(word);
  }
  return [...found];
}

/** A name that can be told: a text that is neither empty nor longer than 512 characters. */
export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_NAME;
}

/** Longer texts are of no use in a message, and quoting megabytes takes time. */
export const MAX_QUOTED = 1_024;

/** `text` as Go's `%q` prints it, its beginning where it is absurdly long. */
export function quoteExcerpt(text: string): string {
  return goQuote(excerpt(text, { length: MAX_QUOTED }));
}
