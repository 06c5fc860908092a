import { assert, property } from "fast-check";
import { expect, test } from "vitest";
import { api, range, smallProblems } from "../../../test/support/solverProblems.ts";
import { isConsistent } from "../../../test/support/solverReference.ts";
import { parseVersionRelease } from "../../version/version.ts";
import type { BundleConstraint } from "../constraint/constraint.ts";
import type { SolverBundle } from "../solver/problem.ts";
import { solve } from "../solver/solve.ts";
import { explainNeeds, findPlanFault, selectNeeded, sortIntoWaves } from "./dependencyPlan.ts";
import type { PlanBundle } from "./planIndex.ts";

type Constraint = BundleConstraint;
const needs = (packageName: string): Constraint => ({ kind: "package", packageName, range: range(">=1.0.0") });
const needsApi = (kind: string): Constraint => ({ kind: "gvk", gvk: api(kind) });
const any = (...constraints: Constraint[]): Constraint => ({ kind: "any", constraints });
const not = (constraint: Constraint): Constraint => ({ kind: "not", constraints: [constraint] });

function bundle(name: string, constraints: readonly Constraint[] = [], kinds: readonly string[] = []): PlanBundle {
  const [packageName = "", version = "1.0.0"] = name.split("@");
  return { name, packageName, version: parseVersionRelease(version), properties: [], apis: kinds.map(api), constraints };
}

interface Case {
  readonly planned: readonly PlanBundle[];
  readonly installed?: readonly PlanBundle[];
  readonly replaced?: PlanBundle;
  readonly served?: readonly string[];
}

const toWorld = ({ planned, installed = [], replaced, served = [] }: Case) => ({ planned, installed, replaced, served: served.map(api) });

test.for<[string, Case, string[]]>([
  ["bundles need nothing", { planned: [bundle("a"), bundle("b")] }, ["a b"]],
  ["one bundle needs another", { planned: [bundle("a", [needs("b")]), bundle("b")] }, ["b", "a"]],
  ["bundles form a chain", { planned: [bundle("a", [needs("b")]), bundle("b", [needs("c")]), bundle("c")] }, ["c", "b", "a"]],
  ["two bundles need each other", { planned: [bundle("a", [needs("b")]), bundle("b", [needs("a")])] }, ["a b"]],
  [
    "two bundles need each other and one needs a third",
    { planned: [bundle("a", [needs("b")]), bundle("b", [needs("a"), needs("c")]), bundle("c")] },
    ["c", "a b"],
  ],
  [
    "three bundles need each other and a fourth needs one of them",
    { planned: [bundle("r", [needs("a")]), bundle("a", [needs("b")]), bundle("b", [needs("c")]), bundle("c", [needs("a")])] },
    ["a b c", "r"],
  ],
  [
    "a bundle accepts an earlier alternative",
    { planned: [bundle("a", [any(needs("b"), needs("c"))]), bundle("b", [needs("a")]), bundle("c")] },
    ["c", "a", "b"],
  ],
  ["the cluster serves the API", { planned: [bundle("a", [needsApi("K")])], served: ["K"] }, ["a"]],
  ["a bundle needs itself", { planned: [bundle("a", [needsApi("K")], ["K"])] }, ["a"]],
  [
    "an installed bundle accepts a bundle only with another one",
    {
      planned: [bundle("a", [needs("b")]), bundle("b"), bundle("c")],
      installed: [bundle("x", [any(not(needs("b")), needs("c"))])],
    },
    ["c", "b", "a"],
  ],
  [
    "an installed bundle accepts two bundles only together",
    {
      planned: [bundle("a", [needs("b")]), bundle("b", [needs("c")]), bundle("c")],
      installed: [bundle("x", [any(not(any(needs("b"), needs("c"))), { kind: "all", constraints: [needs("b"), needs("c")] })])],
    },
    ["b c", "a"],
  ],
  [
    "a new bundle takes over the API of the bundle that is replaced",
    {
      planned: [bundle("a@2.0.0", [needs("b")]), bundle("b", [], ["K"])],
      replaced: bundle("a@1.0.0", [], ["K"]),
    },
    ["a@2.0.0 b"],
  ],
  [
    "the bundle that is replaced excludes a new one",
    {
      planned: [bundle("a@2.0.0", [needs("b")]), bundle("b")],
      replaced: bundle("a@1.0.0", [not(needs("b"))]),
    },
    ["a@2.0.0 b"],
  ],
  [
    "an unmet constraint of an installed bundle stays unmet",
    { planned: [bundle("a")], installed: [bundle("x", [needs("missing")])] },
    ["a"],
  ],
])("sortIntoWaves returns the waves when %s", ([, given, want]) => {
  const waves = sortIntoWaves(toWorld(given));
  expect(waves.map((wave) => wave.map(({ name }) => name).join(" "))).toEqual(want);
});

