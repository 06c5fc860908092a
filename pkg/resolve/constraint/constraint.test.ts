import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { load } from "js-yaml";
import { describe, expect, test } from "vitest";
import { bundleFiles } from "../../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { readDependencies } from "../../bundle/properties.ts";
import { groupByPackage } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import type { FbcBundle, Property } from "../../fbc/types.ts";
import { CelRules } from "../cel/celRules.ts";
import { type BundleConstraint, type Gvk, type Provider, usesCel } from "./constraint.ts";
import { describeConstraint as described, findUnmet, formatUnmetConstraint, isSatisfied } from "./evaluate.ts";
import { formatError, getGvkKey, parseConstraints, toProvider } from "./parse.ts";
import { MAX_RESOLUTION_STEPS, StepBudget } from "./stepBudget.ts";

interface StatedBundle {
  package: string;
  version: string;
  /** As group/version/kind. */
  apis?: string[];
  properties?: Property[];
}

interface ConstraintCase extends CaseHead {
  properties?: Property[];
  described?: string[];
  among?: { bundles?: StatedBundle[]; served?: string[]; holds: boolean; unmet?: string[] }[];
  faults?: (Property & { path?: string; reason: string })[];
}

const cel = new CelRules();
const cases = loadCases<ConstraintCase>("constraints");

describe.for(cases.filter(({ properties }) => properties))("$name", ({ properties = [], described: texts, among = [] }) => {
  const { constraints, faults } = parseConstraints({ name: "red.v1.0.0", properties }, cel);

  test("parseConstraints parses the properties without errors", () => {
    expect(faults).toEqual([]);
    if (texts) expect(constraints.map(described)).toEqual(texts);
  });

  test.for(among.map((row, i) => ({ i, ...row })))(
    "holds returns the expected result for row $i",
    ({ bundles = [], served = [], holds: want, unmet: parts }) => {
      const providers = bundles.map((stated) => toProvider(bundleFrom(stated)));
      const apis = served.map(gvkOf);
      expect(constraints.every((constraint) => isSatisfied(constraint, providers, apis))).toBe(want);
      const found = constraints.flatMap((constraint) => findUnmet(constraint, providers, apis)).map(formatUnmetConstraint);
      expect(found.length === 0).toBe(want);
      if (parts) expect(found).toEqual(parts);
    },
  );
});

interface DependencyCase extends CaseHead {
  files: Record<string, string>;
  described?: string[];
}

test.for(loadCases<DependencyCase>("bundle-dependencies").filter(({ described: texts }) => texts))(
  "parseConstraints parses the dependencies of a bundle: $name",
  ({ files, described: texts }) => {
    const { properties } = readDependencies(bundleFiles(files));
    const { constraints, faults } = parseConstraints({ name: "red.v1.0.0", properties }, cel);
    expect([constraints.map(described), faults]).toEqual([texts, []]);
  },
);

describe.for(cases.filter(({ faults }) => faults))("$name", ({ faults: rows = [] }) => {
  test.for(rows)("parseConstraints reports property $type, path $path: $reason", ({ type, value, path = "", reason }) => {
    const sound = { type: "olm.package.required", value: { packageName: "a", versionRange: ">=1.0.0" } };
    const { constraints, faults } = parseConstraints({ name: "red.v1.0.0", properties: [sound, { type, value }, sound] }, cel);
    expect(constraints).toHaveLength(2);
    expect(faults).toEqual([{ bundle: "red.v1.0.0", property: 1, type, path, reason }]);
  });
});

function bundleFrom({ package: packageName, version, apis = [], properties = [] }: StatedBundle): FbcBundle {
  const own = [{ type: "olm.package", value: { packageName, version } }, ...apis.map((api) => ({ type: "olm.gvk", value: gvkOf(api) }))];
  return { name: `${packageName}.v${version}`, package: packageName, image: "", properties: [...own, ...properties] };
}

