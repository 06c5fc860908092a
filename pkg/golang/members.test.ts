import { expect, test } from "vitest";
import { findMember, foldCase, foldKey } from "./members.ts";

// Compared with encoding/json of Go 1.26.
test.for<[key: string, isSchemaField: boolean]>([
  ["skips", true],
  ["SKIPS", true],
  ["\u017fkip\u017f", true],
  ["s\u212aips", true],
  ["sk\u0131ps", false], // dotless i
  ["sk\u0130ps", false], // I with a dot
])("findMember finds member skips by the key %j: %j", ([key, isSchemaField]) => {
  expect(foldKey(key) === "skips").toBe(isSchemaField);
  expect(findMember({ [key]: 1 }, "skips")).toBe(isSchemaField ? 1 : undefined);
});

test.for<[a: string, b: string, isSame: boolean]>([
  ["SCHEMA", "schema", true],
  ["\u03a3\u03c2", "\u03c3\u03c3", true],
  ["stra\u00dfe", "STRASSE", true],
  ["n\u0131me", "nime", false], // dotless i
])("foldCase treats %j and %j as equal: %j, like golang.org/x/text/cases", ([a, b, isSame]) => {
  expect(foldCase(a) === foldCase(b)).toBe(isSame);
});

test("findMember prefers the member with the exact name", () => {
  expect(findMember({ NAME: 1, name: 2, Name: 3 }, "name")).toBe(2);
  expect(findMember({ NAME: 1, Name: 3 }, "name")).toBe(1);
});
