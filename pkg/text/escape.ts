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
