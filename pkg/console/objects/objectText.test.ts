import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../api/k8s.ts";
import { formatObject, HIDDEN_VALUE } from "./objectText.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const VALUE = "c2VjcmV0LXZhbHVl";

describe("formatObject", () => {
  test("keeps only the keys of a Secret, and of its annotations", () => {
    const secret: KubeObject = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: "x",
        annotations: { [LAST_APPLIED]: `{"data":{"password":"${VALUE}"}}`, copy: VALUE },
        managedFields: [{ manager: "kubectl", fieldsV1: { "f:data": { "f:password": {} } } }],
      },
      type: "Opaque",
      data: { password: VALUE },
      stringData: { token: VALUE },
      unknown: VALUE,
    };
    const { yaml, json, managedFields, notes } = formatObject(secret);
    expect(JSON.parse(json)).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "x", annotations: { copy: HIDDEN_VALUE } },
      type: "Opaque",
      data: { password: HIDDEN_VALUE },
      stringData: { token: HIDDEN_VALUE },
    });
    expect(yaml + json + (managedFields ?? "")).not.toContain(VALUE);
    expect(notes).toHaveLength(2);
  });

  test("hides values of a Secret with members of unexpected types", () => {
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "x" }, data: VALUE } as KubeObject;
    expect(formatObject(secret).json).not.toContain(VALUE);
  });

  test("separates the managed fields, and leaves out kubectl's copy of the object", () => {
    const object: KubeObject = {
      kind: "ConfigMap",
      apiVersion: "v1",
      data: { a: "b" },
      metadata: { name: "x", annotations: { [LAST_APPLIED]: "{}", mine: "1" }, managedFields: [{ manager: "kubectl" }] },
    };
    const { yaml, managedFields, notes } = formatObject(object);
    expect(yaml).toBe(
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  annotations:\n    mine: "1"\ndata:\n  a: b\n'.replaceAll('"', "'"),
    );
    expect(managedFields).toBe("- manager: kubectl\n");
    expect(notes).toEqual([`Annotation ${LAST_APPLIED} is left out.`]);
  });

  test("leaves out the end of an object that is too large", () => {
    const object: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" }, data: { a: "x".repeat(2 * 1024 * 1024) } };
    const { yaml, notes } = formatObject(object);
    expect(yaml.length).toBe(1024 * 1024);
    expect(notes).toHaveLength(1);
  });
});
