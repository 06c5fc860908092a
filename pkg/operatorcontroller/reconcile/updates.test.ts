import { expect, test } from "vitest";
import { type CatalogFixture, catalogsFrom } from "../../../test/support/catalogFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated } from "../../../test/support/phases.ts";
import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { applyFilter } from "../../resolve/filters.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import type { Authenticated } from "../state/phases.ts";
import { computeExtensionStatus } from "./status.ts";

const CATALOG: CatalogFixture = {
  channels: {
    stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v1.2.0", replaces: "p.v1.1.0" }],
  },
  bundles: ["p.v1.0.0", "p.v1.1.0", "p.v1.2.0"],
};
const bundle = (version: string): InstalledBundle => ({ packageName: "p", name: `p.v${version}`, version, image: "i" });
const EXTENSION = createExtension("x", { packageName: "p" });
const LATER = { version: "1.2.0", bundle: "p.v1.2.0", catalog: "c", edge: "replaces", channel: "stable", deprecated: false } as const;

/** Returns the phase of a reconcile that resolved an upgrade from `before` and ended with `installed`. */
function passed(before: InstalledBundle, installed: InstalledBundle | undefined, fixture: CatalogFixture = CATALOG): Authenticated {
  const catalogs = catalogsFrom({ c: fixture }, "p");
  const filtered = filterCandidates({ source: { packageName: "p" }, catalogs, installed: before });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  const phase = buildAuthenticated(EXTENSION, { releases: { installed } });
  Object.assign(phase.report.catalogs, { packages: catalogs, filtered });
  return phase;
}

function updatesIn(phase: Authenticated, status?: ClusterExtensionStatus): unknown {
  const extension: ClusterExtension = status ? { ...EXTENSION, status } : EXTENSION;
  const { availableUpdates, blockedUpdate } = computeExtensionStatus({ ...phase, extension }, undefined, "2026-01-01T00:00:00Z");
  return [availableUpdates?.map(({ version }) => version), blockedUpdate?.version];
}

// Source: D-03, D-25.
test("computeExtensionStatus lists available updates and the newest blocked update", () => {
  const installed = bundle("1.0.0");
  expect(updatesIn(passed(installed, installed))).toEqual([["1.1.0"], "1.2.0"]);
});

test("computeExtensionStatus lists the updates of the new bundle after an upgrade", () => {
  expect(updatesIn(passed(bundle("1.0.0"), bundle("1.1.0")))).toEqual([["1.2.0"], undefined]);
  expect(updatesIn(passed(bundle("1.1.0"), bundle("1.2.0")))).toEqual([[], undefined]);
});

test("computeExtensionStatus reports an update that dependencies block, also after an upgrade to another bundle", () => {
  const fixture: CatalogFixture = {
    channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v1.2.0", skipRange: "<1.2.0" }] },
    bundles: ["p.v1.0.0", "p.v1.1.0", "p.v1.2.0"],
  };
  const phase = passed(bundle("1.0.0"), bundle("1.0.0"), fixture);
  const { filtered } = phase.report.catalogs;
  const results = (filtered?.results ?? []).map((found) => {
    const removed = new Map(found.allowed.filter((one) => one.bundle.name === "p.v1.2.0").map((one) => [one, "it requires package b"]));
    return applyFilter(found, { name: "dependencies", asks: "that can be installed", removed, near: ["1.2.0: install b"] });
  });
  if (!filtered) throw new Error("nothing was filtered");
  for (const installed of [filtered.installed as InstalledBundle, bundle("1.1.0")]) {
    phase.report.catalogs.filtered = { ...filtered, results };
    phase.releases.installed = installed;
    const status = computeExtensionStatus(phase, undefined, "2026-01-01T00:00:00Z");
    expect(status.availableUpdates?.map(({ version }) => version)).toEqual(installed.version === "1.0.0" ? ["1.1.0"] : []);
    expect(status.blockedUpdate).toMatchObject({
      version: "1.2.0",
      reason: "Dependencies",
      message: "it requires package b: 1.2.0: install b",
    });
  }
});

test("computeExtensionStatus lists no updates when nothing is installed or a relevant catalog is unavailable", () => {
  expect(updatesIn(passed(bundle("1.0.0"), undefined))).toEqual([undefined, undefined]);
  const installed = bundle("1.0.0");
  const known = { availableUpdates: [LATER], install: { bundle: { name: "p.v1.0.0", version: "1.0.0" } } };
  expect(updatesIn(passed(installed, installed, { unavailable: "it is not served" }), known)).toEqual([undefined, undefined]);
});

test("computeExtensionStatus keeps known updates of the same bundle when the catalogs were not read", () => {
  const withInstalled = (installed: InstalledBundle): Authenticated => buildAuthenticated(EXTENSION, { releases: { installed } });
  const known = { availableUpdates: [LATER], install: { bundle: { name: "p.v1.1.0", version: "1.1.0" } } };
  expect(updatesIn(withInstalled(bundle("1.1.0")), known)).toEqual([["1.2.0"], undefined]);
  expect(updatesIn(withInstalled(bundle("1.2.0")), known)).toEqual([undefined, undefined]);
});

test("computeExtensionStatus returns an equal status for the same catalogs", () => {
  const installed = bundle("1.0.0");
  const first = computeExtensionStatus(passed(installed, installed), undefined, "2026-01-01T00:00:00Z");
  const later = computeExtensionStatus(
    { ...passed(installed, installed), extension: { ...EXTENSION, status: first } },
    undefined,
    "2026-02-01T00:00:00Z",
  );
  expect(later).toEqual(first);
});
