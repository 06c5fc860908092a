import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { type CatalogFixture, type ClusterFixture, catalogsFrom, clusterFrom } from "../../test/support/catalogFixture.ts";
import { applyFilter, type FilterResult } from "./filters.ts";
import type { Resolution, ResolveRequest } from "./resolution.ts";
import { type CatalogRecord, type RecordedBundle, type ResolutionRecord, recordResolution } from "./resolutionRecord.ts";
import { chooseBest, filterCandidates, resolve } from "./resolve.ts";
import type { BundleMetadata } from "./successors.ts";

interface Want {
  filters?: Record<string, string | string[]>;
  removed?: Record<string, Record<string, string[]>>;
  emptiedBy?: Record<string, string>;
  near?: Record<string, string[]>;
  winner?: string;
  edge?: string;
  runnerUp?: string | null;
  decidedBy?: string;
  because?: string;
  reason?: string;
  tied?: string[];
}

interface Cases extends CaseHead {
  package: string;
  catalogs: Record<string, CatalogFixture>;
  rows: {
    id: string;
    catalogs?: Record<string, CatalogFixture>;
    catalog?: Partial<ResolveRequest["source"]>;
    installed?: BundleMetadata;
    cluster?: ClusterFixture;
    want: Want;
  }[];
}

const rows = loadCases<Cases>("resolution-record").flatMap((one) =>
  one.rows.map((row) => ({ ...row, about: one.name, packageName: one.package, catalogs: row.catalogs ?? one.catalogs })),
);

function filtersOf({ state, because = "", filters }: CatalogRecord): string | string[] {
  if (state !== "asked") return state === "silent" ? `${state}: ${because}` : state;
  return filters.map(({ filter, left, removed }) => `${filter}: ${left}/${removed}`);
}

function byCatalog<T>(record: ResolutionRecord, of: (catalog: CatalogRecord) => T): Record<string, T> {
  return Object.fromEntries(record.catalogs.map((one) => [one.catalog, of(one)]));
}

const bundleText = (one: RecordedBundle | undefined): string | null => (one ? `${one.bundle} of ${one.catalog}` : null);

test.for(rows)("$about: $id", ({ want, packageName, catalogs, catalog, installed, cluster }) => {
  const source = { packageName, ...catalog };
  const record = recordResolution(
    packageName,
    resolve({ source, catalogs: catalogsFrom(catalogs, packageName), installed, cluster: clusterFrom(cluster) }),
  );
  expect(JSON.parse(JSON.stringify(record))).toEqual(record);
  const { outcome } = record;
  if (want.filters) expect(byCatalog(record, filtersOf)).toEqual(want.filters);
  for (const [name, filters] of Object.entries(want.removed ?? {})) {
    const found = record.catalogs.find((one) => one.catalog === name)?.filters.filter(({ removed }) => removed > 0);
    const told = found?.map(({ filter, last }) => [filter, last.map(({ bundle, rule }) => `${bundle}: ${rule}`)]);
    expect(Object.fromEntries(told ?? [])).toEqual(filters);
  }
  if (want.emptiedBy) expect(byCatalog(record, ({ emptiedBy }) => emptiedBy)).toEqual(want.emptiedBy);
  if (want.near) expect(byCatalog(record, ({ near }) => near)).toEqual(want.near);
  if (want.reason !== undefined || outcome.kind === "unresolved") {
    expect(outcome).toMatchObject({ kind: "unresolved", reason: want.reason });
    if (outcome.kind === "unresolved" && want.tied) expect(outcome.tied?.map(bundleText)).toEqual(want.tied);
    return;
  }
  expect(bundleText(outcome.winner)).toBe(want.winner);
  if (want.runnerUp !== undefined) expect(bundleText(outcome.runnerUp)).toBe(want.runnerUp);
  const { edge, decidedBy, because } = want;
  expect(outcome).toMatchObject(
    Object.fromEntries(Object.entries({ edge, decidedBy, because }).filter(([, value]) => value !== undefined)),
  );
});

