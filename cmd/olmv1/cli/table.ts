import { styleText } from "node:util";
import type { Styled } from "../../../pkg/rollout/mood.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { measureWidth, truncateColumns, wrapText } from "./columns.ts";
import type { Terminal } from "./terminal.ts";

export type Cell = string | Styled;

const COLOURS = { good: "green", bad: "red", warning: "yellow", faint: "dim", strong: "bold" } as const;
const GAP = "   ";
/** Minimum width of a truncated column, unless its head is wider. */
const LEAST = 8;

/** Formats a text with its color if the terminal has colors. */
export function formatStyled(terminal: Pick<Terminal, "colour">, { text, mood }: Styled): string {
  return mood === undefined || !terminal.colour ? text : styleText(COLOURS[mood], text, { validateStream: false });
}

/**
 * Formats a head and rows in columns that fit the terminal: the widest columns are truncated first. Escapes control characters.
 * Empty cells at the end of a row leave no spaces.
 */
export function formatTable(
  terminal: Pick<Terminal, "width" | "colour">,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  gap = GAP,
): string {
  const lines = [head, ...rows].map((row) => head.map((_, i) => toStyled(row[i] ?? "")));
  const natural = head.map((_, i) => Math.max(...lines.map((row) => measureWidth(row[i]?.text ?? ""))));
  const widths = fitWidths(natural, head.map(measureWidth), terminal.width - gap.length * (head.length - 1));
  return lines.map((row) => `${formatRow(terminal, row, widths, gap)}\n`).join("");
}

function toStyled(cell: Cell): Styled {
  const { text, mood } = typeof cell === "string" ? { text: cell } : cell;
  return { text: escapeControlCharacters(text).replaceAll("\n", " "), mood };
}

/** Reduces the widest columns until all fit into `room`, or until no column can shrink. */
function fitWidths(natural: readonly number[], heads: readonly number[], room: number): number[] {
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

function formatRow(terminal: Pick<Terminal, "colour">, row: readonly Styled[], widths: readonly number[], gap: string): string {
  const last = row.findLastIndex(({ text }) => text !== "");
  return row
    .slice(0, last + 1)
    .map(({ text, mood }, i) => {
      const shown = truncateColumns(text, widths[i] ?? 0);
      const padding = i === last ? "" : " ".repeat((widths[i] ?? 0) - measureWidth(shown));
      return formatStyled(terminal, { text: shown, mood }) + padding;
    })
    .join(gap);
}

const NARROW_GAP = "  ";

/** Formats a compact table without colors as lines, for use inside other text. @param width terminal width in columns. */
export function formatTableLines([head = [], ...rows]: readonly (readonly string[])[], width: number): string[] {
  return formatTable({ width, colour: false }, head, rows, NARROW_GAP).trimEnd().split("\n");
}

/** A label with its value: one text, or several on separate lines. Empty values are not printed. */
export type Detail = readonly [label: string, value: Cell | readonly Cell[] | undefined];

/** Maximum width of prose; longer lines are hard to read. */
export const MAX_PROSE = 110;

/** Formats labels with their values; values are wrapped to fit the terminal. */
export function formatDetails(terminal: Pick<Terminal, "width" | "colour">, all: readonly Detail[]): string {
  const shown = all.flatMap(([label, value]) => {
    const cells = value === undefined ? [] : Array.isArray(value) ? (value as readonly Cell[]) : [value as Cell];
    const lines = cells.map(toStyled).filter(({ text }) => text !== "");
    return lines.length === 0 ? [] : [{ label: `${label}:`, lines }];
  });
  const margin = Math.max(0, ...shown.map(({ label }) => measureWidth(label))) + 2;
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
