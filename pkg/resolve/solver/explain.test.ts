import { assert, property } from "fast-check";
import { expect, test } from "vitest";
import { generatePigeons, generateProviders } from "../../../test/bench/hardProblems.ts";
import { checkExplanation } from "../../../test/support/explanationClaims.ts";
import { buildSolverProblem, type SolverCase } from "../../../test/support/solverCases.ts";
import { range, smallProblems } from "../../../test/support/solverProblems.ts";
import { canAllBe, listSolutions } from "../../../test/support/solverReference.ts";
import { parseVersionRelease } from "../../version/version.ts";
import type { Fact } from "./conflictReasons.ts";
import { ClauseEncoding } from "./encode.ts";
import { explainWithFacts } from "./explain.ts";
import { formatExplanation } from "./explanationFormat.ts";
import { Offer } from "./offer.ts";
import type { Explanation, SolverProblem, Unit } from "./problem.ts";
import { Search } from "./search.ts";
import { solve } from "./solve.ts";

const STEPS = 1_000_000;

type Explained = ReturnType<typeof explainWithFacts>["sentences"];

/** Returns the explanation with the facts of each sentence; empty if there is a solution. */
function explained(problem: SolverProblem): Explained {
  const search = new Search(STEPS);
  const offer = new Offer(problem);
  const encoding = new ClauseEncoding(offer, search);
  encoding.requireUnits(problem.units);
  return search.conflictOf([]) ? explainWithFacts(problem, offer, encoding.written, STEPS).sentences : [];
}

test("the facts of an explanation exclude every solution, and those of no sentence are redundant", () => {
  let count = 0;
  assert(
    property(smallProblems, (problem) => {
      const sentences = explained(problem);
      expect(sentences.length > 0).toBe(listSolutions(problem).length === 0);
      if (sentences.length === 0) return;
      count++;
      const factsOf = (some: Explained): Fact[] => some.flatMap(({ facts }) => facts);
      expect(canAllBe(factsOf(sentences), problem)).toBe(false);
      for (const one of sentences) {
        const others = sentences.filter((other) => other !== one);
        expect(canAllBe(factsOf(others), problem), `without: ${one.sentence.text}`).toBe(true);
      }
      const texts = sentences.map(({ sentence }) => sentence.text);
      expect(new Set(texts).size).toBe(texts.length);
      const explanation = { sentences: sentences.map(({ sentence }) => sentence), isMinimal: true };
      expect(solve(problem)).toEqual({ kind: "unsolvable", explanation });
    }),
    { numRuns: 500 },
  );
  expect(count).toBeGreaterThan(100);
});

test("each sentence of an explanation is true, and together they exclude every solution without a redundant one", () => {
  let count = 0;
  assert(
    property(smallProblems, (problem) => {
      const solution = solve(problem);
      if (solution.kind !== "unsolvable") return;
      count++;
      checkExplanation(formatExplanation(solution.explanation, { all: true }), problem);
    }),
    { numRuns: 3_000 },
  );
  expect(count).toBeGreaterThan(1_000);
});

/** A problem for sentences that are false or prove nothing. */
const INSTALLED: SolverCase = {
  name: "installed",
  source: "",
  wanted: { a: [{ version: "1.0.0", requires: [{ package: { name: "b", versionRange: ">=2.0.0" } }] }] },
  installed: { b: [{ version: "1.0.0", apis: ["g.example.com/v1/K"] }] },
  offered: { c: [{ version: "1.0.0" }] },
};

test.for([
  ["b is wanted as 1.0.0", "another role"],
  ["b 2.0.0 is installed", "another version"],
  ["b 1.0.0 is installed and can only change to 2.0.0", "no b 2.0.0"],
  ['a 1.0.0 requires package "c" >=2.0.0', "does not require"],
  ['a 1.1.0 requires package "b" >=2.0.0', "no a 1.1.0"],
  ['a 1.0.0 requires package "b" >=2.0.0, which no selected catalog has', "a bundle meets it"],
  ['catalog "x" has only c 2.0.0', "no c 2.0.0"],
  ['catalog "y" has only c 1.0.0', "does not have the version"],
  ['no selected catalog has package "c"', "the package exists"],
  ["a 1.0.0 provides API g.example.com/v1 K, which can have only one provider", "does not provide"],
  ['API g.example.com/v1 K is provided by b 1.0.0, but already belongs to "x"', "does not belong"],
  ["c 1.0.0 is nice", "unknown form"],
  ['a 1.0.0 requires package "b" >=2.0.0', "do not exclude every solution"],
] as const)("checkExplanation rejects the sentence %j", ([sentence, why]) => {
  expect(() => checkExplanation([sentence], buildSolverProblem(INSTALLED))).toThrow(why);
});

