/** What the API server takes as the message of a condition, in bytes. */
const MAX_BYTES = 32_768;
const TRUNCATED = "\n\n... [message truncated]";

/**
 * `text`, or its beginning with a note where it was cut between two characters: at most 32768 bytes of UTF-8. Errors tell names and values of
 * bundles and catalogs, which may be of any length and number, and go into conditions, Events and logs.
 */
export function truncateMessage(text: string): string {
  if (text.length * 3 <= MAX_BYTES) return text;
  const bytes = Buffer.from(text.slice(0, MAX_BYTES + 1), "utf8");
  if (bytes.length <= MAX_BYTES) return text;
  let end = MAX_BYTES - TRUNCATED.length;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end) + TRUNCATED;
}

/** Longest name that is told whole: no object's name is longer. */
export const NAME_LENGTH = 253;
/** Longest cause that is told whole. */
export const CAUSE_LENGTH = 1_024;

/** `text` in at most `max` UTF-16 units, the last of them "…" where it was cut. Content of bundles and answers of servers have any length. */
export function truncate(text: string, max: number): string {
  return text.length <= max ? text : excerpt(text, { length: max - 1 });
}

/** The first `length` UTF-16 units of `text`, and "…" where there are more: for quoting in a message what may be of any length. */
export function excerpt(text: string, { length = 200 }: { readonly length?: number } = {}): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}
