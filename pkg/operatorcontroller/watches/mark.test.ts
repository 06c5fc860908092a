import { expect, test } from "vitest";
import type { JsonObject, ObjectMeta } from "../../api/k8s.ts";
import { createMark, isNewer, mayBeDrift, type Observation } from "./followedObjects.ts";

const applied = (fieldsV1: JsonObject): JsonObject => ({ manager: "olm.operatorframework.io", operation: "Apply", fieldsV1 });
const DATA = { "f:data": { "f:a": {} } };
const meta = (members: Partial<ObjectMeta> = {}): ObjectMeta => ({ name: "x", uid: "u", resourceVersion: "10", ...members });
const there = (members: Partial<ObjectMeta> = {}): Observation => ({ kind: "exists", metadata: meta(members) });
const gone = (resourceVersion: string): Observation => ({ kind: "gone", resourceVersion });
const noted = { managedFields: [applied(DATA)] };
const theirs = { manager: "kubectl", operation: "Update", fieldsV1: { "f:data": { "f:b": {} } } };

// Source: O-14.
test.for<[name: string, seen: Observation, should: Partial<ObjectMeta> | undefined, want: boolean]>([
  ["nobody knows how it should be", there(), undefined, true],
  ["our own write", there({ resourceVersion: "10", ...noted }), {}, false],
  ["an event from before our write", there({ resourceVersion: "9" }), noted, false],
  ["a deletion from before our write", gone("9"), noted, false],
  ["a deletion", gone("11"), noted, true],
  ["an object that is on its way out", there({ resourceVersion: "11", deletionTimestamp: "2026-01-01T00:00:00Z" }), noted, false],
  ["another object under its name", there({ resourceVersion: "11", uid: "v", ...noted }), noted, true],
  ["status or somebody else's fields", there({ resourceVersion: "11", managedFields: [theirs, applied(DATA)] }), noted, false],
  ["a new generation by fields of others", there({ resourceVersion: "11", generation: 2, ...noted }), { ...noted, generation: 1 }, false],
  [
    "one of our fields is somebody else's now",
    there({ resourceVersion: "11", managedFields: [theirs, applied({ "f:data": {} })] }),
    noted,
    true,
  ],
  ["all notes about fields were removed", there({ resourceVersion: "11" }), noted, true],
  ["no fields are noted, and the generation is the same", there({ resourceVersion: "11", generation: 1 }), { generation: 1 }, false],
  ["no fields are noted, and the generation is another", there({ resourceVersion: "11", generation: 2 }), { generation: 1 }, true],
  ["no fields are noted, and there is no generation", there({ resourceVersion: "11" }), {}, true],
])("%s", ([, seen, should, want]) => {
  expect(mayBeDrift(seen, should && createMark(meta(should)))).toBe(want);
});

test("resource versions are compared as numbers of any length, others only by being different", () => {
  expect([isNewer("100", "99"), isNewer("99", "100"), isNewer("9007199254740993", "9007199254740992"), isNewer("7", "7")]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect([isNewer("b", "a"), isNewer("a", "b"), isNewer("a", "a")]).toEqual([true, true, false]);
});