test("checkExplanation rejects a redundant sentence", () => {
  const needed = ['a 1.0.0 requires package "b" >=2.0.0', "b 1.0.0 is installed"];
  const problem = buildSolverProblem(INSTALLED);
  expect(formatExplanation(explanationOf(problem))).toEqual(needed);
  checkExplanation(needed, problem);
  expect(() => checkExplanation([...needed, 'catalog "x" has only c 1.0.0'], problem)).toThrow("redundant");
});

function explanationOf(problem: SolverProblem): Explanation {
  const solution = solve(problem);
  if (solution.kind !== "unsolvable") throw new Error(solution.kind);
  return solution.explanation;
}

test("an explanation lists the packages, bundles and constraints of each sentence", () => {
  expect(explanationOf(buildSolverProblem(INSTALLED)).sentences).toEqual([
    {
      text: 'a 1.0.0 requires package "b" >=2.0.0',
      kind: "requirement",
      packages: ["a", "b"],
      bundles: [{ packageName: "a", name: "a.v1.0.0", catalog: "x" }],
      constraints: [{ kind: "package", text: 'package "b" >=2.0.0' }],
    },
    {
      text: "b 1.0.0 is installed",
      kind: "installed",
      packages: ["b"],
      bundles: [{ packageName: "b", name: "b.v1.0.0", catalog: "x" }],
      constraints: [],
    },
  ]);
});

/** Returns packages that each require the next; the last requires a missing one. */
function brokenChain(length: number): SolverProblem {
  const units = Array.from({ length }, (_, index): Unit => {
    const packageName = `package${index}`;
    const next = { kind: "package" as const, packageName: `package${index + 1}`, range: range(">=1.0.0") };
    const bundle = { packageName, name: `${packageName}.v1.0.0`, version: parseVersionRelease("1.0.0"), constraints: [next] };
    const place = { catalog: "x", priority: 0, channels: ["stable"], inDefaultChannel: true, deprecated: false, apis: [], properties: [] };
    return { kind: index === 0 ? "wanted" : "offered", packageName, candidates: [{ ...bundle, ...place }] };
  });
  return { units, served: [] };
}

test("explain finishes for a chain of thousands of packages", () => {
  const explanation = explanationOf(brokenChain(20));
  const { sentences } = explanation;
  expect(sentences).toHaveLength(39);
  const lines = formatExplanation(explanation);
  expect(lines).toEqual([
    '19 packages each require one of 19 package ranges: package "package1" >=1.0.0, package "package2" >=1.0.0, package "package3" >=1.0.0, package "package4" >=1.0.0 and 15 more',
    "the catalogs have only some versions of 19 packages: package1, package2, package3, package4 and 15 more",
    'package19 1.0.0 requires package "package20" >=1.0.0, which no selected catalog has',
    "38 reasons are not shown in full; --all shows them",
  ]);
  expect(formatExplanation(explanation, { all: true })).toEqual(sentences.map(({ text }) => text));
  const long = explanationOf(brokenChain(2_000));
  expect(long.isMinimal).toBe(true);
  expect(long.sentences).toHaveLength(3_999);
});

test("formatExplanation replaces the largest kinds of sentences by a summary, and states how many it does not show in full", () => {
  expect(formatExplanation(explanationOf(generatePigeons(13, 12)))).toEqual([
    "13 packages are wanted: pigeon0, pigeon1, pigeon2, pigeon3 and 9 more",
    "12 APIs can each have only one provider: API example.com/v1 Hole0, API example.com/v1 Hole1, API example.com/v1 Hole2, API example.com/v1 Hole3 and 8 more",
    "25 reasons are not shown in full; --all shows them",
  ]);
  const lines = formatExplanation(explanationOf(generateProviders(5, 4, 4)));
  expect(lines).toHaveLength(11);
  expect(lines.slice(0, 2)).toEqual([
    "root requires 5 APIs: API example.com/v1 Kind0, API example.com/v1 Kind1, API example.com/v1 Kind2, API example.com/v1 Kind3 and 1 more",
    "API example.com/v1 Kind0 is only provided by provider0-0 1.0.0, provider0-1 1.0.0, provider0-2 1.0.0 and provider0-3 1.0.0",
  ]);
  expect(lines.at(-1)).toBe("5 reasons are not shown in full; --all shows them");
});

test("an explanation states that it may not be minimal when the search for redundant sentences exceeds its limit", () => {
  const { units, served } = brokenChain(20);
  const solution = solve({ units, served }, { maxSteps: 900 });
  if (solution.kind !== "unsolvable") throw new Error(solution.kind);
  expect(solution.explanation.isMinimal).toBe(false);
  expect(formatExplanation(solution.explanation).at(-1)).toBe(
    "some of these reasons may be redundant, because the search for redundant ones exceeded its limit",
  );
});
