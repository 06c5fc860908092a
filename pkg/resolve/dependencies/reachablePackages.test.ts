import { expect, test } from "vitest";
import { toApi } from "../../../test/support/dependencyFixture.ts";
import { toMeta } from "../../fbc/content.ts";
import type { Property } from "../../fbc/types.ts";
import type { BundleConstraint } from "../constraint/constraint.ts";
import { parseConstraints, toProvider } from "../constraint/parse.ts";
import { type AvailableBundle, BundleIndex, BundleIndexBuilder } from "./bundleIndex.ts";
import type { ReadConstraints } from "./catalogIndex.ts";
import type { InstalledPeer } from "./dependencyCheck.ts";
import { findReachablePackages, type ReachablePackages } from "./reachablePackages.ts";

const NO_CEL = {
  compile: () => {
    throw new Error("no rules here");
  },
};
const read: ReadConstraints = (bundle) => parseConstraints(bundle, NO_CEL);

const provides = (kind: string): Property => ({ type: "olm.gvk", value: toApi(kind) });
const requiresApi = (kind: string): Property => ({ type: "olm.gvk.required", value: toApi(kind) });
const requires = (packageName: string, versionRange = ">=0.0.0"): Property => ({
  type: "olm.package.required",
  value: { packageName, versionRange },
});

function bundle(name: string, ...properties: Property[]): AvailableBundle {
  const [packageName = "", version = ""] = name.split(".v");
  return { package: packageName, name, properties: [{ type: "olm.package", value: { packageName, version } }, ...properties] };
}

function peer(of: AvailableBundle): InstalledPeer {
  return { extension: of.package, bundle: of.name, provider: toProvider(of), declared: read(of) };
}

interface Given {
  readonly root: AvailableBundle;
  readonly bundles: readonly AvailableBundle[];
  readonly installed?: readonly AvailableBundle[];
  readonly canMove?: boolean;
}

function find({ root, bundles, installed = [], canMove = false }: Given): ReachablePackages {
  const builder = new BundleIndexBuilder();
  for (const { package: packageName, ...rest } of bundles) builder.add(toMeta({ schema: "olm.bundle", package: packageName, ...rest }));
  const catalogs = [{ catalog: "c", priority: 0, index: builder.build() }];
  const context = { peers: installed.map(peer), own: undefined, served: [] };
  const request = { packageName: root.package, candidates: [{ provider: toProvider(root), declared: read(root) }], context, canMove };
  const search = findReachablePackages(request, catalogs, read);
  let next = search.next();
  while (!next.done) next = search.next();
  return next.value;
}

const COUNT = 2_000;
const numbers = Array.from({ length: COUNT }, (_, at) => at);

