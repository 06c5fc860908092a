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
  ["our entry is newer: the apply changed something", [applied()], [applied({ time: LATER })], true],
  ["our entry is as it was: the apply changed nothing", [applied()], [applied()], false],
  ["somebody wrote elsewhere", [applied()], [applied(), other(LATER)], false],
  ["our entry was written as of a subresource", [applied()], [applied(), applied({ subresource: "status", time: LATER })], false],
  ["we apply other fields than before", [applied()], [applied({ time: LATER, fieldsV1: { "f:data": { "f:a": {} } } })], false],
  ["the order of fields is no difference", [applied()], [applied({ time: LATER, fieldsV1: { "f:data": { "f:b": {}, "f:a": {} } } })], true],
  ["the entry is of another version of the kind", [applied()], [applied({ time: LATER, apiVersion: "v2" })], false],
  ["there was no entry of ours", [other(EARLIER)], [applied({ time: LATER })], false],
  ["entries without a time", [applied({ time: null })], [applied({ time: null })], false],
])("%s", ([, before, after, wrote]) => {
  expect(detectsConcurrentChange({ managedFields: before }, { managedFields: after })).toBe(wrote);
});
