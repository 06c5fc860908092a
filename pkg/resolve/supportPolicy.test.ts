import { expect, test } from "vitest";
import { type CatalogFixture, type ClusterFixture, catalogsFrom, clusterFrom } from "../../test/support/catalogFixture.ts";
import { findExclusions } from "./exclusions.ts";
import { findRemedy } from "./remedy.ts";
import type { Resolution } from "./resolution.ts";
import { recordResolution } from "./resolutionRecord.ts";
import { resolve } from "./resolve.ts";

const BUNDLES: CatalogFixture = {
  channels: {
    stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v1.2.0", replaces: "p.v1.1.0", skips: ["p.v1.0.0"] }],
  },
  bundles: ["p.v1.0.0", "p.v1.1.0", "p.v1.2.0"],
};
const CATALOG: CatalogFixture = {
  ...BUNDLES,
  lifecycle: {
    "1.0": { phases: ["Full 2024-01-01 2024-06-30"] },
    "1.1": { phases: ["Full 2024-07-01 2025-06-30", "Maintenance 2025-07-01 2026-06-30"], on: ["4.18", "4.19"] },
  },
};
const TODAY = "2026-01-15";
const V1_0 = { name: "p.v1.0.0", version: "1.0.0" };

type Policy = "Ignore" | "Warn" | "Enforce";

function resolveOn(
  policy: Policy,
  rest: { today?: string; cluster?: ClusterFixture; installed?: typeof V1_0; fixture?: CatalogFixture; version?: string } = {},
): Resolution {
  const { today = TODAY, cluster, installed, fixture = CATALOG, version } = rest;
  const source = { packageName: "p", supportPolicy: policy, ...(version === undefined ? {} : { version }) };
  return resolve({ source, catalogs: catalogsFrom({ c: fixture }, "p"), installed, cluster: clusterFrom(cluster), today });
}

const chosen = (resolution: Resolution): string => (resolution.kind === "resolved" ? resolution.bundle.name : resolution.reason);
const problems = (resolution: Resolution): unknown =>
  resolution.kind === "resolved"
    ? resolution.problems.map(({ type, severity, message }) => [type, severity, message])
    : resolution.explanation;

test.each([
  ["Ignore", {}, "p.v1.2.0", []],
  ["Ignore", { installed: V1_0, version: "1.0.0" }, "p.v1.0.0", []],
  [
    "Warn",
    {},
    "p.v1.2.0",
    [
      [
        "VersionNotSupported",
        "Info",
        'bundle "p.v1.2.0" is not supported: the catalog has no support phases for this version, and unknown does not count as supported',
      ],
    ],
  ],
  [
    "Warn",
    { version: "1.0.0" },
    "p.v1.0.0",
    [["VersionNotSupported", "Warning", 'bundle "p.v1.0.0" is not supported: its support ended on 2024-06-30']],
  ],
  ["Warn", { version: "1.1.0" }, "p.v1.1.0", []],
  [
    "Warn",
    { version: "1.1.0", today: "2024-06-30" },
    "p.v1.1.0",
    [["VersionNotSupported", "Warning", 'bundle "p.v1.1.0" is not supported: its support starts on 2024-07-01 with phase Full']],
  ],
  [
    "Warn",
    { version: "1.1.0", cluster: "4.17.3" },
    "p.v1.1.0",
    [["VersionNotSupported", "Warning", 'bundle "p.v1.1.0" is not supported: it supports OpenShift 4.18, 4.19, but the cluster has 4.17']],
  ],
  ["Enforce", {}, "p.v1.1.0", []],
  ["Enforce", { cluster: "4.19.0" }, "p.v1.1.0", []],
  ["Enforce", { installed: V1_0 }, "p.v1.1.0", []],
  [
    "Enforce",
    { installed: V1_0, version: "1.0.0" },
    "p.v1.0.0",
    [["VersionNotSupported", "Warning", 'bundle "p.v1.0.0" is not supported: its support ended on 2024-06-30']],
  ],
] as const)("resolve with supportPolicy %s and %j chooses %s", (policy, rest, bundle, want) => {
  const resolution = resolveOn(policy, rest);
  expect(chosen(resolution)).toBe(bundle);
  expect(problems(resolution)).toEqual(want);
});