test.for<[why: string, given: Given, want: string[]]>([
  [
    "only follows the versions that are required",
    {
      root: bundle("root.v1.0.0", requires("b", ">=2.0.0")),
      bundles: [
        bundle("b.v1.0.0", ...numbers.slice(0, 500).map((at) => requires(`old-${at}`))),
        bundle("b.v2.0.0", requires("c")),
        bundle("c.v1.0.0"),
        ...numbers.map((at) => bundle(`old-${at}.v1.0.0`, requires(`old-${at + 1}`))),
      ],
    },
    ["b", "c"],
  ],
  [
    "only follows the versions that provide a required API",
    {
      root: bundle("root.v1.0.0", requiresApi("K")),
      bundles: [
        bundle("b.v1.0.0", requires("old-0")),
        bundle("b.v2.0.0", provides("K")),
        ...numbers.map((at) => bundle(`old-${at}.v1.0.0`, requires(`old-${at + 1}`))),
      ],
    },
    ["b"],
  ],
  [
    "does not search other providers of an API that an installed bundle provides",
    {
      root: bundle("root.v1.0.0", requiresApi("K")),
      installed: [bundle("b.v1.0.0", provides("K"))],
      bundles: [bundle("b.v1.0.0", provides("K")), ...numbers.map((at) => bundle(`k-${at}.v1.0.0`, provides("K")))],
    },
    [],
  ],
  [
    "does not follow versions of installed packages",
    {
      root: bundle("root.v1.0.0", requires("b")),
      installed: [bundle("b.v1.0.0")],
      bundles: [
        bundle("b.v1.0.0"),
        bundle("b.v2.0.0", requires("n-0")),
        ...numbers.map((at) => bundle(`n-${at}.v1.0.0`, requires(`n-${at + 1}`))),
      ],
    },
    [],
  ],
  [
    "ignores constraints of installed bundles that no bundle can break",
    {
      root: bundle("root.v1.0.0", requires("b")),
      installed: numbers.slice(0, 600).map((at) => bundle(`x-${at}.v1.0.0`, requires(`x-${(at + 1) % 600}`))),
      bundles: [bundle("b.v1.0.0"), ...numbers.map((at) => bundle(`x-${at}.v2.0.0`))],
      canMove: true,
    },
    ["b"],
  ],
  [
    "includes packages without a version in the range, so that a message can list their versions",
    { root: bundle("root.v1.0.0", requires("b", ">=2.0.0")), bundles: [bundle("b.v1.0.0", requires("c")), bundle("c.v1.0.0")] },
    ["b"],
  ],
  [
    "includes packages of dependents if installed bundles may be updated",
    {
      root: bundle("root.v2.0.0"),
      installed: [
        bundle("x.v1.0.0", {
          type: "olm.constraint",
          value: { any: { constraints: [{ not: { constraints: [{ package: { packageName: "root", versionRange: ">=1.0.0" } }] } }] } },
        }),
      ],
      bundles: [bundle("x.v1.0.0"), bundle("x.v2.0.0", requires("y")), bundle("y.v1.0.0")],
      canMove: true,
    },
    ["x", "y"],
  ],
])("findReachablePackages %s", ([, given, want]) => {
  const { packages, exceeded } = find(given);
  expect(exceeded).toBeUndefined();
  expect([...packages].sort()).toEqual(want);
});

test("findReachablePackages stops at 500 packages and includes the nearest ones", () => {
  const { packages, exceeded } = find({
    root: bundle("root.v1.0.0", requires("z"), requires("n-0")),
    bundles: [bundle("z.v1.0.0"), ...numbers.map((at) => bundle(`n-${at}.v1.0.0`, requires(`n-${at + 1}`)))],
  });
  expect(exceeded).toBe("packages");
  expect(packages.size).toBe(500);
  expect(packages.has("z")).toBe(true);
  expect(packages.has("n-498")).toBe(true);
});

test("findReachablePackages yields and stops at 1,000,000 comparisons when many constraints require a huge package", () => {
  const huge = Array.from({ length: 60_000 }, (_, at) => bundle(`huge.v0.0.${at}`));
  const catalogs = [{ catalog: "c", priority: 0, index: new BundleIndex(new Map([["huge", huge]]), new Map()) }];
  let inTurn = 0;
  const compare = (): boolean => {
    inTurn++;
    return false;
  };
  const constraints = Array.from(
    { length: 512 },
    (_, at): BundleConstraint => ({ kind: "package", packageName: "huge", range: { text: `>${at}.0.0`, versions: { contains: compare } } }),
  );
  const request = {
    packageName: "root",
    candidates: [{ provider: toProvider(bundle("root.v1.0.0")), declared: { constraints, faults: [] } }],
    context: { peers: [], own: undefined, served: [] },
    canMove: true,
  };
  const search = findReachablePackages(request, catalogs, read);
  const turns: number[] = [];
  let next = search.next();
  for (; !next.done; next = search.next()) {
    turns.push(inTurn);
    inTurn = 0;
  }
  expect(next.value.exceeded).toBe("comparisons");
  expect(next.value.missing.length).toBeLessThan(17);
  expect(Math.max(inTurn, ...turns)).toBeLessThanOrEqual(1_000);
  expect(turns.reduce((sum, count) => sum + count, inTurn)).toBeLessThanOrEqual(1_000_000);
});
