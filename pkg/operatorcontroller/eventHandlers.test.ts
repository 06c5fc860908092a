import { expect, test } from "vitest";
import { type CatalogState, createCatalog } from "../../test/support/catalogs.ts";
import { createExtension } from "../../test/support/extensions.ts";
import { findExtensionsToResolve, needsReconcile } from "./eventHandlers.ts";

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
