/** A part of a Markdown text: prose, or a table whose cells are inline Markdown. */
export type MarkdownPart = { readonly text: string } | { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

const ROW = /^\s{0,3}\|.*\|\s*$/;
const RULE = /^\s{0,3}\|(\s*:?-+:?\s*\|)+\s*$/;
const FENCE = /^\s{0,3}(```|~~~)/;
/** Tables with more columns are prose. */
const MAX_COLUMNS = 20;

/**
 * Splits the tables off a Markdown text, because CommonMark has none. A table is a row between `|`, a rule of `-`, and more rows.
 * @see https://github.github.com/gfm/#tables-extension-
 */
export function splitTables(text: string): MarkdownPart[] {
  const lines = text.split(/\r?\n/);
  const parts: MarkdownPart[] = [];
  let prose: string[] = [];
  let fence: string | undefined;
  const endProse = (): void => {
    if (prose.some((line) => line.trim() !== "")) parts.push({ text: prose.join("\n") });
    prose = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && (fence === undefined || fence === mark)) fence = fence === undefined ? mark : undefined;
    const head = fence === undefined && ROW.test(line) && RULE.test(lines[i + 1] ?? "") ? splitCells(line) : [];
    if (head.length === 0 || head.length > MAX_COLUMNS) {
      prose.push(line);
      continue;
    }
    endProse();
    const rows: string[][] = [];
    for (i += 2; i < lines.length && ROW.test(lines[i] ?? ""); i++) rows.push(splitCells(lines[i] ?? ""));
    i--;
    parts.push({ head, rows });
  }
  endProse();
  return parts;
}

/** Splits a row at each `|` that is not escaped. */
function splitCells(row: string): string[] {
  return row
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll(String.raw`\|`, "|"));
}
