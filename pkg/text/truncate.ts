/** Maximum size in bytes of a condition's message in the API server. */
const MAX_BYTES = 32_768;
const TRUNCATED = "\n\n... [message truncated]";

/**
 * Returns `text`, or its beginning with a note if it is truncated (between two characters): at most
 * 32768 bytes of UTF-8. Errors contain names and values of bundles and catalogs of any length and
 * number, and are used in conditions, Events and logs.
 */
export function truncateMessage(text: string): string {
  if (text.length * 3 <= MAX_BYTES) return text;
  const bytes = Buffer.from(text.slice(0, MAX_BYTES + 1), "utf8");
  if (bytes.length <= MAX_BYTES) return text;
  let end = MAX_BYTES - TRUNCATED.length;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end) + TRUNCATED;
}

/** Maximum length of a name that is not truncated: object names are not longer. */
export const NAME_LENGTH = 253;
/** Maximum length of a cause that is not truncated. */
export const CAUSE_LENGTH = 1_024;

/**
 * Returns `text` with at most `max` UTF-16 units; if truncated, the last one is "…". Content of
 * bundles and responses of servers can have any length.
 */
export function truncate(text: string, max: number): string {
  return text.length <= max ? text : truncateExcerpt(text, { length: max - 1 });
}

/**
 * Returns the first `length` UTF-16 units of `text`, and "…" if there are more, to quote a text of
 * any length in a message.
 */
export function truncateExcerpt(text: string, { length = 200 }: { readonly length?: number } = {}): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}
