import { expect, test } from "vitest";
import { findDuplicates, formatList, type ListFormat } from "./lists.ts";

test.each<[because: string, format: ListFormat, text: string]>([
  ["all items fit", { max: 3 }, "a, b, c"],
  ["some items are omitted", { max: 2 }, "a, b and 1 more"],
  ["the separator is not a comma", { max: 1, separator: "; " }, "a; and 2 more"],
  ["only the first items are given", { max: 3, total: 5 }, "a, b, c and 2 more"],
  ["the caller formats the rest", { max: 2, rest: (more) => `… and ${more} more` }, "a, b, … and 1 more"],
])("formatList formats a list when %s", (_, format, text) => {
  expect(formatList(["a", "b", "c"], format)).toBe(text);
});

test("formatList returns an empty string for an empty list", () => {
  expect(formatList([], { max: 2 })).toBe("");
});

test("findDuplicates returns each repeated text once", () => {
  expect(findDuplicates(["b", "a", "b", "a", "b", "c"])).toEqual(["a", "b"]);
});
