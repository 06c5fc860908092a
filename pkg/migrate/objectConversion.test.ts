import { expect, test } from "vitest";
import type { ObjectRef } from "../api/k8s.ts";
import type { FieldChange } from "../release/diff.ts";
import type { PodChange } from "../release/liveOrder.ts";
import { describeConvertedObject, describeLeftover, keepPodAnnotations } from "./objectConversion.ts";

const DEPLOYMENT: ObjectRef = { apiVersion: "apps/v1", kind: "Deployment", namespace: "ns", name: "a" };
const SERVICE: ObjectRef = { apiVersion: "v1", kind: "Service", namespace: "ns", name: "a" };
const MARKS: FieldChange[] = [
  { path: "metadata.ownerReferences[name=hello]", after: "{}" },
  { path: 'metadata.labels["olm.operatorframework.io/owner-name"]', after: '"hello"' },
  { path: 'metadata.annotations["olm.operatorframework.io/owner-uid"]', after: '"1"' },
  {
    path: "metadata.labels",
    after: '{"olm.operatorframework.io/owner-kind":"ClusterExtension","olm.operatorframework.io/owner-name":"a"}',
  },
];

test.for<[string, ObjectRef, PodChange | undefined, FieldChange[], "keep" | "change" | "create", boolean]>([
  ["describeConvertedObject keeps an object without changes", DEPLOYMENT, "none", [], "keep", false],
  ["describeConvertedObject ignores marks of its owner", DEPLOYMENT, "none", MARKS, "keep", false],
  ["describeConvertedObject creates a missing object", SERVICE, undefined, [], "create", false],
  [
    "describeConvertedObject restarts Pods when a field of them changes",
    DEPLOYMENT,
    "other",
    [...MARKS, { path: "spec.template.spec.x", after: "1" }],
    "change",
    true,
  ],
  ["describeConvertedObject restarts Pods when only the order of a list changes", DEPLOYMENT, "other", MARKS, "change", true],
  [
    "describeConvertedObject does not restart Pods when another field changes",
    DEPLOYMENT,
    "none",
    [{ path: "spec.replicas", before: "1", after: "2" }],
    "change",
    false,
  ],
  [
    "describeConvertedObject restarts nothing when the object has no Pods",
    SERVICE,
    "none",
    [{ path: "spec.template.x", after: "1" }],
    "change",
    false,
  ],
  [
    "describeConvertedObject reports changed labels of the bundle",
    SERVICE,
    "none",
    [{ path: "metadata.labels", after: '{"app":"a"}' }],
    "change",
    false,
  ],
])("%s", ([, ref, pods, fields, action, restarts]) => {
  expect(describeConvertedObject(ref, fields, pods)).toMatchObject({ action, restarts });
});

test("describeLeftover returns action leave for objects that the bundle does not contain, and keep for Secrets, which may be mounted", () => {
  expect(describeLeftover(SERVICE).action).toBe("leave");
  expect(describeLeftover({ ...SERVICE, kind: "Secret" }).action).toBe("keep");
});

const annotation = (key: string): FieldChange => ({ path: `spec.template.metadata.annotations[${JSON.stringify(key)}]`, after: '"1"' });

test("keepPodAnnotations keeps annotations of Pods when no other field of the Pods changes", () => {
  const quiet = describeConvertedObject(
    DEPLOYMENT,
    [annotation("olm.properties"), annotation("example.com/a~b"), { path: "spec.replicas", after: "2" }],
    "annotations",
  );
  const loud = describeConvertedObject(
    { ...DEPLOYMENT, name: "b" },
    [annotation("olm.properties"), { path: "spec.template.spec.x", after: "1" }],
    "other",
  );
  const { objects, kept } = keepPodAnnotations([quiet, loud], ({ name }) => (name === "a" ? "annotations" : "other"));
  expect(objects).toEqual([{ ...quiet, restarts: false, changes: [{ path: "spec.replicas", after: "2" }] }, loud]);
  expect(kept).toEqual([
    {
      paths: ["/spec/template/metadata/annotations/olm.properties", "/spec/template/metadata/annotations/example.com~1a~0b"],
      target: { group: "apps", kind: "Deployment", namespace: "ns", name: "a" },
    },
  ]);
});
