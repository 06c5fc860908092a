/** A piece of a line in one colour. */
interface Span {
  readonly text: string;
  /** CSS class; empty for plain text. */
  readonly style: string;
}

/** A line of the recording, and its time. */
export interface RecordedLine {
  readonly atMs: number;
  readonly spans: readonly Span[];
}

const STYLES: Readonly<Record<string, string>> = { "1": "strong", "2": "faint", "31": "bad", "32": "good", "33": "warning" };

/** Splits the output of a program into lines of spans, wrapped like in a terminal. Drops codes of colors that are not in STYLES. */
export function splitRecordedLines(text: string, atMs: number, columns: number): RecordedLine[] {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.flatMap((line) => wrapSpans(parseSpans(line), columns).map((spans) => ({ atMs, spans })));
}

function wrapSpans(spans: readonly Span[], columns: number): Span[][] {
  const lines: Span[][] = [[]];
  let left = columns;
  for (const { text, style } of spans) {
    for (let rest = Array.from(text); rest.length > 0; ) {
      if (left === 0) {
        lines.push([]);
        left = columns;
      }
      const piece = rest.slice(0, left);
      lines.at(-1)?.push({ text: piece.join(""), style });
      rest = rest.slice(piece.length);
      left -= piece.length;
    }
  }
  return lines;
}

function parseSpans(line: string): Span[] {
  const spans: Span[] = [];
  let style = "";
  // oxlint-disable-next-line no-control-regex -- colours are escape sequences
  for (const piece of line.split(/(\u001B\[\d*m)/)) {
    // oxlint-disable-next-line no-control-regex -- colours are escape sequences
    const code = /^\u001B\[(\d*)m$/.exec(piece)?.[1];
    if (code !== undefined) style = STYLES[code] ?? "";
    else if (piece !== "") spans.push({ text: piece, style });
  }
  return spans;
}
