import * as fc from "fast-check";
import { expect, test } from "vitest";
import { computeLevels } from "./ownerLevels.ts";

test.each([
  { when: "nothing is owned", owners: { a: [], b: [] }, levels: { a: 0, b: 0 } },
  { when: "owners have owners", owners: { c: ["b"], b: ["a"], a: [], d: ["a"] }, levels: { a: 0, b: 1, d: 1, c: 2 } },
  { when: "an owner is not in the backup", owners: { a: ["x"] }, levels: { a: 0 } },
  { when: "an object has two owners", owners: { a: [], b: ["a"], c: ["a", "b"] }, levels: { a: 0, b: 1, c: 2 } },
  { when: "objects own each other", owners: { a: ["b"], b: ["a"], c: ["a"], d: [] }, levels: { d: 0, a: 1, b: 1, c: 1 } },
  { when: "an object owns itself", owners: { a: ["a"] }, levels: { a: 0 } },
])("computeLevels returns owners before dependents when $when", ({ owners, levels }) => {
  expect(Object.fromEntries(computeLevels(new Map(Object.entries(owners))))).toEqual(levels);
});

test("computeLevels returns at most 32 levels for a chain of any length", () => {
  const chain = Array.from({ length: 10_000 }, (_, at): [string, string[]] => [`${at}`, at === 0 ? [] : [`${at - 1}`]]);
  const levels = computeLevels(new Map(chain));
  expect([levels.size, Math.max(...levels.values())]).toEqual([10_000, 31]);
});

test("computeLevels returns each owner before its dependents for all references without cycles", () => {
  const references = fc.array(fc.array(fc.nat(20), { maxLength: 3 }), { maxLength: 20 });
  fc.assert(
    fc.property(references, (lists) => {
      // An object refers only to earlier ones, so references have no cycle.
      const owners = new Map(lists.map((list, at) => [`${at}`, list.filter((owner) => owner < at).map(String)]));
      const levels = computeLevels(owners);
      expect(levels.size).toBe(owners.size);
      for (const [uid, list] of owners) for (const owner of list) expect(levels.get(owner)).toBeLessThan(levels.get(uid) ?? 0);
    }),
  );
});
