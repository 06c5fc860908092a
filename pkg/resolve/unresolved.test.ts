import { expect, test } from "vitest";
import { type CatalogFixture, catalogsFrom } from "../../test/support/catalogFixture.ts";
import type { ResolveRequest, Unresolved, UnresolvedReason } from "./resolution.ts";
import { resolve } from "./resolve.ts";
import type { BundleMetadata } from "./successors.ts";
import { getUnresolvedDetails, type UnresolvedDetails } from "./unresolved.ts";

const STABLE: CatalogFixture = {
  channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
  bundles: ["p.v1.0.0", "p.v1.1.0"],
};
const INSTALLED: BundleMetadata = { name: "p.v1.0.0", version: "1.0.0" };

function failed(
  catalogs: Readonly<Record<string, CatalogFixture>>,
  source: Partial<ResolveRequest["source"]> = {},
  installed?: BundleMetadata,
): Unresolved {
  const resolution = resolve({ source: { packageName: "p", ...source }, catalogs: catalogsFrom(catalogs, "p"), installed });
  if (resolution.kind === "resolved") throw new Error(`resolved: ${resolution.explanation}`);
  return resolution;
}

test.for<[reason: UnresolvedReason, given: Unresolved, details: Partial<UnresolvedDetails>]>([
  [
    "InvalidSelector",
    failed({ c: STABLE }, { selector: { matchExpressions: [{ key: "a", operator: "bad" }] } }),
    { error: '"bad" is not a valid label selector operator', searched: [], unavailable: [] },
  ],
  ["InvalidVersionRange", failed({ c: STABLE }, { version: "foobar" }), { version: "foobar", error: 'improper constraint: "foobar"' }],
  [
    "InvalidInstalledVersion",
    failed({ c: STABLE }, {}, { name: "p.old", version: "old" }),
    { searched: [], error: expect.stringContaining("failed to get version and release of installed bundle") as string },
  ],
  [
    "CatalogUnavailable",
    failed({ c: STABLE, b: { unavailable: "down", priority: 1 }, d: { unavailable: "gone" } }),
    {
      searched: ["c"],
      unavailable: [
        { catalog: "b", error: "down" },
        { catalog: "d", error: "gone" },
      ],
    },
  ],
  [
    "NoMatchingBundle",
    failed({ c: STABLE }, { version: ">=1.1.0", channels: ["beta"] }, INSTALLED),
    {
      version: ">=1.1.0",
      channels: ["beta"],
      installed: { bundle: "p.v1.0.0", version: "1.0.0" },
      searched: ["c"],
      excluded: [
        { catalog: "c", bundle: "p.v1.1.0", version: "1.1.0", rule: "channels", text: "it is in channels [stable]" },
        { catalog: "c", bundle: "p.v1.0.0", version: "1.0.0", rule: "channels", text: "it is in channels [stable]" },
      ],
      moreExcluded: 0,
    },
  ],
  [
    "AmbiguousCatalogs",
    failed({ a: STABLE, b: STABLE }),
    {
      searched: ["a", "b"],
      ambiguous: [
        { catalog: "a", bundle: "p.v1.1.0" },
        { catalog: "b", bundle: "p.v1.1.0" },
      ],
    },
  ],
  [
    "InvalidBundleVersion",
    failed({ c: { bundles: [{ name: "p.a", version: null }] } }),
    { searched: ["c"], error: 'no package property found in bundle "p.a"' },
  ],
])("getUnresolvedDetails returns plain JSON when the reason is %s", ([reason, given, details]) => {
  const got = getUnresolvedDetails(given);
  expect(got).toMatchObject({ reason, package: "p", ...details });
  expect(JSON.parse(JSON.stringify(got))).toEqual(got);
});

test("getUnresolvedDetails returns the filter that excluded each bundle, newest bundle first, when several filters exclude bundles", () => {
  const stable = {
    channels: { stable: STABLE.channels?.["stable"] ?? [], beta: ["p.v3.0.0"] },
    bundles: ["p.v1.0.0", "p.v1.1.0", "p.v3.0.0"],
  };
  const { excluded } = getUnresolvedDetails(
    failed({ c: stable }, { version: "<1.1.0", channels: ["stable"] }, { name: "p.x", version: "0.1.0" }),
  );
  expect(excluded.map(({ bundle, rule }) => `${bundle}: ${rule}`)).toEqual([
    "p.v3.0.0: channels",
    "p.v1.1.0: versionRange",
    "p.v1.0.0: upgradeEdges",
  ]);
});

test("getUnresolvedDetails returns details of limited size when catalogs and spec contain long names", () => {
  const long = "\ud800".repeat(5_000);
  const many = Array.from({ length: 100 }, (_, i) => ({ name: `${long}${i}`, version: `1.${i}.0` }));
  const catalogs = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`c${i}`, i % 2 === 0 ? { bundles: many } : { unavailable: long, reports: long, priority: -1 }]),
  );
  const got = getUnresolvedDetails(failed(catalogs, { version: "<1", channels: Array.from({ length: 40 }, () => long) }));
  expect([got.searched.length, got.unavailable.length, got.excluded.length, got.channels?.length]).toEqual([10, 10, 10, 10]);
  expect(got.moreExcluded).toBe(1_990);
  expect(JSON.stringify(got).length).toBeLessThan(20_000);
  expect(JSON.stringify(got)).not.toMatch(/\\ud[89a-f]/);
});