test.each([
  [
    "all versions are out of support",
    { today: "2027-01-01" },
    ['bundle "p.v1.1.0" (its support ended on 2026-06-30)', "supportPolicy Warn would allow 1.2.0"],
  ],
  [
    "the catalog has no data",
    { fixture: BUNDLES },
    ["the catalog has no support phases of this package", "supportPolicy Warn would allow 1.2.0"],
  ],
  [
    "the cluster has another version",
    { cluster: "4.17.0" },
    ['bundle "p.v1.1.0" (it supports OpenShift 4.18, 4.19, but the cluster has 4.17)'],
  ],
  [
    "another filter excludes the supported version",
    { version: "1.2.0" },
    ["version 1.1.0 is supported, but spec or the upgrade edges exclude it"],
  ],
] as const)("resolve with supportPolicy Enforce explains that %s", (_, rest, parts) => {
  const resolution = resolveOn("Enforce", rest);
  expect(chosen(resolution)).toBe("NoMatchingBundle");
  if (resolution.kind !== "unresolved") return;
  expect(resolution.explanation).toContain("that supportPolicy Enforce allows");
  for (const part of parts) expect(resolution.explanation).toContain(part);
});

test("resolve with supportPolicy Enforce mentions the better bundle that it excludes, and records the rule", () => {
  const resolution = resolveOn("Enforce");
  if (resolution.kind !== "resolved") throw new Error(resolution.explanation);
  expect(resolution.explanation).toContain(
    'supportPolicy Enforce excludes bundle "p.v1.2.0" (the catalog has no support phases for this version',
  );
  expect(resolution.support).toMatchObject({ state: "Supported", phase: "Maintenance", phaseEndDate: "2026-06-30" });
  const record = recordResolution("p", resolution);
  expect(record.asked).toMatchObject({ supportPolicy: "Enforce", today: TODAY });
  expect(record.catalogs[0]?.filters).toMatchObject([{ filter: "support", left: 1, removed: 2 }]);
});

test("findExclusions lists support also if an earlier rule excludes the candidate", () => {
  const resolution = resolveOn("Enforce", { version: "1.1.0" });
  if (resolution.kind !== "resolved") throw new Error(resolution.explanation);
  const [result] = resolution.filtered.results;
  const candidate = result?.all.find(({ bundle }) => bundle.name === "p.v1.0.0");
  if (!result || !candidate) throw new Error("not filtered");
  expect(findExclusions({ result, candidate }, resolution.filtered)).toMatchObject([
    { rule: "versionRange" },
    { rule: "support", text: "its support ended on 2024-06-30", remedy: "supportPolicy Warn allows it" },
  ]);
});

test("resolve without a day ignores supportPolicy", () => {
  const source = { packageName: "p", supportPolicy: "Enforce" } as const;
  expect(chosen(resolve({ source, catalogs: catalogsFrom({ c: CATALOG }, "p"), cluster: { kind: "none" } }))).toBe("p.v1.2.0");
});

test("findRemedy proposes only versions that supportPolicy Enforce allows", () => {
  const fixture: CatalogFixture = {
    channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v1.2.0", replaces: "p.v1.1.0" }] },
    bundles: [{ name: "p.v1.0.0", max: "4.18" }, "p.v1.1.0", "p.v1.2.0"],
    lifecycle: { "1.0": { phases: ["Full 2026-01-01 2026-12-31"] }, "1.2": { phases: ["Full 2026-01-01 2026-12-31"] } },
  };
  const find = (supportPolicy: Policy): unknown => {
    const source = { packageName: "p", supportPolicy, upgradeConstraintPolicy: "SelfCertified" as const };
    const catalogs = catalogsFrom({ c: fixture }, "p");
    return findRemedy({ source, catalogs, installed: V1_0, blocking: ["p.v1.0.0"], cluster: { major: 4, minor: 18 }, today: TODAY });
  };
  expect(find("Warn")).toMatchObject({ version: "1.1.0" });
  expect(find("Enforce")).toMatchObject({ version: "1.2.0" });
});