function gvkOf(text: string): Gvk {
  const [group = "", version = "", kind = ""] = text.split("/");
  return { group, version, kind };
}

test("parseConstraints parses the examples in the documentation", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/how-to/declare-constraints.md"), "utf8");
  const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map((match) => match[1] ?? "");
  const read = examples.map((text) => {
    const { properties = readDependencies(bundleFiles({ "metadata/dependencies.yaml": text })).properties } = load(text) as {
      properties?: Property[];
    };
    return parseConstraints({ name: "red.v1.0.0", properties }, cel);
  });
  expect(read.flatMap(({ faults }) => faults)).toEqual([]);
  expect(read.map(({ constraints }) => constraints.length)).toEqual([2, 1, 1]);
});

/** Rules in the style of the documentation of OLM v0. */
const REALISTIC = [
  'properties.exists(p, p.type == "certified") && properties.exists(p, p.type == "stable")',
  'properties.exists(p, p.type == "olm.gvk" && p.value.kind == "EtcdCluster") && properties.exists(p, p.type == "olm.package" && semver_compare(p.value.version, "3.1.0") > 0)',
  'properties.exists(p, p.type == "olm.package" && p.value.packageName.matches("^etcd") && semver_compare(p.value.version, "3.1.0") > 0)',
];

describeWithData("real catalogs", (data) => {
  test("realistic rules on all bundles of a catalog take less than a tenth of the limit of a resolution", { timeout: 60_000 }, async () => {
    const root = join(data, "fbc/community-v4.19");
    const rules = REALISTIC.map((rule) => cel.compile(rule, "red.v1.0.0"));
    const budget = new StepBudget();
    for (const file of globSync("**/*.{json,yaml,yml}", { cwd: root })) {
      const metas = await Array.fromAsync(decodeMetas([readFileSync(join(root, file))], file));
      const bundles = [...groupByPackage(metas).values()].flatMap((content) => content.bundles);
      cel.charge(budget, () => bundles.forEach(({ properties }) => rules.forEach((holds) => holds(properties))));
    }
    expect(budget.spent).toBeGreaterThan(100_000);
    expect(budget.spent).toBeLessThan(MAX_RESOLUTION_STEPS / 10);
  });

  test("parseConstraints parses all constraints of real bundles, and every required API is well-formed", { timeout: 60_000 }, async () => {
    const root = join(data, "fbc/community-v4.19");
    let [constraints, apis] = [0, 0];
    for (const file of globSync("**/*.{json,yaml,yml}", { cwd: root })) {
      const metas = await Array.fromAsync(decodeMetas([readFileSync(join(root, file))], file));
      for (const { bundles } of groupByPackage(metas).values()) {
        for (const bundle of bundles) {
          const declared = parseConstraints(bundle, cel);
          expect(declared.faults).toEqual([]);
          constraints += declared.constraints.length;
          apis += toProvider(bundle).apis.length;
        }
      }
    }
    expect([constraints > 0, apis > 1_000]).toEqual([true, true]);
  });
});

test("formatError reports the bundle, the path and who must correct the constraint, even when the quoted text is long", () => {
  const fault = { bundle: "red.v1.0.0", property: 3, type: "olm.constraint", path: "all.constraints[1].package", reason: "must be set" };
  expect(formatError(fault)).toBe(
    'bundle "red.v1.0.0" declares an invalid constraint, which the catalog author must correct: ' +
      'properties[3] of type "olm.constraint", at all.constraints[1].package: must be set',
  );
  const long = "x".repeat(100_000);
  expect(formatError({ bundle: long, property: 3, type: long, path: long, reason: long }).length).toBeLessThan(1_100);
});

