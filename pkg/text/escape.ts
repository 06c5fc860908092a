/** Characters that a terminal would interpret. Escaped, because names and texts from bundles and servers are untrusted. */
const UNPRINTABLE = /[^\P{C}\n]|[\u2028\u2029]/gu;

/**
 * Returns `text` with everything except printable characters and line ends written as Unicode
 * escapes.
 */
export function escapeControlCharacters(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/**
 * Returns `text` as one readable line: line ends become spaces, other unprintable characters are
 * escaped.
 */
export function toOneLine(text: string): string {
  return escapeControlCharacters(text).replaceAll("\n", " ");
}

/**
 * Returns `text` as one line with everything except printable characters escaped, including line
 * ends. Different texts stay different.
 */
export function escapeLines(text: string): string {
  return escapeControlCharacters(text).replaceAll("\n", "\\n");
}

/** Escapes text for XML and HTML, also in attributes with double quotes. Replaces characters that XML does not allow with U+FFFD. */
export function escapeMarkup(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
