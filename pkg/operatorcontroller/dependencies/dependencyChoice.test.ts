import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { type DependencyWorld, dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { filterCandidates } from "../../resolve/resolve.ts";

interface Row extends DependencyWorld {
  id: string;
  policy?: "Require" | "Install";
  catalog?: Partial<CatalogSource>;
  want: {
    /** What is chosen; absent where nothing can be. */
    bundle?: string;
    /** Version ranges by package of what has to be installed first. */
    needs?: Record<string, string>;
    /** All that is said about the best that was left out. */
    unfit?: string;
    /** Whether what catalogs offer was read. */
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
  const made = extensionNamed(extension, { packageName: extension, ...catalog });
  const wanting: ClusterExtension = { ...made, spec: { ...made.spec, ...(policy ? { dependencies: { policy } } : {}) } };
  const signal = new AbortController().signal;
  const own = fixture.installed?.[extension]?.bundle;
  const filtered = filterCandidates({
    source: wanting.spec.source.catalog!,
    catalogs: await contents.read(catalogs, extension, signal),
    installed: own === undefined ? undefined : { name: own, version: own.slice(own.indexOf(".v") + 2) },
  });
  if (filtered.kind === "unresolved") throw new Error(filtered.message);
  return { ...(await choice.choose(wanting, filtered, catalogs, signal)), choice, reads };
}

/** What came of a choice, as cases have it. */
function outcomeOf({ resolution, pending, rejected }: Awaited<ReturnType<typeof chosen>>): Omit<Row["want"], "asks"> {
  const needs = pending && Object.fromEntries(pending.needs.map(({ bundle, version }) => [bundle.packageName, version]));
  const told = rejected && `${rejected.bundle}: ${rejected.clauses.join("; ")}`;
  return {
    ...(resolution.kind === "resolved" ? { bundle: resolution.bundle.name } : {}),
    ...(needs ? { needs } : {}),
    ...(told === undefined ? {} : { unfit: told }),
  };
}

test.for(rows)("$title", async ({ title: _title, id: _id, want, ...given }) => {
  const made = await chosen(given);
  const { asks, ...outcome } = want;
  expect(outcomeOf(made)).toEqual(outcome);
  if (asks !== undefined) expect(made.reads.length > 0).toBe(asks);
  expect(made.choice.waiting.has(given.extension)).toBe(made.rejected !== undefined || made.pending !== undefined);
});

const turned = <T>(record: Record<string, T> = {}): Record<string, T> => Object.fromEntries(Object.entries(record).toReversed());
const IRRELEVANT = { bundles: [{ name: "zz.v1.0.0", provides: ["Zz"], requires: ["API Nobody"] }] };

test.for(rows)(
  "$title, in whatever order, and beside what has nothing to do with it",
  async ({ title: _title, id: _id, want: _want, ...given }) => {
    const catalogs = Object.entries(turned(given.catalogs)).map(([name, catalog]) => [
      name,
      { ...catalog, packages: turned({ ...catalog.packages, zz: IRRELEVANT }) },
    ]);
    const other = {
      ...given,
      catalogs: Object.fromEntries(catalogs),
      installed: { ...turned(given.installed), zy: { bundle: "zy.v1.0.0", provides: ["Zy"] } },
    };
    expect(outcomeOf(await chosen(other))).toEqual(outcomeOf(await chosen(given)));
  },
);

// Source: S2-42: a controller that has just started knows nothing of dependents.
test.for<[string, Parameters<typeof chosen>[0], string | undefined]>([
  [
    "an update waits",
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
    "what is installed stays",
    { extension: "b", catalogs: { c: { packages: { b: { bundles: ["b.v1.0.0"] } } } }, installed: { b: { bundle: "b.v1.0.0" } } },
    "b.v1.0.0",
  ],
  [
    "what is new and requires nothing is taken",
    { extension: "b", catalogs: { c: { packages: { b: { bundles: ["b.v1.0.0"] } } } } },
    "b.v1.0.0",
  ],
  [
    "what is new and requires something waits",
    { extension: "b", catalogs: { c: { packages: { b: { bundles: [{ name: "b.v1.0.0", requires: ["a 1.0.0"] }] } } } } },
    undefined,
  ],
])("while it is being read what others have installed, %s", async ([, given, want]) => {
  const made = chosen({ ...given, unread: ["a"] });
  if (want === undefined) return expect(made).rejects.toThrow("the releases of 1 extension are being read");
  const { resolution } = await made;
  return expect(resolution.kind === "resolved" && resolution.bundle.name).toBe(want);
});
