import { type Arbitrary, array, boolean, constant, constantFrom, integer, oneof, option, record, tuple, uniqueArray } from "fast-check";
import { type CatalogWorld, type DependencyWorld, type DependentFixture, toApi } from "./dependencyFixture.ts";

/** The package to install in a generated world. */
export const ROOT = "root";
const OTHERS = ["b", "c", "d", "e"];
const VERSIONS = ["1.0.0", "1.5.0", "2.0.0", "3.0.0"];
const KINDS = ["K", "L", "M"];
const COLORS = ["red", "blue"];

/** The complexity of generated worlds. */
export interface WorldShape {
  /** Maximum depth of a constraint. */
  readonly depth: number;
  /** Maximum number of constraints of a bundle; bundles of the root may have one more. */
  readonly maxConstraints: number;
  /** One of this many packages is installed, on average half as many. */
  readonly oneInstalledOf: number;
}

/** The value of an olm.constraint. */
export type StatedConstraint = {
  readonly [Kind in "all" | "any" | "not"]?: { readonly constraints: readonly StatedConstraint[] };
} & {
  readonly package?: { readonly packageName: string; readonly versionRange: string };
  readonly gvk?: { readonly group: string; readonly version: string; readonly kind: string };
  readonly cel?: { readonly rule: string };
};

/** A bundle of a generated world. */
export interface WorldBundle extends DependentFixture {
  readonly name: string;
  readonly requires: StatedConstraint[];
  readonly provides: string[];
  readonly properties: { type: string; value: unknown }[];
}

type GeneratedPackage = Omit<CatalogWorld["packages"][string], "bundles"> & { bundles: WorldBundle[] };

/** A generated world, in the form of cases. Every bundle has all members. */
export interface GeneratedWorld extends DependencyWorld {
  readonly catalogs: Record<string, Omit<CatalogWorld, "packages"> & { packages: Record<string, GeneratedPackage> }>;
  readonly installed: Record<string, Omit<WorldBundle, "name"> & { bundle: string; catalog: { version?: string } }>;
  readonly served: string[];
}

const leaf: Arbitrary<StatedConstraint> = oneof(
  {
    weight: 4,
    arbitrary: record({
      package: record({
        packageName: constantFrom(ROOT, ...OTHERS, ...OTHERS, "missing"),
        versionRange: constantFrom(">=1.0.0", ">=2.0.0", "<2.0.0", "2.0.0", ">1.0.0 <3.0.0"),
      }),
    }),
  },
  { weight: 2, arbitrary: record({ gvk: constantFrom(...KINDS).map(toApi) }) },
  {
    weight: 1,
    arbitrary: record({ cel: constantFrom(...COLORS).map((color) => ({ rule: `properties.exists(p, p.type == "${color}")` })) }),
  },
);

function constraint(depth: number): Arbitrary<StatedConstraint> {
  if (depth === 0) return leaf;
  const members = array(constraint(depth - 1), { minLength: 1, maxLength: 3 });
  const excluded = record({ not: record({ constraints: members.map((all) => all.map(allowNot)) }) });
  const grouped = record({ constraints: array(oneof(constraint(depth - 1), excluded), { minLength: 1, maxLength: 3 }) });
  return oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 3, arbitrary: oneof(record({ any: grouped }), excluded.map(allowNot), record({ all: grouped })) },
  );
}

/** Puts a `not` into an `all`, because it is only valid there and in an `any`. */
function allowNot(constraint: StatedConstraint): StatedConstraint {
  return constraint.not ? { all: { constraints: [constraint] } } : constraint;
}

function bundles(packageName: string, { depth, maxConstraints }: WorldShape): Arbitrary<WorldBundle[]> {
  const bundle = record({
    version: constantFrom(...VERSIONS),
    provides: uniqueArray(constantFrom(...KINDS), { maxLength: 1 }),
    colors: uniqueArray(constantFrom(...COLORS), { maxLength: 1 }),
    requires: array(constraint(depth), { maxLength: packageName === ROOT ? maxConstraints + 1 : maxConstraints }),
  });
  return uniqueArray(bundle, { minLength: 1, maxLength: 3, selector: ({ version }) => version }).map((all) =>
    all.map(({ version, colors, ...rest }) => ({
      ...rest,
      name: `${packageName}.v${version}`,
      properties: colors.map((type) => ({ type, value: true })),
    })),
  );
}

