import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createObjectSet } from "../../test/support/goOlm/objectSet.ts";
import { configMap } from "../../test/support/releases.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { BUNDLE_LIMITS } from "../bundle/limits.ts";
import { decodeObjectData, isObjectSetOf, isObjectSetReference, parseObjectSet } from "./objectSet.ts";

const SET = { owner: "x", bundle: "x.v1.0.0" };
const NAMED = { kind: "ClusterObjectSet", name: "x-1" };
const REF = { name: "x-1-abc", namespace: "olmv1-system", key: "k" };
const UNREADABLE = 'ClusterObjectSet "x-1" cannot be read: ';

function withPhases(phases: unknown): KubeObject {
  const set = createObjectSet(SET);
  return { ...set, spec: { ...(set["spec"] as JsonObject), phases } };
}

test("parseObjectSet returns the bundle, and inline and referenced objects in the order of the phases", () => {
  const objects = [{ object: configMap("a") }, { ref: REF }];
  const phases = [
    { name: "rbac", objects },
    { name: "deploy", objects: [{ ref: { name: "s", key: "k" } }] },
  ];
  const set = createObjectSet({ ...SET, image: "quay.io/x:v1", properties: "[]", revision: 3, phases });
  const meta = { uid: "u", creationTimestamp: "2026-01-01T00:00:00Z", finalizers: ["olm.operatorframework.io/teardown"] };
  expect(parseObjectSet({ ...set, metadata: { ...set.metadata, ...meta } })).toEqual({
    kind: "ClusterObjectSet",
    name: "x-3",
    uid: "u",
    revision: 3,
    isArchived: false,
    isComplete: false,
    isTearingDown: false,
    createdAt: "2026-01-01T00:00:00Z",
    labels: {
      "olm.operatorframework.io/package-name": "x",
      "olm.operatorframework.io/bundle-name": "x.v1.0.0",
      "olm.operatorframework.io/bundle-version": "1.0.0",
      "olm.operatorframework.io/bundle-reference": "quay.io/x:v1",
    },
    annotations: { "olm.properties": "[]" },
    entries: [
      { place: 'object 1 of phase "rbac"', object: configMap("a") },
      { place: 'object 2 of phase "rbac"', ref: REF },
      { place: 'object 1 of phase "deploy"', ref: { name: "s", namespace: "", key: "k" } },
    ],
  });
});

test.for<[what: string, status: unknown, isComplete: boolean]>([
  ["no status", undefined, false],
  ["condition Succeeded", { conditions: [{ type: "Succeeded", status: "True" }] }, true],
  ["condition Succeeded that is false", { conditions: [{ type: "Succeeded", status: "False" }] }, false],
  ["completedAt", { completedAt: "2026-01-01T00:00:00Z" }, true],
  ["conditions of another type", { conditions: "Succeeded" }, false],
])("parseObjectSet recognizes whether a set is complete when it has %s", ([, status, isComplete]) => {
  expect(parseObjectSet({ ...createObjectSet(SET), status }).isComplete).toBe(isComplete);
});

test.for<[what: string, set: KubeObject, why: string]>([
  ["the spec is missing", { ...createObjectSet(SET), spec: undefined }, "spec.revision is not a positive integer"],
  ["the revision is 0", { ...createObjectSet(SET), spec: { revision: 0 } }, "spec.revision is not a positive integer"],
  ["the phases are not a list", withPhases({}), "spec.phases is not a list"],
  ["a phase is not an object", withPhases(["deploy"]), "phase 1 has no list of objects"],
  ["a phase has no objects", withPhases([{ name: "deploy" }]), 'phase "deploy" has no list of objects'],
  ["an entry is empty", withPhases([{ name: "deploy", objects: [{}] }]), 'object 1 of phase "deploy" is neither inline nor a reference'],
  [
    "an object has no name",
    withPhases([{ name: "deploy", objects: [{ object: { apiVersion: "v1", kind: "ConfigMap", metadata: {} } }] }]),
    'object 1 of phase "deploy" has no apiVersion, kind or name',
  ],
  [
    "a reference has no key",
    withPhases([{ name: "deploy", objects: [{ ref: { name: "s" } }] }]),
    'the reference of object 1 of phase "deploy" has no name or key',
  ],
  [
    "there are too many objects",
    withPhases([{ name: "deploy", objects: Array.from({ length: BUNDLE_LIMITS.renderedObjects + 1 }, () => ({})) }]),
    "it contains more than 10000 objects",
  ],
])("parseObjectSet names the mistake when %s", ([, set, why]) => {
  expect(() => parseObjectSet(set)).toThrow(`${UNREADABLE}${why}`);
});

const JSON_TEXT = Buffer.from(JSON.stringify(configMap("a")));
const HUGE = Buffer.from(JSON.stringify(configMap("a", "x", { blob: "x".repeat(BUNDLE_LIMITS.renderedObjectBytes) })));

test.for<[what: string, data: Buffer]>([
  ["JSON", JSON_TEXT],
  ["compressed JSON", gzipSync(JSON_TEXT)],
])("decodeObjectData decodes %s", ([, data]) => {
  expect(decodeObjectData(data.toString("base64"), "object 1", NAMED)).toEqual(configMap("a"));
});

test.for<[what: string, data: unknown, why: string]>([
  ["the key is missing", undefined, "the Secret of object 1 does not have the key of its reference"],
  ["it is not JSON", Buffer.from("password").toString("base64"), "object 1 is not JSON"],
  ["it is not an object", Buffer.from("[]").toString("base64"), "object 1 has no apiVersion, kind or name"],
  ["gzip is damaged", Buffer.from([0x1f, 0x8b, 1]).toString("base64"), "object 1 cannot be decompressed to at most 3145728 bytes"],
  ["it is too large", HUGE.toString("base64"), "object 1 is larger than 3145728 bytes or has more than 500000 separators"],
  ["it is too large when decompressed", gzipSync(HUGE).toString("base64"), "object 1 cannot be decompressed to at most 3145728 bytes"],
])("decodeObjectData fails without values of the object when %s", ([, data, why]) => {
  expect(() => decodeObjectData(data, "object 1", NAMED)).toThrow(`${UNREADABLE}${why}`);
});

test.for<[what: string, set: KubeObject, is: boolean]>([
  ["with the uid of the extension", createObjectSet({ ...SET, ownerUid: "u" }), true],
  ["without owner reference", createObjectSet(SET), true],
  ["of an earlier extension with this name", createObjectSet({ ...SET, ownerUid: "other" }), false],
  ["of another extension", createObjectSet({ ...SET, owner: "y", ownerUid: "u" }), false],
])("isObjectSetOf returns whether the set belongs to an extension for a set %s", ([, set, is]) => {
  expect(isObjectSetOf(set, { name: "x", uid: "u" })).toBe(is);
});

test.for<[apiVersion: string, kind: string, is: boolean]>([
  ["olm.operatorframework.io/v1", "ClusterObjectSet", true],
  ["olm.operatorframework.io/v1", "ClusterExtensionRevision", true],
  ["olm.operatorframework.io/v1", "ClusterExtension", false],
  ["package-operator.run/v1alpha1", "ClusterObjectSet", false],
])("isObjectSetReference, for %s %s, returns %s", ([apiVersion, kind, is]) => {
  expect(isObjectSetReference({ apiVersion, kind })).toBe(is);
});
