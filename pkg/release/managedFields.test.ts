import { describe, expect, test } from "vitest";
import type { JsonObject } from "../api/k8s.ts";
import { findLastManager, handOverFields } from "./managedFields.ts";

const OURS = "olm.operatorframework.io";
const entry = (manager: string, operation: string, fieldsV1: JsonObject, more: JsonObject = {}): JsonObject => ({
  manager,
  operation,
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1,
  time: "2026-01-01T00:00:00Z",
  ...more,
});
const moved = (entries: readonly JsonObject[]): JsonObject[] | undefined => handOverFields(entries, "operator-controller", OURS);

// Source: k8s.io/client-go v0.36.3 util/csaupgrade; O-04.
describe("handOverFields", () => {
  test("handOverFields moves fields from the other manager's entry to our apply entry", () => {
    const data = { "f:data": { "f:a": {} } };
    expect(moved([entry("operator-controller", "Update", data)])).toEqual([entry(OURS, "Apply", data)]);
  });

  test("handOverFields merges fields into our apply entry at every depth, and keeps the later time and version", () => {
    const theirs = entry("operator-controller", "Update", { "f:data": { "f:a": {}, ".": {} }, "f:immutable": {} });
    const ours = entry(OURS, "Apply", { "f:data": { "f:b": {} } }, { apiVersion: "v2", time: "2026-02-01T00:00:00Z" });
    const joined = { "f:data": { "f:a": {}, "f:b": {}, ".": {} }, "f:immutable": {} };
    expect(moved([theirs, ours])).toEqual([{ ...ours, fieldsV1: joined }]);
  });

  test("handOverFields keeps entries of other managers, of applies and of subresources", () => {
    const others = [
      entry("kubectl-edit", "Update", { "f:data": { "f:c": {} } }),
      entry("operator-controller", "Apply", {}),
      entry("operator-controller", "Update", { "f:status": {} }, { subresource: "status" }),
    ];
    const theirs = entry("operator-controller", "Update", {});
    expect(moved([...others, theirs])).toEqual([...others, entry(OURS, "Apply", {})]);
    expect(moved(others)).toBeUndefined();
    expect(moved([])).toBeUndefined();
  });

  test("handOverFields excludes Helm's labels and annotations", () => {
    const labels = { ".": {}, "f:app": {}, "f:app.kubernetes.io/managed-by": {} };
    const annotations = { ".": {}, "f:meta.helm.sh/release-name": {}, "f:meta.helm.sh/release-namespace": {} };
    const given = entry("operator-controller", "Update", { "f:metadata": { "f:labels": labels, "f:annotations": annotations, "f:x": {} } });
    const wanted = { "f:metadata": { "f:labels": { "f:app": {} }, "f:x": {} } };
    expect(moved([given])).toEqual([entry(OURS, "Apply", wanted)]);
    expect(moved([entry("operator-controller", "Update", { "f:metadata": { "f:annotations": annotations } })])).toEqual([
      entry(OURS, "Apply", {}),
    ]);
  });

  test("handOverFields accepts entries without fields or with malformed fields", () => {
    expect(moved([{ manager: "operator-controller", operation: "Update" }])).toEqual([{ manager: OURS, operation: "Apply", fieldsV1: {} }]);
    const odd = entry("operator-controller", "Update", { "f:metadata": "x", "f:data": [] });
    expect(moved([odd])).toEqual([{ ...odd, manager: OURS, operation: "Apply" }]);
  });
});

test("findLastManager returns the manager of the latest entry that contains the field", () => {
  const entry = (manager: string, time: string, fieldsV1: JsonObject, subresource?: string): JsonObject => ({
    manager,
    time,
    fieldsV1,
    ...(subresource === undefined ? {} : { subresource }),
  });
  const fields = [
    entry("olmv1", "2026-01-01T00:00:00Z", { "f:spec": {}, "f:metadata": { "f:annotations": { "f:pin": {} } } }),
    entry("kubectl-edit", "2026-01-02T00:00:00Z", { "f:spec": { "f:suspend": {} } }),
    entry("operator-controller", "2026-01-03T00:00:00Z", { "f:spec": {} }, "status"),
    entry("labeler", "2026-01-04T00:00:00Z", { "f:metadata": { "f:labels": {} } }),
  ];
  expect(findLastManager(fields, ["f:spec"])).toBe("kubectl-edit");
  expect(findLastManager(fields, ["f:metadata", "f:annotations", "f:pin"])).toBe("olmv1");
  expect(findLastManager(fields, ["f:status"])).toBeUndefined();
  expect(findLastManager([], ["f:spec"])).toBeUndefined();
});
