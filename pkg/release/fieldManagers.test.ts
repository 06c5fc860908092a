import { expect, test } from "vitest";
import { FIELD_MANAGER } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { detectsConcurrentChange } from "./managedFields.ts";

const EARLIER = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:00:05Z";
const applied = (members: JsonObject = {}): JsonObject => ({
  manager: FIELD_MANAGER,
  operation: "Apply",
  apiVersion: "v1",
  time: EARLIER,
  fieldsV1: { "f:data": { "f:a": {}, "f:b": {} } },
  ...members,
});
const other = (time: string): JsonObject => ({
  manager: "somebody",
  operation: "Update",
  time,
  fieldsV1: { "f:metadata": {} },
});

// Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
test.for<[name: string, before: JsonObject[], after: JsonObject[], wrote: boolean]>([
  ["detectsConcurrentChange is true when our entry is newer", [applied()], [applied({ time: LATER })], true],
  ["detectsConcurrentChange is false when our entry is unchanged", [applied()], [applied()], false],
  ["detectsConcurrentChange is false when another manager wrote other fields", [applied()], [applied(), other(LATER)], false],
  [
    "detectsConcurrentChange is false when our newer entry is for a subresource",
    [applied()],
    [applied(), applied({ subresource: "status", time: LATER })],
    false,
  ],
  [
    "detectsConcurrentChange is false when we apply different fields",
    [applied()],
    [applied({ time: LATER, fieldsV1: { "f:data": { "f:a": {} } } })],
    false,
  ],
  [
    "detectsConcurrentChange ignores the order of fields",
    [applied()],
    [applied({ time: LATER, fieldsV1: { "f:data": { "f:b": {}, "f:a": {} } } })],
    true,
  ],
  [
    "detectsConcurrentChange is false when the entry is for another version of the kind",
    [applied()],
    [applied({ time: LATER, apiVersion: "v2" })],
    false,
  ],
  ["detectsConcurrentChange is false when we had no entry", [other(EARLIER)], [applied({ time: LATER })], false],
  ["detectsConcurrentChange is false when entries have no time", [applied({ time: null })], [applied({ time: null })], false],
])("%s", ([, before, after, wrote]) => {
  expect(detectsConcurrentChange({ managedFields: before }, { managedFields: after })).toBe(wrote);
});
