import { expect, test } from "vitest";
import { contentFrom } from "../../test/support/catalogFixture.ts";
import { createCatalog } from "../../test/support/catalogs.ts";
import { CannedPackages, ListedCatalogs } from "../../test/support/extensionFakes.ts";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { applyFilter, type FilterResult } from "../resolve/filters.ts";
import type { FilteredCatalogs } from "../resolve/resolution.ts";
import { chooseBest } from "../resolve/resolve.ts";
import { CatalogPackages } from "./catalogs/catalogPackages.ts";
import { replayResolution } from "./dryResolution.ts";

const CONTENT = contentFrom(
  { channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] }, bundles: ["p.v1.0.0", "p.v1.1.0"] },
  "p",
);
const INSTALLED = { install: { bundle: { name: "p.v1.0.0", version: "1.0.0" } } };

/** Rejects every version except the first. */
const withoutNewer = (found: FilterResult): FilterResult => {
  const newer = found.allowed.filter(({ bundle }) => bundle.name !== "p.v1.0.0");
  return applyFilter(found, {
    name: "dependencies",
    asks: "that can be installed",
    removed: new Map(newer.map((one) => [one, "it requires q"])),
    near: [],
  });
};

function recordFor(extension: ClusterExtension) {
  const catalogs = new ListedCatalogs([
    createCatalog("c", { digest: "quay.io/c@sha256:1", labels: { tier: "gold" } }),
    createCatalog("other", { digest: "quay.io/other@sha256:1", labels: { tier: "silver" } }),
  ]);
  const contents = new CatalogPackages(
    new CannedPackages(new Map(["c", "other"].map((name) => [`https://catalogd/catalogs/${name}`, CONTENT] as const))),
  );
  const choice = {
    choose: (_: ClusterExtension, filtered: FilteredCatalogs) =>
      Promise.resolve({ resolution: chooseBest({ ...filtered, results: filtered.results.map(withoutNewer) }) }),
  };
  return replayResolution(extension, { catalogs, contents, choice, now: Date.now }, { kind: "none" }, new AbortController().signal);
}

// Source: D-07.
test("replayResolution starts from the installed bundle in status, reads only the selected catalogs, and checks dependencies", async () => {
  const extension = createExtension("x", { packageName: "p", selector: { matchLabels: { tier: "gold" } } });
  const record = await recordFor({ ...extension, status: INSTALLED });
  expect(JSON.stringify(record)).not.toContain("other");
  expect(record?.asked?.installed).toEqual({ bundle: "p.v1.0.0", version: "1.0.0" });
  expect(record?.catalogs[0]?.filters.map(({ filter, left }) => `${filter}: ${left}`)).toEqual(["upgradeEdges: 2", "dependencies: 1"]);
  expect(record?.outcome).toMatchObject({ kind: "resolved", winner: { bundle: "p.v1.0.0" } });
});

test("replayResolution does not check dependencies when their policy is Ignore", async () => {
  const base = createExtension("x", { packageName: "p", selector: { matchLabels: { tier: "gold" } } });
  const record = await recordFor({ ...base, spec: { ...base.spec, dependencies: { policy: "Ignore" } } });
  expect(record?.outcome).toMatchObject({ kind: "resolved", winner: { bundle: "p.v1.1.0" } });
});

test("replayResolution reports an invalid spec, and returns undefined for an extension without a catalog source", async () => {
  const record = await recordFor(createExtension("x", { packageName: "p", version: "nonsense" }));
  expect(record).toMatchObject({ catalogs: [], outcome: { kind: "unresolved", reason: "InvalidVersionRange" } });
  const { spec: _, ...without } = createExtension("x", { packageName: "p" });
  expect(await recordFor(without as ClusterExtension)).toBeUndefined();
});
