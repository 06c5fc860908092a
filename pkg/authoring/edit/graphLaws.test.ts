import * as fc from "fast-check";
import { expect, test } from "vitest";
import { findGraphFault } from "../../fbc/validate/channelCheck.ts";
import { createEntry, type EditedEntry } from "./channelEntries.ts";
import { computeZstreamEntries } from "./edgeEdits.ts";
import { keepEntries } from "./extract.ts";

const name = fc.tuple(fc.nat(2), fc.nat(3), fc.nat(3)).map(([major, minor, patch]) => `foo.v${major}.${minor}.${patch}`);

/** Arbitrary entries. The bundles that they replace or skip may not be in the channel. */
const entries = fc
  .uniqueArray(fc.record({ name, replaces: fc.option(name, { nil: undefined }), skips: fc.array(name, { maxLength: 3 }) }), {
    selector: (entry) => entry.name,
    minLength: 1,
    maxLength: 10,
  })
  .map((list) => list.map((entry) => createEntry(entry.name, entry)));

const fault = (list: readonly EditedEntry[]): unknown =>
  findGraphFault(
    new Map(list.map(({ name: own, replaces = "", skips }) => [own, { name: own, replaces, skips, skipRangeFault: undefined }])),
  );

const minorOf = (bundle: string): string => bundle.slice(0, bundle.lastIndexOf("."));

test("computeZstreamEntries lets each bundle upgrade to exactly one bundle, the newest patch release of its minor version if it exists", () => {
  fc.assert(
    fc.property(entries, (before) => {
      const after = computeZstreamEntries(before, new Map());
      expect(fault(after)).toBeUndefined();
      expect(computeZstreamEntries(after, new Map())).toEqual(after);
      const followers = (bundle: string): string[] =>
        after.flatMap((entry) => [entry.replaces, ...entry.skips].filter((from) => from === bundle).map(() => entry.name));
      const named = new Set(before.flatMap((entry) => [entry.name, ...(entry.replaces ? [entry.replaces] : []), ...entry.skips]));
      const newest =
        [...after]
          .map((entry) => entry.name)
          .sort()
          .at(-1) ?? "";
      for (const bundle of named) {
        const found = followers(bundle);
        if (bundle === newest || (found.length === 0 && bundle > newest)) expect(found).toEqual([]);
        else {
          expect(found, `replacements of ${bundle}`).toHaveLength(1);
          const patches = after.map((entry) => entry.name).filter((other) => minorOf(other) === minorOf(bundle));
          const last = patches.sort().at(-1);
          if (last !== undefined && last !== bundle) expect(found).toEqual([last]);
        }
      }
    }),
  );
});

test("keepEntries returns a valid channel with an upgrade from every removed entry below the head", () => {
  fc.assert(
    fc.property(entries, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), (list, kept) => {
      const before = computeZstreamEntries(list, new Map());
      const isKept = (bundle: string): boolean => kept[before.findIndex((entry) => entry.name === bundle)] ?? true;
      const after = keepEntries(before, isKept, new Map());
      expect(after.map((entry) => entry.name)).toEqual(before.map((entry) => entry.name).filter(isKept));
      if (after.length > 0) expect(fault(after)).toBeUndefined();
      const head =
        after
          .map((entry) => entry.name)
          .sort()
          .at(-1) ?? "";
      const followed = new Set(after.flatMap((entry) => [entry.replaces, ...entry.skips]));
      for (const gone of before) if (!isKept(gone.name) && gone.name < head) expect([...followed]).toContain(gone.name);
    }),
  );
});
