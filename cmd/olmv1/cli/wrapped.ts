import { columnsOf } from "./columns.ts";

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
