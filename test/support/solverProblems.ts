import { type Arbitrary, array, boolean, constant, constantFrom, oneof, record, tuple, uniqueArray } from "fast-check";
import type { BundleConstraint, Gvk } from "../../pkg/resolve/constraint/constraint.ts";
import type { RejectedSolverBundle, SolverBundle, SolverProblem, Unit } from "../../pkg/resolve/solver/problem.ts";
import { parseRange } from "../../pkg/version/blang.ts";
import { parseVersionRelease } from "../../pkg/version/version.ts";

const PACKAGES = ["a", "b", "c", "d", "e"];
const MAX_SETS = 1_500;

/** Returns an API by the name of its kind. */
export function api(kind: string): Gvk {
  return { group: "example.com", version: "v1", kind };
}

export function range(text: string): { text: string; versions: ReturnType<typeof parseRange> } {
  return { text, versions: parseRange(text) };
}

const leaf: Arbitrary<BundleConstraint> = oneof(
  record({
    kind: constant("package" as const),
    packageName: constantFrom(...PACKAGES, "missing"),
    range: constantFrom(">=1.0.0", ">=2.0.0", "<2.0.0", "2.0.0", ">1.0.0 <3.0.0").map(range),
  }),
  record({ kind: constant("gvk" as const), gvk: constantFrom("K", "L", "M").map(api) }),
  constantFrom("red", "blue").map((color) => ({
    kind: "cel" as const,
    rule: `properties.exists(p, p.type == "${color}")`,
    holds: (properties: SolverBundle["properties"]) => properties.some(({ type }) => type === color),
  })),
);

function compound(depth: number): Arbitrary<BundleConstraint> {
  if (depth === 0) return leaf;
  return oneof(
    { weight: 3, arbitrary: leaf },
    {
      weight: 2,
      arbitrary: record({
        kind: constantFrom("all" as const, "any" as const, "not" as const),
        constraints: array(compound(depth - 1), { minLength: 1, maxLength: 3 }),
      }),
    },
  );
}

function bundle(packageName: string): Arbitrary<SolverBundle> {
  return record({
    version: constantFrom("1.0.0", "1.5.0", "2.0.0", "3.0.0"),
    catalog: constantFrom("x", "y"),
    priority: constantFrom(0, 0, 0, 5),
    channels: uniqueArray(constantFrom("alpha", "beta", "stable"), { minLength: 1 }),
    inDefaultChannel: boolean(),
    deprecated: constantFrom(false, false, false, true),
    revision: constantFrom("", "", "", "", "", "-2"),
    apis: oneof(
      { weight: 9, arbitrary: uniqueArray(constantFrom("K", "L", "M"), { maxLength: 1 }) },
      { weight: 1, arbitrary: constant<("K" | "L" | "M")[]>(["K", "M"]) },
    ),
    colors: uniqueArray(constantFrom("red", "blue"), { maxLength: 2 }),
    constraints: array(compound(2), { maxLength: 3 }),
  }).map(({ version, revision, apis, colors, ...rest }) => ({
    ...rest,
    packageName,
    name: `${packageName}.v${version}${revision}`,
    version: parseVersionRelease(version),
    apis: apis.map(api),
    properties: colors.map((type) => ({ type, value: true })),
  }));
}

function unit(packageName: string, isSame: (bundle: SolverBundle) => unknown): Arbitrary<Unit> {
  return record({
    kind: constantFrom("wanted" as const, "installed" as const, "offered" as const, "offered" as const, "offered" as const),
    packageName: constant(packageName),
    candidates: uniqueArray(bundle(packageName), { minLength: 1, maxLength: 4, selector: isSame }),
  });
}

/** A bundle that cannot be chosen, whose version a candidate may have too. */
const rejectedBundle: Arbitrary<RejectedSolverBundle> = record({
  packageName: constantFrom(...PACKAGES, "missing"),
  version: constantFrom("1.0.0", "1.7.0", "2.0.0", "4.0.0", undefined),
  api: constantFrom("K", "L", "M"),
  color: constantFrom("red", "blue"),
  why: constantFrom<RejectedSolverBundle["why"]>(
    { kind: "faulty", fault: 'properties[0] of type "olm.constraint": must be set' },
    { kind: "faulty", fault: 'properties[1] of type "olm.gvk.required", at group: must be set' },
    { kind: "unnamed" },
    { kind: "fixed" },
  ),
}).map(({ packageName, version, api: kind, color, why }) => ({
  packageName,
  name: version === undefined ? `${packageName}.bad` : `${packageName}.v${version}`,
  version: version === undefined ? undefined : parseVersionRelease(version),
  catalog: "z",
  apis: [api(kind)],
  properties: [{ type: color, value: true }],
  why: version === undefined ? { kind: "unversioned" } : why,
}));

/** Generates problems of up to five packages, small enough to try all sets of their bundles. */
export const smallProblems: Arbitrary<SolverProblem> = problems(({ name, catalog }) => `${name} ${catalog}`);

/** Generates such problems in which several bundles can have the same name and catalog, and an API can be served several times. */
export const problemsWithDuplicates: Arbitrary<SolverProblem> = problems((bundle) => bundle, 3);

function problems(isSame: (bundle: SolverBundle) => unknown, maxServed = 1): Arbitrary<SolverProblem> {
  return record({
    units: tuple(...PACKAGES.map((name) => unit(name, isSame))).map((units) => units.flat()),
    served: array(record({ gvk: constantFrom("K", "L", "M").map(api), owner: constantFrom(undefined, "somebody", "else") }), {
      maxLength: maxServed,
    }),
    rejected: oneof(
      { weight: 2, arbitrary: constant([]) },
      { weight: 1, arbitrary: uniqueArray(rejectedBundle, { maxLength: 3, selector: ({ name }) => name }) },
    ),
  }).filter(({ units }) => units.reduce((sets, { candidates }) => sets * (candidates.length + 1), 1) <= MAX_SETS);
}
