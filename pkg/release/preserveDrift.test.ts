import { expect, test } from "vitest";
import { FIELD_MANAGER } from "../api/constants.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { preserveDrift } from "./drift.ts";
import { getObjectKey } from "./identity.ts";

const LABELS = { "olm.operatorframework.io/owner-name": "x", "olm.operatorframework.io/package-name": "p", app: "d" };
const F_LABELS = Object.fromEntries(Object.keys(LABELS).map((key) => [`f:${key}`, {}]));

interface Parts {
  replicas?: number;
  args?: string[];
  paused?: boolean;
  labels?: Record<string, string> | undefined;
  manager?: JsonObject[];
}

const deployment = ({ replicas = 1, args = ["a", "b"], labels = LABELS, manager = [], paused }: Parts = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", namespace: "ns", labels, ...(manager.length > 0 ? { managedFields: manager } : {}) },
  spec: {
    replicas,
    ...(paused === undefined ? {} : { paused }),
    template: { spec: { containers: [{ name: "c", args }] } },
  },
});
const ours = (...spec: string[]): JsonObject => ({
  manager: FIELD_MANAGER,
  operation: "Apply",
  fieldsV1: {
    "f:metadata": { "f:labels": F_LABELS },
    "f:spec": {
      ...Object.fromEntries(spec.filter((field) => field !== "args").map((field) => [`f:${field}`, {}])),
      "f:template": { "f:spec": { "f:containers": { 'k:{"name":"c"}': { ".": {}, "f:name": {}, "f:args": {} } } } },
    },
  },
});
const somebody = (...spec: string[]): JsonObject => ({
  manager: "kubectl-edit",
  operation: "Update",
  fieldsV1: { "f:spec": Object.fromEntries(spec.map((field) => [`f:${field}`, {}])) },
});
const all = ours("replicas");
const byKey = (object: KubeObject): Map<string, KubeObject> => new Map([[getObjectKey(object), object]]);

// Source: O-16 (Warn on a taken-over extension).
test.for<[what: string, live: KubeObject, after: KubeObject, want: KubeObject]>([
  ["nothing", deployment({ manager: [all] }), deployment({ manager: [all] }), deployment()],
  [
    "a value, which keeps its owner",
    deployment({ replicas: 5, manager: [ours(), somebody("replicas")] }),
    deployment({ manager: [all] }),
    { ...deployment(), spec: { template: { spec: { containers: [{ name: "c", args: ["a", "b"] }] } } } },
  ],
  [
    "a list without keys, as a whole; a value without another owner is applied unchanged",
    deployment({ args: ["a", "x", "y"], manager: [all] }),
    deployment({ manager: [all] }),
    deployment({ args: ["a", "x", "y"] }),
  ],
  [
    "all labels, including our marks",
    { ...deployment({ manager: [all] }), metadata: { name: "d", namespace: "ns", managedFields: [all] } },
    deployment({ manager: [all] }),
    deployment({ labels: Object.fromEntries(Object.entries(LABELS).filter(([key]) => key !== "app")) }),
  ],
  [
    "fields that are not ours",
    deployment({ paused: true, manager: [all, somebody("paused")] }),
    deployment({ manager: [all] }),
    deployment(),
  ],
])("preserveDrift keeps drift of a release that another implementation installed: %s", ([, live, after, want]) => {
  const object = deployment();
  const recorded = [deployment({ labels: { app: "d" } })];
  const [applied] = preserveDrift([object], { recorded, live: byKey(live), after: byKey(after) });
  expect(applied).toEqual(want);
  if (want === object) expect(applied).toBe(object);
});

test("preserveDrift applies changes of the new rendering", () => {
  const object = deployment({ replicas: 3 });
  const live = deployment({ manager: [all] });
  const after = deployment({ replicas: 3, manager: [all] });
  expect(preserveDrift([object], { recorded: [deployment()], live: byKey(live), after: byKey(after) })).toEqual([object]);
});

test("preserveDrift does not restore deleted objects, but keeps new objects of the rendering", () => {
  const made = { ...deployment(), metadata: { name: "new", namespace: "ns" } };
  expect(preserveDrift([deployment(), made], { recorded: [deployment()], live: new Map(), after: new Map() })).toEqual([made]);
});
