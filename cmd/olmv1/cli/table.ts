import { styleText } from "node:util";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { columnsOf, cutTo, wrapText } from "./columns.ts";
import type { Terminal } from "./terminal.ts";

/** How a cell is meant: shown as a colour where there are colours, never by it alone. */
export type Mood = "good" | "bad" | "warning" | "faint" | "strong";

/** A piece of text and how it is meant. */
export interface Styled {
  readonly text: string;
  readonly mood?: Mood | undefined;
}

export type Cell = string | Styled;

const COLOURS = { good: "green", bad: "red", warning: "yellow", faint: "dim", strong: "bold" } as const;
const GAP = "   ";
/** A column is not cut below this, or the width of its head. */
const LEAST = 8;

/** Text as it is meant, where there are colours. */
export function formatStyled(terminal: Pick<Terminal, "colour">, { text, mood }: Styled): string {
  return mood === undefined || !terminal.colour ? text : styleText(COLOURS[mood], text, { validateStream: false });
}

/**
 * Rows below their head, in columns that fit the width of the terminal: the widest are cut first. Control characters are escaped.
 * Empty cells of the last columns leave no blanks.
 */
export function table(
  terminal: Pick<Terminal, "width" | "colour">,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  gap = GAP,
): string {
  const lines = [head, ...rows].map((row) => head.map((_, i) => cellOf(row[i] ?? "")));
  const natural = head.map((_, i) => Math.max(...lines.map((row) => columnsOf(row[i]?.text ?? ""))));
  const widths = fitted(natural, head.map(columnsOf), terminal.width - gap.length * (head.length - 1));
  return lines.map((row) => `${lineOf(terminal, row, widths, gap)}\n`).join("");
}

function cellOf(cell: Cell): Styled {
  const { text, mood } = typeof cell === "string" ? { text: cell } : cell;
  return { text: escapeControlCharacters(text).replaceAll("\n", " "), mood };
}

/** Widths that add up to no more than `room`, as far as heads allow; the widest columns give first. */
function fitted(natural: readonly number[], heads: readonly number[], room: number): number[] {
  const widths = [...natural];
  const least = heads.map((head, i) => Math.min(natural[i] ?? 0, Math.max(head, LEAST)));
  let over = widths.reduce((sum, width) => sum + width, 0) - room;
  while (over > 0) {
    const spare = widths.map((width, i) => (width > (least[i] ?? 0) ? width : 0));
    const widest = Math.max(...spare);
    if (widest === 0) break;
    widths[spare.indexOf(widest)] = widest - 1;
    over--;
  }
  return widths;
}

function lineOf(terminal: Pick<Terminal, "colour">, row: readonly Styled[], widths: readonly number[], gap: string): string {
  const last = row.findLastIndex(({ text }) => text !== "");
  return row
    .slice(0, last + 1)
    .map(({ text, mood }, i) => {
      const shown = cutTo(text, widths[i] ?? 0);
      const padding = i === last ? "" : " ".repeat((widths[i] ?? 0) - columnsOf(shown));
      return formatStyled(terminal, { text: shown, mood }) + padding;
    })
    .join(gap);
}

const NARROW_GAP = "  ";

/** A table as lines without colours, its columns closer to each other, for texts that go on after it. @param width of the terminal. */
export function tableLines([head = [], ...rows]: readonly (readonly string[])[], width: number): string[] {
  return table({ width, colour: false }, head, rows, NARROW_GAP).trimEnd().split("\n");
}

/** A label and what stands beside it: one text, or several below each other. Nothing is not shown. */
export type Detail = readonly [label: string, value: Cell | readonly Cell[] | undefined];

/** Longest line of prose; longer ones are hard to read. */
export const MAX_PROSE = 110;

/** Labels with their values beside them; values are broken into lines that fit the terminal. */
export function details(terminal: Pick<Terminal, "width" | "colour">, all: readonly Detail[]): string {
  const shown = all.flatMap(([label, value]) => {
    const cells = value === undefined ? [] : Array.isArray(value) ? (value as readonly Cell[]) : [value as Cell];
    const lines = cells.map(styledOf).filter(({ text }) => text !== "");
    return lines.length === 0 ? [] : [{ label: `${label}:`, lines }];
  });
  const margin = Math.max(0, ...shown.map(({ label }) => columnsOf(label))) + 2;
  return shown
    .flatMap(({ label, lines }) => {
      const broken = lines.flatMap(({ text, mood }) =>
        wrapText(text, Math.min(terminal.width - margin, MAX_PROSE)).map((line) => formatStyled(terminal, { text: line, mood })),
      );
      return broken.map((line, i) => `${(i === 0 ? label : "").padEnd(margin)}${line}`.trimEnd());
    })
    .map((line) => `${line}\n`)
    .join("");
}

function styledOf(cell: Cell): Styled {
  const { text, mood } = typeof cell === "string" ? { text: cell } : cell;
  return { text: escapeControlCharacters(text).replaceAll("\n", " "), mood };
}
