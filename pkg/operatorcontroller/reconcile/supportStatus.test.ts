import { expect, test } from "vitest";
import { type CatalogFixture, catalogsFrom } from "../../../test/support/catalogFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated } from "../../../test/support/phases.ts";
import type { ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import type { Authenticated } from "../state/phases.ts";
import { computeExtensionStatus } from "./status.ts";
import { getSupportDelay } from "./supportStatus.ts";

const CATALOG: CatalogFixture = {
  channels: { stable: ["p.v1.0.0"] },
  bundles: ["p.v1.0.0"],
  lifecycle: { "1.0": { phases: ["Full 2025-01-01 2025-12-31", "Maintenance 2026-01-01 2026-06-30"], on: ["4.18"] } },
};
const UNREADABLE: CatalogFixture = { unavailable: "connection refused" };
const INSTALLED = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "i" };
const BUNDLE = { name: "p.v1.0.0", version: "1.0.0" };
const FULL = {
  state: "Supported",
  phase: "Full",
  phaseEndDate: "2025-12-31",
  endDate: "2026-06-30",
  platform: "Unknown",
  platformVersions: ["4.18"],
} as const;

function phaseOf(catalogs: Record<string, CatalogFixture> | undefined, status?: Partial<ClusterExtensionStatus>): Authenticated {
  const extension = { ...createExtension("x", { packageName: "p" }), ...(status ? { status: status as ClusterExtensionStatus } : {}) };
  const phase = buildAuthenticated(extension, { releases: { installed: INSTALLED } });
  if (catalogs) Object.assign(phase.report.catalogs, { packages: catalogsFrom(catalogs, "p") });
  return phase;
}

const supportOn = (phase: Authenticated, day: string): unknown => computeExtensionStatus(phase, undefined, `${day}T10:00:00Z`).support;
const known = { install: { bundle: BUNDLE, catalog: "c" }, support: FULL };

test.each([
  ["the phase of the day", { c: CATALOG }, undefined, "2025-12-31", FULL],
  [
    "the next phase on the next day",
    { c: CATALOG },
    undefined,
    "2026-01-01",
    { ...FULL, phase: "Maintenance", phaseEndDate: "2026-06-30" },
  ],
  [
    "the end of support",
    { c: CATALOG },
    undefined,
    "2026-07-01",
    { state: "Ended", endDate: "2026-06-30", platform: "Unknown", platformVersions: ["4.18"] },
  ],
  ["nothing if the catalog has no support phases", { c: { ...CATALOG, lifecycle: undefined } }, known, "2025-06-01", undefined],
  [
    "unknown for a version without data",
    { c: { ...CATALOG, lifecycle: { "2.0": { phases: ["Full 2025-01-01 2025-12-31"] } } } },
    undefined,
    "2025-06-01",
    { state: "Unknown", platform: "Unknown" },
  ],
  ["the known support while the catalog cannot be read", { c: UNREADABLE }, known, "2025-12-31", FULL],
  ["the known support if catalogs were not read", undefined, known, "2025-12-31", FULL],
  [
    "the last known content of the catalog",
    { c: { ...UNREADABLE, lastKnown: CATALOG } },
    known,
    "2026-02-01",
    { ...FULL, phase: "Maintenance", phaseEndDate: "2026-06-30" },
  ],
  [
    "unknown after the end of the known phase",
    { c: UNREADABLE },
    known,
    "2026-01-01",
    { state: "Unknown", platform: "Unknown", platformVersions: ["4.18"] },
  ],
  [
    "the end of the known support",
    { c: UNREADABLE },
    known,
    "2026-07-01",
    { state: "Ended", endDate: "2026-06-30", platform: "Unknown", platformVersions: ["4.18"] },
  ],
  [
    "nothing about another installed bundle",
    undefined,
    { ...known, install: { bundle: { ...BUNDLE, version: "0.9.0" } } },
    "2025-06-01",
    undefined,
  ],
  ["only the catalog of the installed bundle", { a: CATALOG, c: { ...CATALOG, lifecycle: undefined } }, known, "2025-06-01", undefined],
] as const)("computeExtensionStatus reports %s", (_, catalogs, status, day, want) => {
  expect(supportOn(phaseOf(catalogs as never, status as never), day)).toEqual(want);
});

test.each([
  ["a second after the end of the phase", { c: CATALOG }, "2025-12-31T23:59:00Z", 61_000],
  ["never after the last phase", { c: CATALOG }, "2026-07-01T00:00:00Z", undefined],
  ["never without support phases", { c: { ...CATALOG, lifecycle: undefined } }, "2025-12-31T23:59:00Z", undefined],
] as const)("getSupportDelay returns a time %s", (_, catalogs, now, delay) => {
  expect(getSupportDelay(phaseOf(catalogs as never), Date.parse(now))).toBe(delay);
});

test("getSupportDelay follows the known phase while catalogs cannot be read", () => {
  expect(getSupportDelay(phaseOf(undefined, known as never), Date.parse("2025-12-31T23:59:59Z"))).toBe(2_000);
});
