import stringWidth from "string-width";

const CUT = "…";

/** Returns how many columns of a terminal `text` takes: two for a letter of East Asian scripts and for an emoji, none for a combining mark. */
export function columnsOf(text: string): number {
  return stringWidth(text);
}

/** Cuts `text` to at most so many columns, between characters as readers see them; an ellipsis marks the cut. */
export function cutTo(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let kept = "";
  let room = columns - columnsOf(CUT);
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    room -= columnsOf(segment);
    if (room < 0) break;
    kept += segment;
  }
  return kept + CUT;
}

/**
 * Lines of text that take no more than `width` columns, broken at blanks, each with `indent` in front; line ends of the text stay. A word that is
 * longer, such as a name or a command, is not broken.
 */
export function wrapText(text: string, width: number, indent = ""): string[] {
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
