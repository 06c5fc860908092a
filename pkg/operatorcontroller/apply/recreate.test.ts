import { expect, test } from "vitest";
import { isImmutableField, isQuotaExceeded, KubeError } from "../../kube/errors.ts";
import { isRecreatable } from "./applier.ts";

const invalid = (...messages: unknown[]): KubeError =>
  new KubeError("invalid", { status: 422, reason: "Invalid", details: { causes: messages.map((message) => ({ message })) } });

test.for<[why: string, err: unknown, want: boolean]>([
  ["a selector", invalid('Invalid value: {"a":"b"}: field is immutable'), true],
  ["a role reference", invalid("Invalid value: {}: cannot change roleRef"), true],
  ["a StatefulSet's fields", invalid("Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden"), true],
  ["the words about a StatefulSet's fields in another order", invalid("are forbidden: for fields other than x, updates to y"), false],
  ["an immutable field and another mistake", invalid("field is immutable", "must be greater than or equal to 0"), false],
  ["another mistake", invalid("must be no more than 63 characters"), false],
  ["a cause without a message", invalid(undefined), false],
  ["no causes, but a message", new KubeError("spec: field is immutable", { status: 422, reason: "Invalid" }), true],
  ["another status", new KubeError("field is immutable", { status: 403, reason: "Forbidden" }), false],
  ["no response", new Error("field is immutable"), false],
])("isImmutableField recognizes only errors about immutable fields when the error is %s", ([, err, want]) => {
  expect(isImmutableField(err)).toBe(want);
});

test.for<[why: string, err: unknown, want: boolean]>([
  [
    "an exceeded quota",
    new KubeError('pods "a" is forbidden: exceeded quota: q, requested: pods=1', { status: 403, reason: "Forbidden" }),
    true,
  ],
  [
    "a quota without a status",
    new KubeError('pods "a" is forbidden: status unknown for quota: q', { status: 403, reason: "Forbidden" }),
    true,
  ],
  ["a missing permission", new KubeError('pods "a" is forbidden: User "u" cannot patch', { status: 403, reason: "Forbidden" }), false],
  ["another status", new KubeError("exceeded quota: q", { status: 422, reason: "Invalid" }), false],
  ["another error", new Error("exceeded quota: q"), false],
])("isQuotaExceeded recognizes only denials of a quota when the error is %s", ([, err, want]) => {
  expect(isQuotaExceeded(err)).toBe(want);
});

// Source: O-04.
test("isRecreatable is true only for Deployments and bindings, which contain no data", () => {
  const kinds = [
    ["apps/v1", "Deployment"],
    ["rbac.authorization.k8s.io/v1", "RoleBinding"],
    ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
    ["apps/v1", "StatefulSet"],
    ["v1", "PersistentVolumeClaim"],
    ["batch/v1", "Job"],
    ["example.com/v1", "Deployment"],
  ] as const;
  expect(kinds.filter(([apiVersion, kind]) => isRecreatable({ apiVersion, kind }))).toEqual(kinds.slice(0, 3));
});
