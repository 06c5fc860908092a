import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { type CatalogFixture, catalogsFrom, clusterFrom, contentFrom } from "../../test/support/catalogFixture.ts";
import { parseMinorVersion } from "../version/clusterVersion.ts";
import { parseConstraint } from "../version/masterminds.ts";
import { formatVersion, parseVersion } from "../version/version.ts";
import { findRemedy, formatRemedy, type RemedyRequest } from "./remedy.ts";
import { resolve, selectCatalogs } from "./resolve.ts";
import type { BundleMetadata } from "./successors.ts";

type Source = RemedyRequest["source"];

interface Row {
  id: string;
  catalog?: Partial<Source>;
  catalogs?: Record<string, CatalogFixture>;
  installed?: BundleMetadata | null;
  blocking?: string[];
  cluster?: string;
  /** Null: no remedy can be determined. */
  text: string | null;
}

interface RemedyCases extends CaseHead {
  package: string;
  cluster: string;
  installed: BundleMetadata;
  catalogs: Record<string, CatalogFixture>;
  rows: Row[];
}

const rows = loadCases<RemedyCases>("remedy").flatMap(({ rows: all, name: about, ...shared }) =>
  all.map((row) => ({ about, ...shared, ...row })),
);

test.for(rows)("$about: $id", ({ package: packageName, catalog, catalogs, installed: before, blocking, cluster, text }) => {
  const source = { packageName, ...catalog };
  const installed = before ?? undefined;
  const selection = selectCatalogs(source, catalogsFrom(catalogs, packageName), (one) => one);
  if (selection.kind === "unresolved") throw new Error(selection.message);
  const request = { source, catalogs: selection.catalogs, installed, cluster: parseMinorVersion(`${cluster}.0`) };
  const remedy = findRemedy({ ...request, blocking: blocking ?? (installed ? [installed.name] : []) });
  expect(remedy && formatRemedy(remedy, source, installed)).toBe(text ?? undefined);
});

const NAMES = Array.from({ length: 12 }, (_, i) => `p.v${Math.floor(i / 4)}.${i % 4}.0`);
const versionOf = (name: string): string => name.slice(3);
const bundle = fc.record({ max: fc.constantFrom(undefined, "4.17", "4.18", "4.18", "4.18", "4.19") });
const entry = fc.record(
  { replaces: fc.constantFrom(...NAMES), skipRange: fc.constantFrom("<1.0.0", ">=1.0.0 <2.0.0") },
  { requiredKeys: [] },
);
const channel = fc.subarray(NAMES).chain((names) => fc.tuple(...names.map((name) => entry.map((edges) => ({ name, ...edges })))));
const request = fc.record({
  fixture: fc.record({
    channels: fc.record({ stable: channel, fast: channel }),
    bundles: fc.tuple(...NAMES.map((name) => bundle.map((parts) => ({ name, ...parts })))),
    deprecated: fc.subarray(NAMES),
  }),
  installed: fc.option(
    fc.constantFrom(...NAMES).map((name) => ({ name, version: versionOf(name) })),
    { nil: undefined },
  ),
  source: fc.record(
    {
      version: fc.constantFrom("<1.0.0", "1.x", ">=0.2"),
      channels: fc.subarray(["stable", "fast"], { minLength: 1, maxLength: 1 }),
      upgradeConstraintPolicy: fc.constantFrom("SelfCertified" as const, "CatalogProvided" as const),
      clusterVersionPolicy: fc.constantFrom("Enforce" as const, "Warn" as const),
    },
    { requiredKeys: [] },
  ),
});
const CLUSTER = clusterFrom("4.18.0");
const CLUSTER_MINOR = parseMinorVersion("4.18.0");

test("findRemedy returns an upgrade path that resolution selects step by step when the reported limits are removed", () => {
  fc.assert(
    fc.property(request, ({ fixture, installed, source: given }) => {
      const source: Source = { packageName: "p", ...given };
      const catalogs = catalogsFrom({ c: fixture }, "p");
      const remedy = findRemedy({ source, catalogs, installed, blocking: installed ? [installed.name] : [], cluster: CLUSTER_MINOR });
      fc.pre(remedy?.kind === "version");
      if (remedy?.kind !== "version") return;
      const limits = remedy.limits.map(({ kind }) => kind);
      const range = parseConstraint(source.version ?? "*");
      let at = installed;
      for (const version of [...remedy.through, remedy.version]) {
        if (!limits.includes("range")) expect(range.contains(parseVersion(version))).toBe(true);
        const step: Source = { ...source, version };
        if (limits.includes("channels")) delete step.channels;
        if (limits.includes("edges")) step.upgradeConstraintPolicy = "SelfCertified";
        const got = resolve({ source: step, catalogs, installed: at, cluster: CLUSTER });
        expect(got.kind === "resolved" ? formatVersion(got.version.version) : got.message).toBe(version);
        at = { name: `p.v${version}`, version };
      }
      const reached = fixture.bundles.find(({ name }) => name === at?.name);
      expect([undefined, "4.19"]).toContain(reached?.max);
    }),
    { numRuns: 500 },
  );
});

test("findRemedy returns none only when no newer bundle of the package allows the cluster upgrade", () => {
  fc.assert(
    fc.property(request, ({ fixture, installed, source }) => {
      const catalogs = catalogsFrom({ c: fixture }, "p");
      const asked = { source: { packageName: "p", ...source }, catalogs, installed, cluster: CLUSTER_MINOR };
      if (findRemedy({ ...asked, blocking: installed ? [installed.name] : [] })?.kind !== "none") return;
      const newer = fixture.bundles.slice(installed ? NAMES.indexOf(installed.name) + 1 : 0);
      expect(newer.filter(({ max }) => max === undefined || max === "4.19")).toEqual([]);
    }),
  );
});

test("findRemedy finishes when a catalog has many entries", () => {
  const names = Array.from({ length: 20_000 }, (_, i) => `p.v1.${i}.0`);
  const stable = names.map((name, i) => ({ name, ...(i > 0 ? { replaces: `p.v1.${i - 1}.0` } : {}), skipRange: "<0.1.0" }));
  const content = contentFrom({ channels: { stable, fast: stable }, bundles: names.map((name) => ({ name, max: "4.18" })) }, "p");
  const catalogs = [{ name: "c", priority: 0, labels: {}, content }];
  const installed = { name: "p.v1.0.0", version: "1.0.0" };
  const remedy = findRemedy({ source: { packageName: "p" }, catalogs, installed, blocking: [], cluster: CLUSTER_MINOR });
  expect(remedy).toEqual({ kind: "none", requested: ["c"], silent: [] });
});
