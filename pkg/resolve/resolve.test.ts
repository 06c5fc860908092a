import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import {
  type BundleFixture,
  type CatalogFixture,
  type ClusterFixture,
  catalogsFrom,
  clusterFrom,
  contentFrom,
} from "../../test/support/catalogFixture.ts";
import type { DeprecationEntry } from "../fbc/types.ts";
import { compareVersionRelease, compareVersions, formatVersionRelease, parseVersion, parseVersionRelease } from "../version/version.ts";
import { findDeprecations } from "./candidates.ts";
import { isDependency } from "./constraint/parse.ts";
import { filterCatalog } from "./filters.ts";
import { compileSelector, type LabelSelector } from "./labelSelector.ts";
import type { Resolution, ResolveRequest, UnresolvedReason } from "./resolution.ts";
import { recordResolution } from "./resolutionRecord.ts";
import { resolve } from "./resolve.ts";
import { type BundleMetadata, parseInstalledVersion } from "./successors.ts";

type Source = ResolveRequest["source"];

interface Want {
  bundle?: string;
  version?: string;
  catalog?: string;
  /** "replaces in stable", "stay", "none". */
  edge?: string;
  /** Bundles that the winner's catalog deprecates. */
  deprecated?: string[];
  /** Type of the first property by which the bundle declares a dependency. */
  dependsOn?: string | null;
  error?: string;
  reason?: UnresolvedReason;
  /** Text that the explanation must contain. */
  explains?: string;
  /** All of them. */
  notes?: string[];
  /** All of them. */
  warnings?: string[];
}

interface Row {
  id: string;
  catalogs?: Record<string, CatalogFixture>;
  catalog?: Partial<Source>;
  installed?: BundleMetadata;
  installedFrom?: string;
  cluster?: ClusterFixture;
  want: Want;
}

interface ResolveCases extends CaseHead {
  package: string;
  catalogs: Record<string, CatalogFixture>;
  rows?: Row[];
  successors?: { installed: BundleMetadata; expect: string[] }[];
  selectors?: { selector: LabelSelector | null; labels?: Record<string, string>; selects?: boolean; error?: string }[];
  deprecations?: { channels?: string[]; installed?: string; entries: string[]; want: unknown }[];
  entries?: Record<string, DeprecationEntry>;
}

const cases = loadCases<ResolveCases>("resolve");
const rows = cases.flatMap((c) =>
  (c.rows ?? []).map((row) => ({ ...row, about: c.name, packageName: c.package, catalogs: row.catalogs ?? c.catalogs })),
);
const successors = cases.flatMap((c) =>
  (c.successors ?? []).map((row) => ({ ...row, about: c.name, packageName: c.package, catalogs: c.catalogs })),
);

function requestFrom({
  packageName,
  catalogs,
  catalog,
  installed,
  installedFrom,
  cluster,
}: Pick<Row, "catalog" | "installed" | "installedFrom" | "catalogs" | "cluster"> & { packageName: string }): ResolveRequest {
  const source = { packageName, ...catalog };
  return { source, catalogs: catalogsFrom(catalogs ?? {}, packageName), installed, installedFrom, cluster: clusterFrom(cluster) };
}

function edgeText(resolution: Resolution): string {
  if (resolution.kind === "unresolved" || !resolution.edge) return "none";
  const { channel, via } = resolution.edge;
  return via === "stay" ? via : `${via} in ${channel}`;
}

test.for(rows)("$about: $id", ({ want, ...row }) => {
  const got = resolve(requestFrom(row));
  if (want.error !== undefined) {
    if (got.kind !== "unresolved") throw new Error(`resolved: ${got.explanation}`);
    expect(got.message.startsWith(want.error), got.message).toBe(true);
    expect(got.message).toBe(`${got.goMessage}; ${got.explanation}`);
    if (want.reason !== undefined) expect(got.reason).toBe(want.reason);
    if (want.explains !== undefined) expect(got.explanation).toBe(want.explains);
    return;
  }
  if (got.kind !== "resolved") throw new Error(got.message);
  expect(got.bundle.name).toBe(want.bundle);
  if (want.version !== undefined) expect(formatVersionRelease(got.version)).toBe(want.version);
  if (want.catalog !== undefined) expect(got.catalog).toBe(want.catalog);
  if (want.edge !== undefined) expect(edgeText(got)).toBe(want.edge);
  if (want.dependsOn !== undefined) expect(got.bundle.properties.find(({ type }) => isDependency(type))?.type ?? null).toBe(want.dependsOn);
  if (want.explains !== undefined) expect(got.explanation).toContain(want.explains);
  if (want.warnings !== undefined) expect(got.warnings).toEqual(want.warnings);
  if (want.notes !== undefined) expect(got.problems.map(({ message }) => message)).toEqual(want.notes);
  if (want.deprecated !== undefined)
    expect((got.deprecations?.entries ?? []).map(({ reference }) => reference.name)).toEqual(want.deprecated);
});

