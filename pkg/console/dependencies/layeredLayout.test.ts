import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Arrow, placeInColumns } from "./layeredLayout.ts";

const IDS = ["a", "b", "c", "d", "e", "f", "g", "h"];
const arrowsOf = (text: string): Arrow[] => (text === "" ? [] : text.split(" ").map((one) => ({ from: one.charAt(0), to: one.charAt(1) })));

test.for<[string, string, string, string]>([
  ["a chain", "abc", "ab bc", "a0 b1 c2"],
  ["two dependents", "abc", "ac bc", "a0 b0 c1"],
  ["a long way and a short way", "abc", "ac ab bc", "a0 b1 c2"],
  ["a cycle", "ab", "ab ba", "a0 b1"],
  ["an arrow to itself", "a", "aa", "a0"],
  ["no arrows", "ab", "", "a0 b0"],
])("placeInColumns places %s", ([, ids, arrows, want]) => {
  const placed = placeInColumns(ids.split(""), arrowsOf(arrows));
  expect(
    placed
      .map(({ id, column }) => `${id}${column}`)
      .sort()
      .join(" "),
  ).toBe(want);
});

test("placeInColumns sorts a column by the rows of the neighbours, so that arrows do not cross", () => {
  const placed = placeInColumns(["a", "b", "c", "d"], arrowsOf("ad bc"));
  const rowOf = (id: string): number | undefined => placed.find((one) => one.id === id)?.row;
  expect([rowOf("a"), rowOf("d"), rowOf("b"), rowOf("c")]).toEqual([0, 0, 1, 1]);
});

test("placeInColumns gives each node a place of its own for any graph", () => {
  const id = fc.constantFrom(...IDS);
  fc.assert(
    fc.property(fc.array(fc.record({ from: id, to: id }), { maxLength: 30 }), (arrows) => {
      const placed = placeInColumns(IDS, arrows);
      expect(new Set(placed.map((one) => one.id)).size).toBe(8);
      expect(new Set(placed.map(({ column, row }) => `${column} ${row}`)).size).toBe(8);
    }),
  );
});
