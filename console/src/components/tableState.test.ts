import { expect, test } from "vitest";
import { formatSort, parseColumns, parseSort, sortRows } from "./tableState.ts";

const STANDARD = { column: "name", isDescending: false };

test.for([
  ["version", { column: "version", isDescending: false }],
  ["-version", { column: "version", isDescending: true }],
  [null, STANDARD],
  ["", STANDARD],
  ["-", STANDARD],
  ["other", STANDARD],
] as const)("parseSort parses %j", ([text, want]) => {
  expect(parseSort(text, ["name", "version"], STANDARD)).toEqual(want);
});

test("formatSort formats what parseSort parses", () => {
  for (const text of ["name", "-version"]) expect(formatSort(parseSort(text, ["name", "version"], STANDARD))).toBe(text);
});

test.for([
  [null, ["a"]],
  ["b,c", ["b", "c"]],
  ["c,x,b", ["b", "c"]],
  ["", []],
] as const)("parseColumns selects the known columns of %j", ([text, want]) => {
  expect([...parseColumns(text, ["a", "b", "c"], ["a"])]).toEqual(want);
});

const ROWS = [
  { id: "a", version: "1.10.0", size: 2 },
  { id: "b", version: undefined, size: 10 },
  { id: "c", version: "1.9.0", size: undefined },
  { id: "d", version: "1.9.0", size: 2 },
];
type SortedRow = (typeof ROWS)[number];

test.for<[what: string, readValue: ((row: SortedRow) => string | number | undefined) | undefined, isDescending: boolean, want: string]>([
  ["numbers in texts by value, rows without a value last", ({ version }) => version, false, "cdab"],
  ["in descending order, rows without a value last, equal ones in their order", ({ version }) => version, true, "acdb"],
  ["numbers by value", ({ size }) => size, false, "adbc"],
  ["texts regardless of upper and lower case", ({ id }) => (id === "b" ? "A" : id), false, "abcd"],
  ["nothing without a value to sort by", undefined, true, "abcd"],
])("sortRows sorts %s", ([, readValue, isDescending, want]) => {
  expect(
    sortRows(ROWS, readValue, isDescending)
      .map(({ id }) => id)
      .join(""),
  ).toBe(want);
});
