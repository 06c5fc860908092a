import { expect, test } from "vitest";
import { compareValues, formatSort, parseColumns, parseSort } from "./tableState.ts";

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

test.for([
  ["1.10.0", "1.9.0", 1],
  ["Alpha", "alpha", 0],
  [2, 10, -1],
  ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", 1],
] as const)("compareValues compares %j with %j", ([one, other, want]) => {
  expect(Math.sign(compareValues(one, other))).toBe(want);
});