test.for(successors)(
  "filterCatalog returns the bundles that are reachable from $installed.name: $about",
  ({ packageName, catalogs, installed, expect: wanted }) => {
    const [[name, fixture] = ["", {}]] = Object.entries(catalogs);
    const before = { ...installed, parsed: parseInstalledVersion(installed) };
    const cluster = clusterFrom(undefined);
    const query = { packageName, channels: [], enforceEdges: true, enforceClusterVersion: false, cluster, installed: before };
    const { reachable } = filterCatalog({ name, priority: 0 }, contentFrom(fixture, packageName), query);
    expect(reachable.map(({ bundle }) => bundle.name)).toEqual(wanted);
  },
);

test.for(cases.flatMap((c) => c.selectors ?? []))(
  "compileSelector evaluates selector $selector for labels $labels",
  ({ selector, labels = {}, selects = false, error }) => {
    const compiled = compileSelector(selector ?? undefined);
    expect(compiled.error).toBe(error);
    expect(compiled.matches(labels)).toBe(selects);
  },
);

test.for(cases.flatMap((c) => (c.deprecations ?? []).map((row) => ({ ...row, all: c.entries ?? {} }))))(
  "findDeprecations returns the entries of $entries for channels $channels and bundle $installed",
  ({ entries, channels, installed, want, all }) => {
    const deprecations = { package: "p", entries: entries.map((key) => all[key] as DeprecationEntry) };
    expect(findDeprecations(deprecations, { channels, bundleName: installed })).toEqual(want);
    expect(findDeprecations(undefined, { channels, bundleName: installed })).toEqual({ package: [], channel: [], bundle: [] });
  },
);

const versionText = fc
  .tuple(fc.nat(2), fc.nat(2), fc.nat(2), fc.constantFrom("", "", "-rc.1", "+1", "+2"))
  .map(([a, b, c, rest]) => `${a}.${b}.${c}${rest}`);
type Policy = NonNullable<Source["upgradeConstraintPolicy"]>;
const names = fc.uniqueArray(
  versionText.map((version) => `p.v${version}`),
  { minLength: 1, maxLength: 8 },
);
const catalog = fc.tuple(names, names, fc.nat(2)).chain(([bundles, mentioned, priority]) => {
  const edge = fc.record(
    { replaces: fc.constantFrom(...mentioned), skipRange: fc.constantFrom("<1.0.0", ">=1.0.0 <2.0.0", "broken") },
    { requiredKeys: [] },
  );
  const entries = fc.tuple(...bundles.map((name) => edge.map((edges) => ({ name, ...edges }))));
  const deprecated = fc.subarray(bundles);
  return fc.tuple(entries, deprecated).map(([stable, old]) => ({ priority, bundles, channels: { stable }, deprecated: old }));
});
const request = fc
  .record({
    catalogs: fc.dictionary(fc.constantFrom("a", "b", "c"), catalog, { minKeys: 1 }),
    installed: fc.option(
      versionText.map((version) => ({ name: `p.v${version}`, version })),
      { nil: undefined },
    ),
    range: fc.constantFrom(undefined, ">=1", "<2", "1.x"),
  })
  .map(({ catalogs, installed, range }) => ({
    packageName: "p",
    catalogs,
    ...(installed ? { installed } : {}),
    catalog: range === undefined ? {} : { version: range },
  }));

test("resolve does not depend on the order of catalogs and bundles", () => {
  fc.assert(
    fc.property(request, (one) => {
      const asked = requestFrom(one);
      const turned = asked.catalogs.toReversed().map((each) => ({
        ...each,
        content: each.content && {
          ...each.content,
          bundles: each.content.bundles.toReversed(),
          channels: each.content.channels.toReversed(),
        },
      }));
      const [answer, other] = [resolve(asked), resolve({ ...asked, catalogs: turned })];
      expect({ ...other, filtered: undefined, tied: undefined }).toEqual({ ...answer, filtered: undefined, tied: undefined });
      expect(recordResolution("p", other)).toEqual(recordResolution("p", answer));
    }),
  );
});

test("resolve never selects a lower version with policy SelfCertified than with CatalogProvided", () => {
  fc.assert(
    fc.property(request, fc.constantFrom("a"), (one, only) => {
      const catalogs = { [only]: { ...Object.values(one.catalogs)[0], deprecated: [] } };
      const byEdges = resolve(requestFrom({ ...one, catalogs }));
      fc.pre(byEdges.kind === "resolved");
      const free = resolve(requestFrom({ ...one, catalogs, catalog: { ...one.catalog, upgradeConstraintPolicy: "SelfCertified" } }));
      if (byEdges.kind !== "resolved" || free.kind !== "resolved") throw new Error("nothing resolved");
      expect(compareVersionRelease(free.version, byEdges.version)).toBeGreaterThanOrEqual(0);
    }),
  );
});