function catalogPackage(packageName: string, shape: WorldShape): Arbitrary<GeneratedPackage> {
  return record({ bundles: bundles(packageName, shape), edges: constantFrom("replaces", "skipRange", "skipRange", "gap") }).map(
    ({ bundles: all, edges }) => {
      const names = all.map(({ name }) => name).sort();
      const entries = names.map((name, at) => ({
        name,
        ...(edges === "replaces" && at > 0 ? { replaces: names[at - 1] ?? "" } : {}),
        ...(edges === "skipRange" ? { skipRange: `<${name.slice(name.indexOf(".v") + 2)}` } : {}),
      }));
      return { bundles: all, channels: { stable: entries } };
    },
  );
}

function catalogOf(shape: WorldShape): Arbitrary<GeneratedWorld["catalogs"][string]> {
  const others = uniqueArray(constantFrom(...OTHERS), { maxLength: OTHERS.length }).chain((names) =>
    tuple(...names.map((name) => catalogPackage(name, shape))).map((packages) =>
      Object.fromEntries(packages.map((one, at) => [names[at] ?? "", one])),
    ),
  );
  return record({
    priority: constantFrom(0, 0, 5),
    packages: tuple(catalogPackage(ROOT, shape), others).map(([root, more]) => ({ [ROOT]: root, ...more })),
  });
}

/**
 * Generates worlds of one or two catalogs with up to five packages, with installed bundles, small enough to try all sets of bundles. The extension of a
 * package has the name of the package. No two installed bundles provide the same API.
 */
export function generateWorlds(shape: WorldShape): Arbitrary<GeneratedWorld> {
  return record({
    first: catalogOf(shape),
    second: option(catalogOf(shape), { freq: 2, nil: undefined }),
    picks: array(
      record({ at: integer({ min: 0, max: 999 }), isUsed: boolean(), version: constantFrom(undefined, undefined, "<2.0.0", "<3.0.0") }),
      {
        minLength: OTHERS.length + 1,
        maxLength: OTHERS.length + 1,
      },
    ),
    foreign: option(bundles("x", shape), { nil: undefined }),
    served: oneof({ weight: 3, arbitrary: constant<string[]>([]) }, { weight: 1, arbitrary: constantFrom(...KINDS).map((kind) => [kind]) }),
  }).map(({ first, second, picks, foreign: other, served }) => {
    const catalogs: GeneratedWorld["catalogs"] = second ? { s: first, t: second } : { s: first };
    const installed: GeneratedWorld["installed"] = {};
    const taken = new Set(served);
    const install = (extension: string, all: readonly WorldBundle[], at: number, version?: string): void => {
      // Low versions are installed more often, so that there are updates.
      const bundle = all.toSorted((a, b) => (a.name < b.name ? -1 : 1))[at % Math.max(Math.ceil(all.length / 2), 1)];
      if (!bundle || bundle.provides.some((kind) => taken.has(kind))) return;
      for (const kind of bundle.provides) taken.add(kind);
      const { name, ...rest } = bundle;
      installed[extension] = { bundle: name, catalog: version === undefined ? {} : { version }, ...rest };
    };
    for (const [index, name] of [ROOT, ...OTHERS].entries()) {
      const { at, isUsed, version } = picks[index] ?? { at: 0, isUsed: false, version: undefined };
      if (!isUsed || at % shape.oneInstalledOf !== 0) continue;
      const all = Object.values(catalogs).flatMap(({ packages }) => packages[name]?.bundles ?? []);
      install(name, all, at, version);
    }
    if (other) install("x", other, 0);
    return { catalogs, installed, served };
  });
}
