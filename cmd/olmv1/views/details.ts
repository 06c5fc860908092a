import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { columnsOf } from "../cli/columns.ts";
import { type Cell, type Styled, styled } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";
import { wrapped } from "../cli/wrapped.ts";

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
        wrapped(text, Math.min(terminal.width - margin, MAX_PROSE)).map((line) => styled(terminal, { text: line, mood })),
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
