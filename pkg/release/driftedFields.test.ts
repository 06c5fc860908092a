import { expect, test } from "vitest";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { findDriftedFields } from "./drift.ts";

const owned = (manager: string, fieldsV1: JsonObject, operation = "Update"): JsonObject => ({ manager, operation, fieldsV1 });
const OURS = "olm.operatorframework.io";
const object = (members: JsonObject, managedFields: JsonObject[] = []): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", namespace: "ns", managedFields },
  ...members,
});

// Source: O-14; D-31.
test.for<[name: string, before: KubeObject, after: KubeObject, want: string[]]>([
  [
    "findDriftedFields returns nothing for an object as it was applied",
    object({ spec: { replicas: 1 }, status: { a: 1 } }),
    object({ spec: { replicas: 1 } }),
    [],
  ],
  [
    "findDriftedFields returns a changed field with its manager",
    object({ spec: { replicas: 3 } }, [owned("kubectl-scale", { "f:spec": { "f:replicas": {} } })]),
    object({ spec: { replicas: 1 } }),
    ["spec.replicas by kubectl-scale"],
  ],
  [
    "findDriftedFields omits managers of other fields and ourselves",
    object({ spec: { replicas: 3, paused: true } }, [
      owned(OURS, { "f:spec": { "f:replicas": {} } }, "Apply"),
      owned("a", { "f:spec": { "f:paused": {} } }),
      owned("b", { "f:spec": { "f:replicas": {} } }),
    ]),
    object({ spec: { replicas: 1, paused: true } }),
    ["spec.replicas by b"],
  ],
  ["findDriftedFields returns a removed field without a manager", object({ data: {} }), object({ data: { a: "1" } }), ["data.a by "]],
  [
    "findDriftedFields ignores fields that our apply does not set",
    object({ spec: { replicas: 1 } }),
    object({ spec: { replicas: 2, paused: true } }, [owned(OURS, { "f:spec": { "f:paused": {} } }, "Apply")]),
    ["spec.paused by "],
  ],
  [
    "findDriftedFields compares every entry of a list that we own as a whole, including extra ones",
    object({ spec: { args: ["--a", "--b"] } }),
    object({ spec: { args: ["--a"] } }, [owned(OURS, { "f:spec": { "f:args": {} } }, "Apply")]),
    ["spec.args[1] by "],
  ],
  [
    "findDriftedFields identifies a list entry by key at any index",
    object(
      {
        spec: {
          ports: [
            { name: "a", port: 1 },
            { name: "b", port: 9 },
          ],
        },
      },
      [owned("x", { "f:spec": { "f:ports": { 'k:{"name":"b"}': { "f:port": {} } } } })],
    ),
    object({
      spec: {
        ports: [
          { name: "b", port: 2 },
          { name: "a", port: 1 },
        ],
      },
    }),
    ["spec.ports[name=b].port by x"],
  ],
  [
    "findDriftedFields attributes entries to the manager that owns the whole list",
    object({ spec: { args: ["--b"] } }, [owned("x", { "f:spec": { "f:args": {} } })]),
    object({ spec: { args: ["--a"] } }),
    ["spec.args[0] by x"],
  ],
])("%s", ([, before, after, want]) => {
  expect(findDriftedFields(before, after).map(({ path, managers }) => `${path} by ${managers.join(" and ")}`)).toEqual(want);
});