describe("limits", () => {
  const leaf = { package: { name: "a", version: "1.0.0" } };
  const nested = (depth: number): unknown => (depth === 0 ? leaf : { all: { constraints: [nested(depth - 1)] } });
  const read = (...values: unknown[]): ReturnType<typeof parseConstraints> =>
    parseConstraints({ name: "red", properties: values.map((value) => ({ type: "olm.constraint", value })) }, cel);

  test("parseConstraints rejects constraints that are nested too deep", () => {
    expect(read(nested(16)).faults).toEqual([]);
    expect(read(nested(17)).faults).toMatchObject([{ reason: "constraints are nested deeper than 16 levels" }]);
    expect(read(nested(900)).faults).toHaveLength(1);
  });

  test("parseConstraints limits the number of constraints over all properties of a bundle", () => {
    const reason = "the bundle declares more than 512 constraints";
    const many = (count: number): unknown => ({ any: { constraints: Array.from({ length: count }, () => leaf) } });
    expect(read(many(255), many(255)).faults).toEqual([]);
    expect(read(many(255), many(256)).faults).toMatchObject([{ property: 1, path: "any.constraints[255]", reason }]);
    const single = Array.from({ length: 100_000 }, () => leaf);
    expect(read(...single).constraints).toHaveLength(512);
    expect(read(...single).faults).toHaveLength(20);
  });

  test("parseConstraints limits CEL rules", () => {
    const rules = (count: number): unknown => ({ any: { constraints: Array.from({ length: count }, () => ({ cel: { rule: "true" } })) } });
    expect(read(rules(10), rules(6)).faults).toEqual([]);
    const reason = "the bundle declares more than 16 CEL rules";
    expect(read(rules(17)).faults).toMatchObject([{ path: "any.constraints[16].cel.rule", reason }]);
  });

  test("parseConstraints limits the length of messages", () => {
    const long = "x".repeat(100_000);
    const { constraints } = read({ failureMessage: long, any: { constraints: Array.from({ length: 500 }, () => leaf) } });
    const [first] = constraints as [BundleConstraint];
    expect(described(first).length).toBeLessThanOrEqual(200);
    expect(first.failureMessage).toHaveLength(512);
    expect(findUnmet(first, [], [])).toHaveLength(20);
    expect(read({ [long]: 1 }).faults[0]?.reason.length).toBeLessThan(400);
    expect(read({ package: { name: long, version: "1.0.0" } }).faults).toMatchObject([
      { reason: "the package name is too long: 100000 characters, maximum 512" },
    ]);
    expect(read({ package: { name: "a", version: long } }).faults).toMatchObject([
      { reason: "the version range is too long: 100000 characters, maximum 1024" },
    ]);
  });
});

test("toProvider lists each valid API of a bundle once", () => {
  const gvk = (value: unknown): Property => ({ type: "olm.gvk", value });
  const provider = toProvider({
    ...bundleFrom({ package: "a", version: "1.2.3+4", apis: ["g.example.com/v1/A", "g.example.com/v1/A", "g.example.com/v2/A"] }),
    properties: [
      gvk({ Group: "g.example.com", version: "v1", kind: "A" }),
      gvk({ group: "g", version: "v1", kind: "A" }),
      gvk(null),
      gvk({}),
    ],
  });
  expect(provider.apis.map(getGvkKey)).toEqual(["g.example.com/v1/A", "g/v1/A"]);
  expect(provider.version).toBeUndefined();
});

test("usesCel finds CEL rules at any depth", () => {
  const value = (rule: unknown): Property[] => [{ type: "olm.constraint", value: rule }];
  expect(usesCel(value({ all: { constraints: [{ CEL: { rule: "true" } }] } }))).toBe(true);
  expect(usesCel(value({ package: { name: "cel", version: "1.0.0" } }))).toBe(false);
  expect(usesCel([{ type: "cel", value: { cel: 1n } }])).toBe(false);
});