const bundles = fc.uniqueArray(
  fc.tuple(fc.nat(2), fc.nat(2), fc.constantFrom("", "-rc.1")).map(([a, b, rest]) => `p.v${a}.${b}.0${rest}`),
  { minLength: 1, maxLength: 6 },
);
const catalog = fc
  .record({ names: bundles, priority: fc.nat(1), inChannel: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), old: fc.nat(3) })
  .map(({ names, priority, inChannel, old }) => ({
    priority,
    bundles: names,
    channels: { stable: names.filter((_, i) => inChannel[i]).map((name) => ({ name, skipRange: "<1.1.0" })) },
    deprecated: names.slice(0, old),
  }));
const requests = fc
  .record({
    catalogs: fc.dictionary(fc.constantFrom("a", "b", "c"), catalog, { minKeys: 1 }),
    source: fc.record({
      channels: fc.constantFrom<string[]>([], ["stable"]),
      version: fc.constantFrom("", ">=1", "<2"),
      upgradeConstraintPolicy: fc.constantFrom("CatalogProvided" as const, "SelfCertified" as const),
    }),
    installed: fc.constantFrom(undefined, { name: "p.v1.0.0", version: "1.0.0" }),
  })
  .map(
    ({ catalogs, source, installed }): ResolveRequest => ({
      source: { packageName: "p", ...source },
      catalogs: catalogsFrom(catalogs, "p"),
      installed,
    }),
  );

test("recordResolution counts every candidate as either kept or removed for each filter", () => {
  fc.assert(
    fc.property(requests, (request) => {
      for (const { bundles: all, filters, emptiedBy } of recordResolution("p", resolve(request)).catalogs) {
        let before = all;
        for (const { left, removed, last } of filters) {
          expect([left + removed, last.length]).toEqual([before, Math.min(removed, 10)]);
          before = left;
        }
        expect(emptiedBy !== undefined).toBe(all > 0 && before === 0);
      }
    }),
  );
});

test("recordResolution reports the bundle that would be selected without the winner as runner-up", () => {
  fc.assert(
    fc.property(requests, (request) => {
      const filtered = filterCandidates(request);
      if (filtered.kind === "unresolved") throw new Error(filtered.message);
      const answer = chooseBest(filtered);
      const { outcome } = recordResolution("p", answer);
      fc.pre(answer.kind === "resolved" && outcome.kind === "resolved");
      if (answer.kind !== "resolved" || outcome.kind !== "resolved") return;
      const without = (found: FilterResult): FilterResult =>
        applyFilter(found, {
          name: "dependencies",
          asks: "whose dependencies can be met",
          removed: new Map(found.catalog === answer.catalog && found.best ? [[found.best, "package q is nowhere"]] : []),
          near: ["install q"],
        });
      const next: Resolution = chooseBest({ ...filtered, results: filtered.results.map(without) });
      const after = recordResolution("p", next);
      if (after.outcome.kind === "resolved") expect(after.outcome.winner).toEqual(outcome.runnerUp);
      else if (after.outcome.reason === "NoMatchingBundle") {
        expect(outcome.runnerUp).toBeUndefined();
        expect(next.explanation).toContain("none whose dependencies can be met: install q");
      }
      const told = after.catalogs.find((one) => one.catalog === answer.catalog)?.filters.find((one) => one.filter === "dependencies");
      expect(told).toMatchObject({ removed: 1, last: [{ bundle: answer.bundle.name, rule: "package q is nowhere" }] });
    }),
  );
});

test("recordResolution returns a record of limited size when catalogs are large", () => {
  const long = "x".repeat(2_000);
  const many = Array.from({ length: 40 }, (_, i) => ({ name: `${long}${i}.v1.${i}.0`, version: `1.${i}.0+${long}` }));
  const fixture: CatalogFixture = { bundles: many, channels: { [long]: many.map(({ name }) => name) }, deprecated: [many[0]?.name ?? ""] };
  const catalogs = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`c${i}`, { ...fixture, priority: i }]));
  const source = { packageName: "p", version: "<1.5", channels: [long, "other"] };
  const record = recordResolution("p", resolve({ source, catalogs: catalogsFrom(catalogs, "p") }));
  expect([record.catalogs.length, record.moreCatalogs]).toEqual([32, 28]);
  expect(JSON.stringify(record).length).toBeLessThan(1_000_000);
});
