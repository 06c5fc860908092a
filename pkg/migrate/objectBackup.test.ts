import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { createBackup, formatBackup, parseBackup, splitBackup } from "./objectBackup.ts";

const LIVE: KubeObject = {
  apiVersion: "operators.coreos.com/v1alpha1",
  kind: "Subscription",
  metadata: {
    name: "hello",
    namespace: "ns",
    uid: "1",
    resourceVersion: "2",
    generation: 3,
    finalizers: ["f"],
    labels: { a: "b" },
    annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "1" },
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "y" }],
    managedFields: [],
  },
  spec: { name: "p" },
  status: { state: "AtLatestKnown" },
};
const EXPECTED = { kind: "Subscription", namespace: "ns", name: "hello" } as const;

test("createBackup keeps only fields that the API server accepts when the object is recreated, and splitBackup separates the status", () => {
  const backup = parseBackup(formatBackup(LIVE), EXPECTED);
  expect(backup).toEqual({
    ...LIVE,
    metadata: { name: "hello", namespace: "ns", labels: { a: "b" }, annotations: { kept: "1" } },
  });
  const { object, status } = splitBackup(backup ?? LIVE);
  expect([object["status"], status]).toEqual([undefined, { state: "AtLatestKnown" }]);
  expect(createBackup(backup ?? LIVE)).toEqual(backup);
});

// Source: docs/security.md; the user who restores a backup may have more permissions than the user who wrote the annotation.
test.for<[string, unknown]>([
  ["another kind", { ...LIVE, kind: "ClusterRoleBinding" }],
  ["another group", { ...LIVE, apiVersion: "rbac.authorization.k8s.io/v1" }],
  ["another namespace", { ...LIVE, metadata: { name: "hello", namespace: "kube-system" } }],
  ["another name", { ...LIVE, metadata: { name: "other", namespace: "ns" } }],
  ["no object", null],
  ["a list", [LIVE]],
])("parseBackup rejects %s", ([, value]) => {
  expect(() => parseBackup(JSON.stringify(value), EXPECTED)).toThrow('backup does not contain Subscription "ns/hello"');
});

test("parseBackup returns undefined when the annotation is missing, and formatBackup throws when an object is too large", () => {
  expect(parseBackup(undefined, EXPECTED)).toBeUndefined();
  expect(() => formatBackup({ ...LIVE, spec: { config: "x".repeat(120_000) } })).toThrow("too large for a backup");
});
