/** Colours and the clearing of a line, which are ours; line ends; and whatever else a terminal acts on instead of showing it. */
// oxlint-disable-next-line no-control-regex -- the escape character is what this is about
const ACTED_ON = /\u001B\[[\d;]*m|\r?\u001B\[K|\r\n|[^\P{C}\n\t]/gu;

/**
 * `text` as a terminal may be given it: nothing in it moves the cursor, sets a title or fills the clipboard, whoever wrote it. Every text for people
 * is without such characters already; this is for the forms that print what others wrote as it is.
 */
export function escapeForTerminal(text: string): string {
  return text.replace(ACTED_ON, (found) => {
    if (found.length > 1 && (found.codePointAt(0) ?? 0) < 0x20) return found;
    return Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  });
}