describe("laws", () => {
  const API = ["a.example.com/v1/A", "b.example.com/v1/B", "c.example.com/v1/C"];
  const gvk = fc.constantFrom(...API).map(gvkOf);
  const provider: fc.Arbitrary<Provider> = fc
    .record({
      package: fc.constantFrom("a", "b", "c"),
      version: fc.constantFrom("0.9.0", "1.0.0", "1.2.0", "2.0.0"),
      apis: fc.subarray(API),
    })
    .map((stated) => toProvider(bundleFrom(stated)));
  const providers = fc.array(provider, { maxLength: 5 });
  const served = fc.array(gvk, { maxLength: 2 });
  const leaf: fc.Arbitrary<unknown> = fc.oneof(
    fc.record({ gvk }),
    fc.record({
      package: fc.record({ name: fc.constantFrom("a", "b", "c"), version: fc.constantFrom("<1.0.0", ">=1.0.0 !1.2.0", "2.0.0") }),
    }),
  );
  const compounds = (withNot: boolean): fc.Arbitrary<unknown> =>
    fc.letrec<{ constraint: unknown; list: unknown }>((tie) => {
      const list = fc.array(tie("constraint"), { minLength: 1, maxLength: 3 });
      const negated = fc.array(leaf, { minLength: 1, maxLength: 2 }).map((constraints) => ({ not: { constraints } }));
      const members = withNot ? fc.array(fc.oneof(tie("constraint"), negated), { minLength: 1, maxLength: 3 }) : list;
      return {
        list,
        constraint: fc.oneof(
          { maxDepth: 3 },
          leaf,
          members.map((constraints) => ({ all: { constraints } })),
          members.map((constraints) => ({ any: { constraints } })),
        ),
      };
    }).constraint;
  const constraint = compounds(true).map(read);
  const positive = compounds(false).map(read);

  function read(value: unknown): BundleConstraint {
    const { constraints } = parseConstraints({ name: "red", properties: [{ type: "olm.constraint", value }] }, cel);
    return constraints[0] as BundleConstraint;
  }

  test("holds combines the members of a compound by its logic", () => {
    const property = fc.property(constraint, constraint, providers, served, (a, b, set, apis) => {
      const is = (kind: "all" | "any" | "not", ...constraints: BundleConstraint[]): boolean =>
        isSatisfied({ kind, constraints }, set, apis);
      const [left, right] = [isSatisfied(a, set, apis), isSatisfied(b, set, apis)];
      expect(is("any", a, b)).toBe(left || right);
      expect(is("all", a, b)).toBe(left && right);
      expect(is("not", a, b)).toBe(!is("any", a, b));
      const [notA, notB] = [a, b].map((part): BundleConstraint => ({ kind: "not", constraints: [part] }));
      expect(is("not", a, b)).toBe(is("all", notA as BundleConstraint, notB as BundleConstraint));
      expect(!is("all", a, b)).toBe(is("any", notA as BundleConstraint, notB as BundleConstraint));
    });
    fc.assert(property);
  });

  test("holds does not depend on the order of bundles or on duplicates", () => {
    const property = fc.property(constraint, providers, served, (asked, set, apis) => {
      const truth = isSatisfied(asked, set, apis);
      expect(isSatisfied(asked, set.toReversed(), apis.toReversed())).toBe(truth);
      expect(isSatisfied(asked, [...set, ...set], apis)).toBe(truth);
    });
    fc.assert(property);
  });

  test("holds is still true for a constraint without `not` when a bundle is added", () => {
    const property = fc.property(positive, providers, provider, served, (asked, set, more, apis) => {
      if (isSatisfied(asked, set, apis)) expect(isSatisfied(asked, [...set, more], apis)).toBe(true);
    });
    fc.assert(property);
  });

  test("findUnmet returns unmet parts if and only if a constraint is not met", () => {
    const property = fc.property(constraint, providers, served, (asked, set, apis) => {
      const parts = findUnmet(asked, set, apis);
      expect(parts.length === 0).toBe(isSatisfied(asked, set, apis));
      for (const { leaf: part, excluded } of parts) expect(isSatisfied(part, set, apis)).toBe(excluded);
    });
    fc.assert(property);
  });
});
