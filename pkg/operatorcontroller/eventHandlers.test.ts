import { expect, test } from "vitest";
import { type CatalogState, catalogNamed } from "../../test/support/catalogs.ts";
import { extensionNamed } from "../../test/support/extensions.ts";
import { extensionsToResolve, needsPass } from "./eventHandlers.ts";

const ALL = extensionNamed("all", { packageName: "p" });
const GOLD = extensionNamed("gold", { packageName: "p", selector: { matchLabels: { tier: "gold" } } });
const STATE: CatalogState = { digest: "quay.io/c@sha256:1", labels: { tier: "gold" } };

test.for<[string, CatalogState | undefined, CatalogState | undefined, string[]]>([
  ["new content wakes every extension that selects the catalog", STATE, { ...STATE, digest: "quay.io/c@sha256:2" }, ["all", "gold"]],
  ["the same again wakes none", STATE, STATE, []],
  ["a new priority wakes them", STATE, { ...STATE, priority: 7 }, ["all", "gold"]],
  ["a label that deselects wakes the extension that selected it before", STATE, { ...STATE, labels: {} }, ["all", "gold"]],
  [
    "a catalog that nobody of a selector ever saw wakes only the others",
    { ...STATE, labels: {} },
    { ...STATE, labels: {}, priority: 1 },
    ["all"],
  ],
  ["Serving lost wakes them", STATE, { ...STATE, serving: false }, ["all", "gold"]],
  ["switched off wakes them", STATE, { ...STATE, availabilityMode: "Unavailable" }, ["all", "gold"]],
  ["a new catalog wakes them", undefined, STATE, ["all", "gold"]],
  ["a deleted catalog wakes them", STATE, undefined, ["all", "gold"]],
])("%s", ([, before, after, want]) => {
  const made = (state: CatalogState | undefined) => state && catalogNamed("c", state);
  expect(extensionsToResolve([ALL, GOLD], made(after), made(before)).map(({ metadata }) => metadata.name)).toEqual(want);
});

test("a pass's own writes ask for no further pass, an edit does", () => {
  const finalized = { ...ALL, metadata: { ...ALL.metadata, finalizers: ["x"], resourceVersion: "2" }, status: { conditions: [] } };
  expect(needsPass(finalized, ALL)).toBe(false);
  expect(needsPass({ ...ALL, metadata: { ...ALL.metadata, generation: 2 } }, ALL)).toBe(true);
  expect(needsPass({ ...ALL, metadata: { ...ALL.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } }, ALL)).toBe(true);
  expect(needsPass(ALL, undefined)).toBe(true);
  expect(needsPass({ ...ALL, metadata: { ...ALL.metadata, finalizers: ["orphan"] } }, ALL)).toBe(true);
});
