import stringWidth from "string-width";

const CUT = "…";

/** Returns the width of `text` in terminal columns: two for an East Asian letter or an emoji, zero for a combining mark. */
export function measureWidth(text: string): number {
  return stringWidth(text);
}

/** Truncates `text` to a number of columns, at a grapheme cluster boundary, and ends it with an ellipsis. */
export function truncateColumns(text: string, columns: number): string {
  if (measureWidth(text) <= columns) return text;
  let kept = "";
  let room = columns - measureWidth(CUT);
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    room -= measureWidth(segment);
    if (room < 0) break;
    kept += segment;
  }
  return kept + CUT;
}

/**
 * Wraps text at spaces to lines of at most `width` columns, each with `indent`. Keeps line ends. Longer words, such as names or commands, are not
 * broken.
 */
export function wrapText(text: string, width: number, indent = ""): string[] {
  const room = Math.max(width - measureWidth(indent), 20);
  return text.split("\n").flatMap((line) => {
    const lines: string[] = [];
    let now = "";
    // The width of `now`. Each word is measured once, because a line without a limit can be a message of 32 KiB.
    let nowWidth = 0;
    for (const word of line.split(" ")) {
      const wordWidth = measureWidth(word);
      const longerWidth = nowWidth + 1 + wordWidth;
      if (now === "" || longerWidth > room) {
        if (now !== "") lines.push(indent + now);
        [now, nowWidth] = [word, wordWidth];
      } else [now, nowWidth] = [`${now} ${word}`, longerWidth];
    }
    return [...lines, (indent + now).trimEnd()];
  });
}
