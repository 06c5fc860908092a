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
  ["an object as it was applied has none", object({ spec: { replicas: 1 }, status: { a: 1 } }), object({ spec: { replicas: 1 } }), []],
  [
    "a changed field is told with its manager",
    object({ spec: { replicas: 3 } }, [owned("kubectl-scale", { "f:spec": { "f:replicas": {} } })]),
    object({ spec: { replicas: 1 } }),
    ["spec.replicas by kubectl-scale"],
  ],
  [
    "managers of other fields are not told, nor are we",
    object({ spec: { replicas: 3, paused: true } }, [
      owned(OURS, { "f:spec": { "f:replicas": {} } }, "Apply"),
      owned("a", { "f:spec": { "f:paused": {} } }),
      owned("b", { "f:spec": { "f:replicas": {} } }),
    ]),
    object({ spec: { replicas: 1, paused: true } }),
    ["spec.replicas by b"],
  ],
  ["a removed field has no manager", object({ data: {} }), object({ data: { a: "1" } }), ["data.a by "]],
  [
    "what others wrote meanwhile is none, only fields of our apply are",
    object({ spec: { replicas: 1 } }),
    object({ spec: { replicas: 2, paused: true } }, [owned(OURS, { "f:spec": { "f:paused": {} } }, "Apply")]),
    ["spec.paused by "],
  ],
  [
    "of a list that we own as a whole every entry counts, also one too many",
    object({ spec: { args: ["--a", "--b"] } }),
    object({ spec: { args: ["--a"] } }, [owned(OURS, { "f:spec": { "f:args": {} } }, "Apply")]),
    ["spec.args[1] by "],
  ],
  [
    "an entry of a list is found by its key, wherever it stands",
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
    "who owns a list as a whole owns what is in it",
    object({ spec: { args: ["--b"] } }, [owned("x", { "f:spec": { "f:args": {} } })]),
    object({ spec: { args: ["--a"] } }),
    ["spec.args[0] by x"],
  ],
])("%s", ([, before, after, want]) => {
  expect(findDriftedFields(before, after).map(({ path, managers }) => `${path} by ${managers.join(" and ")}`)).toEqual(want);
});
