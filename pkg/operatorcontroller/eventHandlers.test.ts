import { expect, test } from "vitest";
import { type CatalogState, createCatalog } from "../../test/support/catalogs.ts";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Condition } from "../api/k8s.ts";
import type { Priority } from "../controller/workQueue.ts";
import { findExtensionsToResolve, getPriority, needsReconcile } from "./eventHandlers.ts";

const ALL = createExtension("all", { packageName: "p" });
const GOLD = createExtension("gold", { packageName: "p", selector: { matchLabels: { tier: "gold" } } });
const STATE: CatalogState = { digest: "quay.io/c@sha256:1", labels: { tier: "gold" } };

test.for<[string, CatalogState | undefined, CatalogState | undefined, string[]]>([
  ["every extension that selects the catalog when its content changes", STATE, { ...STATE, digest: "quay.io/c@sha256:2" }, ["all", "gold"]],
  ["no extensions when nothing changes", STATE, STATE, []],
  ["every extension that selects the catalog when its priority changes", STATE, { ...STATE, priority: 7 }, ["all", "gold"]],
  ["the extensions that selected the catalog before when its labels change", STATE, { ...STATE, labels: {} }, ["all", "gold"]],
  [
    "only extensions without selector when no selector matches before or after",
    { ...STATE, labels: {} },
    { ...STATE, labels: {}, priority: 1 },
    ["all"],
  ],
  ["Serving lost wakes them", STATE, { ...STATE, serving: false }, ["all", "gold"]],
  [
    "every extension that selects the catalog when it becomes unavailable",
    STATE,
    { ...STATE, availabilityMode: "Unavailable" },
    ["all", "gold"],
  ],
  ["every extension that selects the catalog when it is created", undefined, STATE, ["all", "gold"]],
  ["every extension that selects the catalog when it is deleted", STATE, undefined, ["all", "gold"]],
])("findExtensionsToResolve returns %s", ([, before, after, want]) => {
  const toCatalog = (state: CatalogState | undefined) => state && createCatalog("c", state);
  expect(findExtensionsToResolve([ALL, GOLD], toCatalog(after), toCatalog(before)).map(({ metadata }) => metadata.name)).toEqual(want);
});

test("needsReconcile is true for an edit, but not for the controller's own writes", () => {
  const finalized = { ...ALL, metadata: { ...ALL.metadata, finalizers: ["x"], resourceVersion: "2" }, status: { conditions: [] } };
  expect(needsReconcile(finalized, ALL)).toBe(false);
  expect(needsReconcile({ ...ALL, metadata: { ...ALL.metadata, generation: 2 } }, ALL)).toBe(true);
  expect(needsReconcile({ ...ALL, metadata: { ...ALL.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }, ALL)).toBe(true);
  expect(needsReconcile(ALL, undefined)).toBe(true);
  expect(needsReconcile({ ...ALL, metadata: { ...ALL.metadata, finalizers: ["orphan"] } }, ALL)).toBe(true);
});

const condition = (type: string, status: Condition["status"], reason: string, observedGeneration: number): Condition => ({
  type,
  status,
  reason,
  message: "",
  observedGeneration,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

function withProgress(reason: string, observedGeneration: number, metadata: Partial<ClusterExtension["metadata"]> = {}): ClusterExtension {
  const install = { bundle: { name: "p.v1.0.0", version: "1.0.0" } };
  const conditions = [condition("Progressing", "True", reason, observedGeneration)];
  return { ...ALL, metadata: { ...ALL.metadata, generation: 2, ...metadata }, status: { install, conditions } };
}

test.for<[string, ClusterExtension | undefined, Priority]>([
  ["low when the extension is installed as specified", withProgress("Succeeded", 2), "low"],
  ["normal when its spec has changed", withProgress("Succeeded", 1), "normal"],
  ["normal when its last reconcile failed", withProgress("Retrying", 2), "normal"],
  ["normal when it is being deleted", withProgress("Succeeded", 2, { deletionTimestamp: "2026-01-01T00:00:00Z" }), "normal"],
  ["normal when nothing is installed", ALL, "normal"],
  ["normal when the extension is unknown", undefined, "normal"],
])("getPriority is %s", ([, extension, want]) => {
  expect(getPriority(extension)).toBe(want);
});
