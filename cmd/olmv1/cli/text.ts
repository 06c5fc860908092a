const CUT = "…";

/** Code points: what most terminals show as a column each. */
export function columnsOf(text: string): number {
  return Array.from(text).length;
}

/** Text that takes no more than so many columns; what was cut off shows. */
export function cutTo(text: string, columns: number): string {
  const points = Array.from(text);
  return points.length <= columns ? text : points.slice(0, Math.max(columns - 1, 0)).join("") + CUT;
}

/**
 * Lines of text that take no more than `width` columns, broken at blanks, each with `indent` in front; line ends of the text stay. A word that is
 * longer, such as a name or a command, is not broken.
 */
export function wrapped(text: string, width: number, indent = ""): string[] {
  const room = Math.max(width - columnsOf(indent), 20);
  return text.split("\n").flatMap((line) => {
    const lines: string[] = [];
    let now = "";
    for (const word of line.split(" ")) {
      const longer = now === "" ? word : `${now} ${word}`;
      if (now !== "" && columnsOf(longer) > room) {
        lines.push(indent + now);
        now = word;
      } else now = longer;
    }
    return [...lines, (indent + now).trimEnd()];
  });
}

/** Colours and the clearing of a line, which are ours; line ends; and whatever else a terminal acts on instead of showing it. */
// oxlint-disable-next-line no-control-regex -- the escape character is what this is about
const ACTED_ON = /\u001B\[[\d;]*m|\r?\u001B\[K|\r\n|[^\P{C}\n\t]/gu;

/**
 * `text` as a terminal may be given it: nothing in it moves the cursor, sets a title or fills the clipboard, whoever wrote it. Every text for people
 * is without such characters already; this is for the forms that print what others wrote as it is.
 */
export function escapeControlCharacters(text: string): string {
  return text.replace(ACTED_ON, (found) => {
    if (found.length > 1 && (found.codePointAt(0) ?? 0) < 0x20) return found;
    return Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
  });
}