/** Source: S1-18. */
test("resolve never chooses a version other than the pinned one when catalogs change", () => {
  fc.assert(
    fc.property(request, fc.constantFrom<Policy>("CatalogProvided", "SelfCertified"), (one, upgradeConstraintPolicy) => {
      const { installed } = one;
      fc.pre(installed !== undefined);
      const got = resolve(requestFrom({ ...one, catalog: { version: installed.version, upgradeConstraintPolicy } }));
      fc.pre(got.kind === "resolved");
      if (got.kind === "resolved") expect(compareVersions(got.version.version, parseVersion(installed.version))).toBe(0);
    }),
  );
});

/** Source: X-02, S1-26. */
test("resolve upgrades without a warning if and only if an upgrade edge exists and no entry skips the bundle", () => {
  fc.assert(
    fc.property(request, fc.constantFrom<Policy>("CatalogProvided", "SelfCertified"), (one, upgradeConstraintPolicy) => {
      const got = resolve(requestFrom({ ...one, catalog: { ...one.catalog, upgradeConstraintPolicy } }));
      fc.pre(got.kind === "resolved");
      if (got.kind !== "resolved") return;
      const disregards = one.installed !== undefined && got.edge === undefined;
      expect(got.warnings.length).toBe(Number(disregards));
    }),
  );
});

const maxima = fc.infiniteStream(fc.constantFrom(undefined, "4.16", "4.18", "4.19", "broken"));
/** The catalogs of a request, in which some bundles state a maximum cluster version. */
const limited = fc.tuple(request, maxima).map(([one, stream]) => {
  const withMax = (bundle: BundleFixture): BundleFixture => ({
    ...(typeof bundle === "string" ? { name: bundle } : bundle),
    max: stream.next().value,
  });
  const catalogs = Object.entries(one.catalogs).map(([name, fixture]) => [name, { ...fixture, bundles: fixture.bundles.map(withMax) }]);
  return { ...one, catalogs: Object.fromEntries(catalogs) as Record<string, CatalogFixture> };
});
type ClusterPolicy = NonNullable<Source["clusterVersionPolicy"]>;
const withPolicy = (one: Omit<Row, "id" | "want"> & { packageName: string }, cluster: string, clusterVersionPolicy: ClusterPolicy) =>
  resolve(requestFrom({ ...one, cluster, catalog: { ...one.catalog, clusterVersionPolicy } }));
const outcome = (got: Resolution): unknown => (got.kind === "resolved" ? [got.catalog, got.bundle.name] : got.goMessage);

test("resolve with clusterVersionPolicy Warn ignores the cluster's version", () => {
  fc.assert(
    fc.property(limited, (one) => {
      expect(outcome(withPolicy(one, "4.18.0", "Warn"))).toEqual(outcome(resolve(requestFrom(one))));
    }),
  );
});

test("resolve with clusterVersionPolicy Enforce never selects a bundle that does not support the cluster's version", () => {
  fc.assert(
    fc.property(limited, fc.constantFrom("4.18.0", "4.9.0"), (one, cluster) => {
      const got = withPolicy(one, cluster, "Enforce");
      fc.pre(got.kind === "resolved");
      if (got.kind !== "resolved" || got.bundle.name === one.installed?.name) return;
      const max = got.bundle.properties.find(({ type }) => type === "olm.maxOpenShiftVersion")?.value;
      expect(cluster === "4.18.0" ? [undefined, "4.18", "4.19"] : [undefined, "4.16", "4.18", "4.19"]).toContain(max);
    }),
  );
});

test("resolve chooses the installed bundle again when it has no successors", () => {
  const bundles: BundleFixture[] = ["p.v1.0.0", "p.v1.1.0"];
  const channels = { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] };
  const ask = (installed: BundleMetadata): Resolution =>
    resolve(requestFrom({ packageName: "p", catalogs: { c: { bundles, channels } }, installed }));
  const first = ask({ name: "p.v1.0.0", version: "1.0.0" });
  if (first.kind !== "resolved") throw new Error(first.message);
  const second = ask({ name: first.bundle.name, version: formatVersionRelease(first.version) });
  expect(second).toMatchObject({ kind: "resolved", bundle: { name: "p.v1.1.0" }, edge: { via: "stay", channel: "" } });
  expect(parseVersionRelease("1.1.0")).toEqual(first.version);
});
