import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { type DependencyWorld, dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { StepLimitError } from "../../resolve/constraint/stepBudget.ts";
import { getRejections } from "../../resolve/dependencies/dependencyFilter.ts";
import { filterCandidates } from "../../resolve/resolve.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";
import type { DependencyResolution } from "./dependencyChoice.ts";
import { BlockingHintSearch, type HintSearch, HintSearchThread } from "./hintSearch.ts";

interface Row extends DependencyWorld {
  id: string;
  policy?: "Require" | "Install";
  catalog?: Partial<CatalogSource>;
  want: {
    /** The chosen bundle; absent if no bundle can be installed. */
    bundle?: string;
    /** Versions of dependencies to install first, by package. */
    needs?: Record<string, string>;
    /** Text about the best rejected bundle. */
    unfit?: string;
    /** Whether catalogs were read for dependencies. */
    asks?: boolean;
  };
}

interface Case extends CaseHead, DependencyWorld {
  /** Name of the extension and of its package. */
  extension: string;
  rows: Row[];
}

const rows = loadCases<Case>("dependencies").flatMap(({ rows: all, name, source: _source, ...world }) =>
  all.map((row) => ({ ...world, ...row, title: `${name}: ${row.id}` })),
);

async function chosen(
  { extension, policy, catalog, ...fixture }: Omit<Row, "id" | "want"> & { extension: string },
  createSearch?: Parameters<typeof dependencyWorld>[1],
) {
  const { choice, contents, catalogs, reads } = dependencyWorld(fixture, createSearch);
  const base = createExtension(extension, { packageName: extension, ...catalog });
  const extensionWithPolicy: ClusterExtension = { ...base, spec: { ...base.spec, ...(policy ? { dependencies: { policy } } : {}) } };
  const signal = new AbortController().signal;
  const own = fixture.installed?.[extension]?.bundle;
  const filtered = filterCandidates({
    source: extensionWithPolicy.spec.source.catalog!,
    catalogs: await contents.read(catalogs, extension, signal),
    installed: own === undefined ? undefined : { name: own, version: own.slice(own.indexOf(".v") + 2) },
  });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  return { ...(await choice.choose(extensionWithPolicy, filtered, catalogs, signal)), choice, reads };
}

/** Returns the outcome of a choice in the form of the cases. */
function outcomeOf({ resolution, plan, rejected }: DependencyResolution): Omit<Row["want"], "asks"> {
  const needs = plan && Object.fromEntries(plan.status.members.map(({ packageName, bundle }) => [packageName, bundle.version]));
  const text = rejected && `${rejected.bundle}: ${rejected.clauses.join("; ")}`;
  return {
    ...(resolution.kind === "resolved" ? { bundle: resolution.bundle.name } : {}),
    ...(needs ? { needs } : {}),
    ...(text === undefined ? {} : { unfit: text }),
  };
}

test.for(rows)("$title", async ({ title: _title, id: _id, want, ...given }) => {
  const actual = await chosen(given);
  const { asks, ...outcome } = want;
  expect(outcomeOf(actual)).toEqual(outcome);
  if (asks !== undefined) expect(actual.reads.length > 0).toBe(asks);
  expect(actual.choice.waiting.has(given.extension)).toBe(actual.rejected !== undefined || actual.plan !== undefined);
});

const reversed = <T>(record: Record<string, T> = {}): Record<string, T> => Object.fromEntries(Object.entries(record).toReversed());
const IRRELEVANT = { bundles: [{ name: "zz.v1.0.0", provides: ["Zz"], requires: ["API Nobody"] }] };

test.for(rows)("$title, in any order and with unrelated bundles", async ({ title: _title, id: _id, want: _want, ...given }) => {
  const catalogs = Object.entries(reversed(given.catalogs)).map(([name, catalog]) => [
    name,
    { ...catalog, packages: reversed({ ...catalog.packages, zz: IRRELEVANT }) },
  ]);
  const other = {
    ...given,
    catalogs: Object.fromEntries(catalogs),
    installed: { ...reversed(given.installed), zy: { bundle: "zy.v1.0.0", provides: ["Zy"] } },
  };
  expect(outcomeOf(await chosen(other))).toEqual(outcomeOf(await chosen(given)));
});

test("DependencyChoice has the same outcome for all cases when a worker thread searches", async () => {
  const limits = { mainSteps: -1, heapMib: 192, deadlineMs: 60_000, idleMs: 3_000 };
  const search = new HintSearchThread(new ConstraintCache(loadCelRules), new FakeClock(), limits);
  try {
    for (const { title, id: _id, want: _want, ...given } of rows)
      expect(outcomeOf(await chosen(given, () => search)), title).toEqual(outcomeOf(await chosen(given)));
    expect(search.isRunning).toBe(true);
  } finally {
    await search.end();
  }
});

test("DependencyChoice skips the remaining candidates when their searches take too many steps in total", async () => {
  const searched: string[] = [];
  const search: HintSearch = {
    find: ({ bundle, counter }) => {
      searched.push(bundle.name);
      counter.spend(12_000_000);
      return Promise.resolve({ kind: "none", explanation: { sentences: [], isMinimal: true } });
    },
  };
  const bundles = [1, 2, 3, 4].map((major) => ({ name: `a.v${major}.0.0`, requires: ["b 1.0.0"] }));
  const given = {
    extension: "a",
    policy: "Install" as const,
    catalogs: { c: { packages: { a: { channels: { s: bundles.map(({ name }) => name) }, bundles } } } },
  };
  const { resolution } = await chosen(given, () => search);
  expect(searched).toEqual(["a.v4.0.0", "a.v3.0.0"]);
  const removed = resolution.filtered?.results.flatMap((result) =>
    [...getRejections(result)].map(([{ bundle }, text]) => [bundle.name, text]),
  );
  expect(removed?.slice(2)).toEqual([
    ["a.v2.0.0", "skipped: search limit reached"],
    ["a.v1.0.0", "skipped: search limit reached"],
  ]);
});

test("DependencyChoice makes a plan while another extension searches, and the other extension respects it", async () => {
  const gate = Promise.withResolvers<void>();
  const searched: string[] = [];
  const world: DependencyWorld = {
    catalogs: {
      c: {
        packages: {
          a: { channels: { s: ["a.v1.0.0"] }, bundles: [{ name: "a.v1.0.0", requires: ["p 1.0.0"] }] },
          b: { channels: { s: ["b.v1.0.0"] }, bundles: [{ name: "b.v1.0.0", requires: ["p 2.0.0"] }] },
          p: { channels: { s: ["p.v1.0.0", "p.v2.0.0"] }, bundles: ["p.v1.0.0", "p.v2.0.0"] },
        },
      },
    },
  };
  const { choice, contents, catalogs } = dependencyWorld(world, (constraints) => {
    const search = new BlockingHintSearch(constraints);
    const find: HintSearch["find"] = async (request) => {
      searched.push(request.extension);
      const hint = await search.find(request);
      if (request.extension === "a") await gate.promise;
      return hint;
    };
    return { find };
  });
  const { signal } = new AbortController();
  const choose = async (name: string) => {
    const base = createExtension(name, { packageName: name });
    const filtered = filterCandidates({ source: { packageName: name }, catalogs: await contents.read(catalogs, name, signal) });
    if (filtered.kind === "unresolved") throw new Error(filtered.message);
    return outcomeOf(
      await choice.choose({ ...base, spec: { ...base.spec, dependencies: { policy: "Install" } } }, filtered, catalogs, signal),
    );
  };
  const slow = choose("a");
  await eventually(() => expect(searched).toEqual(["a"]));
  expect(await choose("b")).toEqual({ bundle: "b.v1.0.0", needs: { p: "2.0.0" } });
  gate.resolve();
  expect((await slow).needs).toBeUndefined();
  expect(searched).toEqual(["a", "b", "a"]);
});

test("DependencyChoice counts no bundles of another plan that it does not need when a plan has many bundles", async () => {
  const listPackages = (letter: string): string[] => Array.from({ length: 60 }, (_, at) => `${letter}${at}`);
  const fixtures = (letter: string): NonNullable<DependencyWorld["catalogs"]>[string]["packages"] => ({
    [letter]: {
      channels: { s: [`${letter}.v1.0.0`, `${letter}.v2.0.0`] },
      bundles: [`${letter}.v1.0.0`, { name: `${letter}.v2.0.0`, requires: listPackages(letter).map((name) => `${name} 1.0.0`) }],
    },
    ...Object.fromEntries(listPackages(letter).map((name) => [name, { bundles: [`${name}.v1.0.0`] }])),
  });
  const { choice, contents, catalogs } = dependencyWorld({ catalogs: { c: { packages: { ...fixtures("a"), ...fixtures("b") } } } });
  const { signal } = new AbortController();
  for (const name of ["a", "b"]) {
    const base = createExtension(name, { packageName: name });
    const filtered = filterCandidates({ source: { packageName: name }, catalogs: await contents.read(catalogs, name, signal) });
    if (filtered.kind === "unresolved") throw new Error(filtered.message);
    const extension: ClusterExtension = { ...base, spec: { ...base.spec, dependencies: { policy: "Install" } } };
    const { plan } = await choice.choose(extension, filtered, catalogs, signal);
    expect(plan?.status.bundle.name).toBe(`${name}.v2.0.0`);
    expect(plan?.members).toHaveLength(61);
  }
});

// Source: S2-42: a controller that has just started does not know dependents.
test.for<[string, Parameters<typeof chosen>[0], string | undefined]>([
  [
    "waits with an update",
    {
      extension: "b",
      catalogs: {
        c: {
          packages: { b: { channels: { s: ["b.v1.0.0", { name: "b.v2.0.0", replaces: "b.v1.0.0" }] }, bundles: ["b.v1.0.0", "b.v2.0.0"] } },
        },
      },
      installed: { b: { bundle: "b.v1.0.0" } },
    },
    undefined,
  ],
  [
    "keeps the installed bundle",
    { extension: "b", catalogs: { c: { packages: { b: { bundles: ["b.v1.0.0"] } } } }, installed: { b: { bundle: "b.v1.0.0" } } },
    "b.v1.0.0",
  ],
  [
    "accepts a new bundle without dependencies",
    { extension: "b", catalogs: { c: { packages: { b: { bundles: ["b.v1.0.0"] } } } } },
    "b.v1.0.0",
  ],
  [
    "waits with a new bundle that has dependencies",
    { extension: "b", catalogs: { c: { packages: { b: { bundles: [{ name: "b.v1.0.0", requires: ["a 1.0.0"] }] } } } } },
    undefined,
  ],
])("DependencyChoice %s while releases of other extensions are being read", async ([, given, want]) => {
  const choosing = chosen({ ...given, unread: ["a"] });
  if (want === undefined) return expect(choosing).rejects.toThrow("waiting until the releases of 1 extension have been read");
  const { resolution } = await choosing;
  return expect(resolution.kind === "resolved" && resolution.bundle.name).toBe(want);
});

test("DependencyChoice names the limit and a rule when the CEL rules of the catalogs take too many steps", async () => {
  const rule = (number: number): string =>
    `properties.exists(p, properties.exists(q, properties.exists(r, p.type == q.type + "${number}" + r.type)))`;
  const properties = Array.from({ length: 60 }, (_, i) => ({ type: `t${i}`, value: i }));
  const bundles = Array.from({ length: 40 }, (_, i) => ({ name: `b.v1.0.${i}`, properties }));
  const requires = Array.from({ length: 12 }, (_, i) => ({ cel: { rule: rule(i) } }));
  const choosing = chosen({
    extension: "a",
    catalogs: { c: { packages: { a: { bundles: [{ name: "a.v1.0.0", requires }] }, b: { bundles } } } },
  });
  await expect(choosing).rejects.toThrow(StepLimitError);
  await expect(choosing).rejects.toThrow(
    /^evaluating the CEL rules of the bundles takes more than 10,000,000 steps; the rule with the most steps: "properties\.exists.*" of bundle "a\.v1\.0\.0"$/,
  );
});

test("DependencyChoice keeps a plan when a planned bundle has applied its definitions and is not installed yet", async () => {
  const packages = {
    lock: { bundles: [{ name: "lock.v1.0.0", provides: ["Lock"], requires: ["API Key"] }] },
    key: { bundles: [{ name: "key.v1.0.0", provides: ["Key"], requires: ["API Lock"] }] },
  };
  const served: { kind: string; extension: string }[] = [];
  const { choice, contents, catalogs } = dependencyWorld({ catalogs: { c: { packages } }, served });
  const base = createExtension("lock", { packageName: "lock" });
  const extension: ClusterExtension = { ...base, spec: { ...base.spec, dependencies: { policy: "Install" } } };
  const { signal } = new AbortController();
  const source = { packageName: "lock" };
  const filtered = filterCandidates({ source, catalogs: await contents.read(catalogs, "lock", signal) });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  const { plan } = await choice.choose(extension, filtered, catalogs, signal);
  expect(plan?.members.map(({ bundle }) => bundle.name)).toEqual(["key.v1.0.0", "lock.v1.0.0"]);
  served.push({ kind: "Key", extension: "key" }, { kind: "Lock", extension: "lock" });
  expect((await choice.choose(extension, filtered, catalogs, signal)).plan?.status.digest).toBe(plan?.status.digest);
});
