import { table } from "./cli/table.ts";

const GAP = "  ";

/** A table as lines without colours, its columns closer to each other, for texts that go on after it. @param width of the terminal. */
export function tableLines([head = [], ...rows]: readonly (readonly string[])[], width: number): string[] {
  return table({ width, colour: false }, head, rows, GAP).trimEnd().split("\n");
}
