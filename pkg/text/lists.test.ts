import { expect, test } from "vitest";
import { findDuplicates, formatList, type ListFormat } from "./lists.ts";

test.each<[because: string, format: ListFormat, text: string]>([
  ["there are no more", { max: 3 }, "a, b, c"],
  ["some are left out", { max: 2 }, "a, b and 1 more"],
  ["the separator is none of words", { max: 1, separator: "; " }, "a; and 2 more"],
  ["only the first were given", { max: 3, total: 5 }, "a, b, c and 2 more"],
  ["the caller says what stands for the rest", { max: 2, rest: (more) => `… and ${more} more` }, "a, b, … and 1 more"],
])("formatList tells a list when %s", (_, format, text) => {
  expect(formatList(["a", "b", "c"], format)).toBe(text);
});

test("formatList gives nothing for an empty list", () => {
  expect(formatList([], { max: 2 })).toBe("");
});

test("findDuplicates gives each text once that occurs more than once", () => {
  expect(findDuplicates(["b", "a", "b", "a", "b", "c"])).toEqual(["a", "b"]);
});
