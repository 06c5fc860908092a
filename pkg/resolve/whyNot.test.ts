import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { type CatalogFixture, type ClusterFixture, catalogsFrom, clusterFrom } from "../../test/support/catalogFixture.ts";
import { ExclusionFacts, findExclusions } from "./exclusions.ts";
import type { ResolveRequest } from "./resolution.ts";
import type { RecordedBundle } from "./resolutionRecord.ts";
import { chooseBest, filterCandidates, resolve } from "./resolve.ts";
import type { BundleMetadata } from "./successors.ts";
import { type ExplainedBundle, explainWhyNot } from "./whyNot.ts";

interface Want {
  error?: string;
  verdict?: string;
  gets?: string;
  because?: string;
  bundles?: string[];
  remedies?: string[];
  without?: string[];
  silent?: string[];
  nearest?: string;
}

interface Cases extends CaseHead {
  package: string;
  catalogs: Record<string, CatalogFixture>;
  rows: {
    id: string;
    version: string;
    catalogs?: Record<string, CatalogFixture>;
    catalog?: Partial<ResolveRequest["source"]>;
    installed?: BundleMetadata;
    cluster?: ClusterFixture;
    want: Want;
  }[];
}

const rows = loadCases<Cases>("why-not").flatMap((one) =>
  one.rows.map((row) => ({ ...row, about: one.name, packageName: one.package, catalogs: row.catalogs ?? one.catalogs })),
);

function bundleLine({ bundle, catalog, exclusions }: ExplainedBundle): string {
  return exclusions.length === 0 ? `${bundle} of ${catalog}` : `${bundle} of ${catalog}: ${exclusions.map(({ rule }) => rule).join(", ")}`;
}

test.for(rows)("$about: $id", ({ version, want, packageName, catalogs, catalog, installed, cluster }) => {
  const source = { packageName, ...catalog };
  const resolution = resolve({ source, catalogs: catalogsFrom(catalogs, packageName), installed, cluster: clusterFrom(cluster) });
  if (want.error !== undefined) return expect(() => explainWhyNot(packageName, version, resolution)).toThrow(want.error);
  const got = explainWhyNot(packageName, version, resolution);
  expect(JSON.parse(JSON.stringify(got))).toEqual(got);
  expect({ verdict: got.verdict, gets: got.gets?.bundle }).toEqual({ verdict: want.verdict, gets: want.gets });
  expect(got.bundles.map(bundleLine)).toEqual(want.bundles);
  if (want.because !== undefined) expect(got.because?.startsWith(want.because), got.because).toBe(true);
  if (want.remedies) expect(got.bundles.flatMap(({ exclusions }) => exclusions.map(({ remedy }) => remedy))).toEqual(want.remedies);
  if (want.without) expect(got.without).toEqual(want.without);
  if (want.silent) expect(got.silent.map((one) => `${one.catalog}: ${one.because}`)).toEqual(want.silent);
  const { lower, higher, highest } = got.nearest;
  const versionIn = (one: RecordedBundle | undefined): string => one?.version ?? "-";
  if (want.nearest !== undefined) expect([lower, higher, highest].map(versionIn).join(" ")).toBe(want.nearest);
});

const entry = fc.record(
  { name: fc.constantFrom("p.v1.0.0", "p.v1.1.0", "p.v2.0.0", "p.v3.0.0"), replaces: fc.constantFrom("p.v1.0.0", "p.v1.1.0", "p.v2.0.0") },
  { requiredKeys: ["name"] },
);
const catalog = fc.record({
  priority: fc.nat(1),
  bundles: fc.subarray(["p.v1.0.0", "p.v1.1.0", "p.v2.0.0", "p.v3.0.0"]),
  channels: fc.record({ stable: fc.array(entry), fast: fc.array(entry) }),
  deprecated: fc.subarray(["p.v1.1.0", "p.v3.0.0"]),
});
const question = fc.record({
  catalogs: fc.dictionary(fc.constantFrom("a", "b"), catalog, { minKeys: 1 }),
  channels: fc.constantFrom<string[]>([], ["stable"]),
  version: fc.constantFrom("", "<3", ">=1.1"),
  installed: fc.constantFrom(undefined, { name: "p.v1.0.0", version: "1.0.0" }),
});

test("findExclusions returns nothing if and only if resolve selects the candidate", () => {
  fc.assert(
    fc.property(question, ({ catalogs, channels, version, installed }) => {
      const filtered = filterCandidates({
        source: { packageName: "p", channels, version },
        catalogs: catalogsFrom(catalogs, "p"),
        installed,
      });
      if (filtered.kind === "unresolved") throw new Error(filtered.message);
      const answer = chooseBest(filtered);
      for (const result of filtered.results) {
        for (const candidate of result.all) {
          const isTaken = answer.kind === "resolved" && answer.catalog === result.catalog && answer.bundle === candidate.bundle;
          const exclusions = findExclusions({ result, candidate }, filtered);
          expect(exclusions.length === 0, JSON.stringify(exclusions)).toBe(isTaken);
        }
      }
    }),
  );
});

test("findExclusions returns a remedy that works when it is the only exclusion", () => {
  fc.assert(
    fc.property(question, ({ catalogs, channels, version, installed }) => {
      const source = { packageName: "p", channels, version };
      const request = { source, catalogs: catalogsFrom(catalogs, "p"), installed };
      const filtered = filterCandidates(request);
      if (filtered.kind === "unresolved") throw new Error(filtered.message);
      for (const result of filtered.results) {
        for (const candidate of result.all) {
          const [exclusion, ...others] = findExclusions({ result, candidate }, filtered);
          const pinned = /(?:spec\.source\.catalog\.version|for example to) "([^"]+)"/.exec(exclusion?.remedy ?? "")?.[1];
          if (others.length > 0 || pinned === undefined) continue;
          const again = filterCandidates({ ...request, source: { ...source, version: pinned } });
          if (again.kind === "unresolved") throw new Error(again.message);
          const there = again.results.find((one) => one.catalog === result.catalog);
          expect(there?.best?.bundle.name).toBe(candidate.bundle.name);
        }
      }
    }),
  );
});

test("findExclusions reads each channel once when several candidates share the facts", () => {
  const names = Array.from({ length: 50 }, (_, i) => `p.v1.0.${i}`);
  const [catalog] = catalogsFrom({ a: { bundles: names, channels: { stable: names, slow: [] } } }, "p");
  if (!catalog?.content) throw new Error("the fixture has no content");
  const filtered = filterCandidates({ source: { packageName: "p", channels: ["slow"] }, catalogs: [catalog] });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  let reads = 0;
  for (const channel of catalog.content.channels) {
    const { entries } = channel;
    Object.defineProperty(channel, "entries", {
      get: () => {
        reads++;
        return entries;
      },
    });
  }
  const facts = new ExclusionFacts(filtered);
  const found = filtered.results.flatMap((result) => result.all.map((candidate) => findExclusions({ result, candidate }, filtered, facts)));
  expect(found).toHaveLength(names.length);
  expect(new Set(found.flatMap((rules) => rules.map(({ remedy }) => remedy)))).toEqual(
    new Set(["it is in channels [stable]: add one of them to spec.source.catalog.channels"]),
  );
  expect(reads).toBe(catalog.content.channels.length);
});
