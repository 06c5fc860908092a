import { printable } from "../../pkg/errors/printable.ts";
import { columnsOf, cutTo } from "./cli/columns.ts";
import { fitted } from "./cli/table.ts";

const GAP = "  ";

/** Rows of cells, the head first, as lines with columns of equal width that fit a terminal; control characters are escaped. @param width of it. */
export function tableLines(rows: readonly (readonly string[])[], width: number): string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell).replaceAll("\n", " ")));
  const head = cells[0] ?? [];
  const natural = head.map((_, column) => Math.max(...cells.map((row) => columnsOf(row[column] ?? ""))));
  const widths = fitted(natural, head.map(columnsOf), width - GAP.length * (head.length - 1));
  return cells.map((row) =>
    row
      .map((cell, column) => cutTo(cell, widths[column] ?? 0).padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}
