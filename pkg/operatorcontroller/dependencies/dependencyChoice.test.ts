import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { type DependencyWorld, dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { StepLimitError } from "../../resolve/constraint/stepBudget.ts";
import { filterCandidates } from "../../resolve/resolve.ts";

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

async function chosen({ extension, policy, catalog, ...fixture }: Omit<Row, "id" | "want"> & { extension: string }) {
  const { choice, contents, catalogs, reads } = dependencyWorld(fixture);
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
function outcomeOf({ resolution, plan, rejected }: Awaited<ReturnType<typeof chosen>>): Omit<Row["want"], "asks"> {
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
