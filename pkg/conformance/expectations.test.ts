import { expect, test } from "vitest";
import { findMismatch } from "./expectations.ts";

const CASES: readonly [string, unknown, unknown, string | undefined][] = [
  ["values are equal", { a: [1, "x"] }, { a: [1, "x"] }, undefined],
  ["the actual object has further members", { a: { b: 1 } }, { a: { b: 1, c: 2 }, d: 3 }, undefined],
  ["a member differs", { a: { b: 1 } }, { a: { b: 2 } }, "a.b is 2, not 1"],
  ["a member is missing", { a: { b: 1 } }, { a: {} }, "a.b is nothing, not 1"],
  ["an object is missing", { a: { b: 1 } }, {}, 'a is nothing, not {"b":1}'],
  ["a list is longer", { a: [1] }, { a: [1, 2] }, "a is [1,2], not [1]"],
  ["an item of a list differs", { a: [{ b: 1 }, { b: 2 }] }, { a: [{ b: 1 }, { b: 3 }] }, "a[1].b is 3, not 2"],
  ["a null member is expected", { a: null }, { a: null }, undefined],
  ["a null member is missing", { a: null }, {}, "a is nothing, not null"],
  ["a member is absent as expected", { a: { $absent: true } }, {}, undefined],
  ["a member is not absent", { a: { $absent: true } }, { a: 1 }, 'a is 1, not {"$absent":true}'],
  ["a member is present as expected", { a: { $present: true } }, { a: null }, undefined],
  ["a member is not present", { a: { $present: true } }, {}, 'a is nothing, not {"$present":true}'],
  ["a text matches", { a: { $matches: "^sha256:[0-9a-f]{4}$" } }, { a: "sha256:00ff" }, undefined],
  ["a text does not match", { a: { $matches: "^b" } }, { a: "abc" }, 'a is "abc", not {"$matches":"^b"}'],
  ["a number is matched with a text", { a: { $matches: "1" } }, { a: 1 }, 'a is 1, not {"$matches":"1"}'],
  ["a text includes all parts", { a: { $includes: ["b", "c"] } }, { a: "abc" }, undefined],
  ["a text lacks a part", { a: { $includes: ["b", "x"] } }, { a: "abc" }, 'a is "abc", not {"$includes":["b","x"]}'],
  ["a list has an item like the expected one", { a: { $includes: { b: 1 } } }, { a: [{ b: 2 }, { b: 1, c: 1 }] }, undefined],
  ["a list has no such item", { a: { $includes: { b: 1 } } }, { a: [{ b: 2 }] }, 'a is [{"b":2}], not {"$includes":{"b":1}}'],
  ["a list has the expected length", { a: { $length: 2 } }, { a: [1, 2] }, undefined],
  ["a list has another length", { a: { $length: 2 } }, { a: [1] }, 'a is [1], not {"$length":2}'],
  ["the whole value differs", "a", undefined, 'the value is nothing, not "a"'],
];

test.for(CASES)("findMismatch returns the first difference when %s", ([, expected, actual, mismatch]) => {
  expect(findMismatch(expected, actual)).toBe(mismatch);
});

test("findMismatch truncates a long value", () => {
  expect(findMismatch("a", "x".repeat(1_000))?.length).toBeLessThan(450);
});