test("sortIntoWaves keeps all constraints met after each wave, and groups no more bundles than necessary", () => {
  const seen = { waves: 0, cycles: 0 };
  assert(
    property(smallProblems, (problem) => {
      const solution = solve(problem);
      if (solution.kind !== "solved") return;
      const kinds = new Map(problem.units.map(({ packageName, kind }) => [packageName, kind]));
      const chosen = [...solution.chosen.values()];
      const isInstalled = ({ packageName }: SolverBundle): boolean => kinds.get(packageName) === "installed";
      const installed = chosen.filter(isInstalled);
      // Before a plan, every constraint of the installed bundles is met.
      if (!isConsistent(new Set(installed), problem.served)) return;
      const planned = chosen.filter((one) => !isInstalled(one));
      const served = problem.served.map(({ gvk }) => gvk);
      const waves = sortIntoWaves({ planned, installed, served });
      expect(new Set(waves.flat())).toEqual(new Set(planned));
      expect(waves.flat()).toHaveLength(planned.length);
      let present = installed;
      for (const wave of waves) {
        present = [...present, ...wave];
        expect(isConsistent(new Set(present), problem.served)).toBe(true);
      }
      seen.waves += waves.length;
      seen.cycles += waves.filter(({ length }) => length > 1).length;
      expect(findPlanFault({ planned, installed, served })).toBeUndefined();
    }),
    { numRuns: 2_000, seed: 31 },
  );
  expect(seen.waves).toBeGreaterThan(500);
  expect(seen.cycles).toBeGreaterThan(50);
});

test.for<[string, Case, string[], string[]]>([
  ["nothing else is needed", { planned: [bundle("a"), bundle("b")] }, ["a"], ["a"]],
  [
    "bundles are needed through others",
    { planned: [bundle("a", [needs("b")]), bundle("b", [needs("c")]), bundle("c"), bundle("d")] },
    ["a"],
    ["a", "b", "c"],
  ],
  ["others only need each other", { planned: [bundle("a"), bundle("b", [needs("c")]), bundle("c", [needs("b")])] }, ["a"], ["a"]],
])("selectNeeded returns the needed bundles when %s", ([, given, roots, want]) => {
  const planned = given.planned;
  const chosen = planned.filter(({ name }) => roots.includes(name));
  expect(selectNeeded(toWorld(given), chosen).map(({ name }) => name)).toEqual(want);
});

test.for<[string, Case, string | undefined]>([
  ["nothing is wrong", { planned: [bundle("a", [needs("b")]), bundle("b")] }, undefined],
  ["a requirement is not met", { planned: [bundle("a", [needs("b")])] }, 'a requires package "b" >=1.0.0'],
  [
    "an installed bundle loses a dependency",
    { planned: [bundle("a@2.0.0")], replaced: bundle("a@1.0.0", [], ["K"]), installed: [bundle("x", [needsApi("K")])] },
    "x requires API example.com/v1 K",
  ],
  [
    "an API gets two providers",
    { planned: [bundle("a", [], ["K"])], installed: [bundle("x", [], ["K"])] },
    "a and x provide the same API example.com/v1 K",
  ],
])("findPlanFault explains the fault when %s", ([, given, want]) => {
  expect(findPlanFault(toWorld(given))).toBe(want);
});

test("explainNeeds names the first requirement that only the bundle meets", () => {
  const [a, b, c] = [bundle("a", [needs("b")]), bundle("b", [needsApi("K")]), bundle("c", [], ["K"])];
  const world = toWorld({ planned: [a, b, c] });
  expect([...explainNeeds(world)].map(([one, reason]) => `${one.name}: ${reason}`)).toEqual([
    'b: a requires package "b" >=1.0.0',
    "c: b requires API example.com/v1 K",
  ]);
});
