/** What a terminal would act on instead of showing it: names and texts of bundles and servers are somebody else's. */
const UNPRINTABLE = /[^\P{C}\n]|[\u2028\u2029]/gu;

/** `text` with everything but printable characters and line ends written as Unicode escapes. */
export function escapeControlCharacters(text: string): string {
  return text.replace(UNPRINTABLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** `text` as one line of what people read: line ends become blanks, everything else that is not printable is escaped. */
export function oneLine(text: string): string {
  return escapeControlCharacters(text).replaceAll("\n", " ");
}

/** `text` with everything but printable characters escaped, line ends too: one line that tells values apart. */
export function escapeLines(text: string): string {
  return escapeControlCharacters(text).replaceAll("\n", "\\n");
}
