/** Maximum size in bytes of a condition's message in the API server. */
const MAX_BYTES = 32_768;
const TRUNCATED = "\n\n... [message truncated]";

/**
 * Truncates `text` between two characters to at most 32768 bytes of UTF-8, including a note. Needed
 * because errors are used in conditions, Events and logs, and contain names and values from bundles
 * and catalogs, whose length and number are not limited.
 */
export function truncateMessage(text: string): string {
  if (text.length * 3 <= MAX_BYTES) return text;
  const bytes = Buffer.from(text.slice(0, MAX_BYTES + 1), "utf8");
  if (bytes.length <= MAX_BYTES) return text;
  let end = MAX_BYTES - TRUNCATED.length;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end) + TRUNCATED;
}

/** Maximum length of a name in a message. No object has a longer name. */
export const NAME_LENGTH = 253;
/** Maximum length of a cause in a message. */
export const CAUSE_LENGTH = 1_024;

/**
 * Returns `text` truncated to at most `max` UTF-16 units; if truncated, the last one is "…". Needed
 * for bundle contents and server responses of any length.
 */
export function truncate(text: string, max: number): string {
  return text.length <= max ? text : truncateExcerpt(text, { length: max - 1 });
}

/**
 * Returns the first `length` UTF-16 units of `text`, followed by "…" if there are more. Use it to
 * quote a text of any length in a message.
 */
export function truncateExcerpt(text: string, { length = 200 }: { readonly length?: number } = {}): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}
