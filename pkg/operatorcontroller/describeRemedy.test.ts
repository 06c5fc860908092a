import { expect, test } from "vitest";
import { contentFrom } from "../../test/support/catalogFixture.ts";
import { createCatalog } from "../../test/support/catalogs.ts";
import { CannedPackages, ListedCatalogs } from "../../test/support/extensionFakes.ts";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { parseMinorVersion } from "../version/clusterVersion.ts";
import { CatalogPackages } from "./catalogs/catalogPackages.ts";
import { describeRemedy } from "./dryResolution.ts";

const X: ClusterExtension = {
  ...createExtension("x", { packageName: "p", selector: { matchLabels: { tier: "gold" } } }),
  status: { conditions: [], install: { bundle: { name: "p.v1.0.0", version: "1.0.0" } } },
};
const CLUSTER = { kind: "known", text: "4.18.0", minor: parseMinorVersion("4.18.0") } as const;
const CONTENT = contentFrom({ channels: { s: [{ name: "p.v1.1.0", replaces: "p.v1.0.0" }] }, bundles: ["p.v1.0.0", "p.v1.1.0"] }, "p");
const CATALOGS = new ListedCatalogs([
  createCatalog("c", { digest: "quay.io/c@sha256:1", labels: { tier: "gold" } }),
  createCatalog("other", { digest: "quay.io/c@sha256:2" }),
]);
const HELD = new CannedPackages(new Map([["https://catalogd/catalogs/c", CONTENT]]));
const UNREADABLE = new CannedPackages(new Map());
const NONE = new ListedCatalogs([]);
const signal = new AbortController().signal;

test("describeRemedy returns a version in the selected catalogs that allows the cluster upgrade", async () => {
  const sources = { catalogs: CATALOGS, contents: new CatalogPackages(HELD), now: Date.now };
  expect(await describeRemedy(X, sources, CLUSTER, signal)).toBe('version 1.1.0 of catalog "c" allows the cluster upgrade');
  expect(await describeRemedy(X, sources, CLUSTER, signal, ["p.v1.1.0"])).toBe('version 1.0.0 of catalog "c" allows the cluster upgrade');
});

test("describeRemedy mentions an unreadable catalog, and a selector without catalogs", async () => {
  const unreadable = { catalogs: CATALOGS, contents: new CatalogPackages(UNREADABLE), now: Date.now };
  expect(await describeRemedy(X, unreadable, CLUSTER, signal)).toBe(
    'catalog "c" cannot be searched for a version that allows the cluster upgrade',
  );
  const none = { catalogs: NONE, contents: new CatalogPackages(HELD), now: Date.now };
  expect(await describeRemedy(X, none, CLUSTER, signal)).toBe(
    "cannot search for another version, because spec.source.catalog.selector selects no catalog; uninstall the extension to upgrade the cluster",
  );
});

test("describeRemedy returns undefined when spec, source or version is missing, or the signal aborts", async () => {
  const sources = { catalogs: CATALOGS, contents: new CatalogPackages(UNREADABLE), now: Date.now };
  const { spec: _, ...bare } = X;
  const noSource = { ...X, spec: { ...X.spec, source: { sourceType: "Catalog" as const } } };
  expect(await describeRemedy(bare as ClusterExtension, sources, CLUSTER, signal)).toBeUndefined();
  expect(await describeRemedy(noSource, sources, CLUSTER, signal)).toBeUndefined();
  expect(await describeRemedy(X, sources, { kind: "none" }, signal)).toBeUndefined();
  expect(await describeRemedy(X, sources, CLUSTER, AbortSignal.abort())).toBeUndefined();
});
