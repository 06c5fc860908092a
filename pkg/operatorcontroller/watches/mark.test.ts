import { expect, test } from "vitest";
import type { JsonObject, ObjectMeta } from "../../api/k8s.ts";
import { createMark, isNewer, mayBeDrift, type Observation } from "./followedObjects.ts";

const applied = (fieldsV1: JsonObject): JsonObject => ({ manager: "olm.operatorframework.io", operation: "Apply", fieldsV1 });
const DATA = { "f:data": { "f:a": {} } };
const meta = (members: Partial<ObjectMeta> = {}): ObjectMeta => ({ name: "x", uid: "u", resourceVersion: "10", ...members });
const exists = (members: Partial<ObjectMeta> = {}): Observation => ({ kind: "exists", metadata: meta(members) });
const gone = (resourceVersion: string): Observation => ({ kind: "gone", resourceVersion });
const noted = { managedFields: [applied(DATA)] };
const theirs = { manager: "kubectl", operation: "Update", fieldsV1: { "f:data": { "f:b": {} } } };

// Source: O-14.
test.for<[name: string, seen: Observation, desired: Partial<ObjectMeta> | undefined, want: boolean]>([
  ["true when the desired state is unknown", exists(), undefined, true],
  ["false for the controller's own write", exists({ resourceVersion: "10", ...noted }), {}, false],
  ["false for an event before the controller's write", exists({ resourceVersion: "9" }), noted, false],
  ["false for a deletion before the controller's write", gone("9"), noted, false],
  ["true for a deletion", gone("11"), noted, true],
  ["false for an object that is being deleted", exists({ resourceVersion: "11", deletionTimestamp: "2026-01-01T00:00:00Z" }), noted, false],
  ["true for another object with its name", exists({ resourceVersion: "11", uid: "v", ...noted }), noted, true],
  ["false for status or fields of other managers", exists({ resourceVersion: "11", managedFields: [theirs, applied(DATA)] }), noted, false],
  [
    "false for a new generation from fields of other managers",
    exists({ resourceVersion: "11", generation: 2, ...noted }),
    { ...noted, generation: 1 },
    false,
  ],
  [
    "true when another manager owns one of our fields",
    exists({ resourceVersion: "11", managedFields: [theirs, applied({ "f:data": {} })] }),
    noted,
    true,
  ],
  ["true when managedFields were removed", exists({ resourceVersion: "11" }), noted, true],
  ["false without managedFields and the same generation", exists({ resourceVersion: "11", generation: 1 }), { generation: 1 }, false],
  ["true without managedFields and another generation", exists({ resourceVersion: "11", generation: 2 }), { generation: 1 }, true],
  ["true without managedFields and generation", exists({ resourceVersion: "11" }), {}, true],
])("mayBeDrift is %s", ([, seen, desired, want]) => {
  expect(mayBeDrift(seen, desired && createMark(meta(desired)))).toBe(want);
});

test("isNewer compares decimal resource versions by value, and other resource versions for equality", () => {
  expect([isNewer("100", "99"), isNewer("99", "100"), isNewer("9007199254740993", "9007199254740992"), isNewer("7", "7")]).toEqual([
    true,
    false,
    true,
    false,
  ]);
  expect([isNewer("b", "a"), isNewer("a", "b"), isNewer("a", "a")]).toEqual([true, true, false]);
});
