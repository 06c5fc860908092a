import { assert, property } from "fast-check";
import { expect, test } from "vitest";
import { range, smallProblems } from "../../../test/support/solverProblems.ts";
import { canAllBe, listSolutions } from "../../../test/support/solverReference.ts";
import { parseVersionRelease } from "../../version/version.ts";
import { ClauseEncoding } from "./encode.ts";
import { explain, type Sentence } from "./explain.ts";
import { formatExplanation } from "./explanationFormat.ts";
import { Offer } from "./offer.ts";
import type { SolverProblem, Unit } from "./problem.ts";
import { Search } from "./search.ts";
import { solve } from "./solve.ts";

const STEPS = 1_000_000;

/** Returns the explanation with the facts of each sentence; empty if there is a solution. */
function explained(problem: SolverProblem): readonly Sentence[] {
  const search = new Search(STEPS);
  const offer = new Offer(problem);
  const encoding = new ClauseEncoding(offer, search);
  encoding.requireUnits(problem.units);
  return search.conflictOf([]) ? explain(problem, offer, encoding.written, STEPS).sentences : [];
}

test("explain returns sentences that together exclude every solution, and no sentence is redundant", () => {
  let count = 0;
  assert(
    property(smallProblems, (problem) => {
      const sentences = explained(problem);
      expect(sentences.length > 0).toBe(listSolutions(problem).length === 0);
      if (sentences.length === 0) return;
      count++;
      expect(
        canAllBe(
          sentences.flatMap(({ facts }) => facts),
          problem,
        ),
      ).toBe(false);
      for (const sentence of sentences) {
        const others = sentences.filter((other) => other !== sentence).flatMap(({ facts }) => facts);
        expect(canAllBe(others, problem), `without: ${sentence.text}`).toBe(true);
      }
      const texts = sentences.map(({ text }) => text);
      expect(new Set(texts).size).toBe(texts.length);
      expect(texts.filter((text) => text === "" || /undefined|\[object/.test(text))).toEqual([]);
      const explanation = { sentences: sentences.map(({ facts: _, ...sentence }) => sentence), isMinimal: true };
      expect(solve(problem)).toEqual({ kind: "unsolvable", explanation });
    }),
    { numRuns: 500 },
  );
  expect(count).toBeGreaterThan(100);
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
  const solution = solve(brokenChain(20));
  if (solution.kind !== "unsolvable") throw new Error(solution.kind);
  const { sentences } = solution.explanation;
  expect(sentences).toHaveLength(39);
  const lines = formatExplanation(solution.explanation);
  expect(lines).toEqual([
    '19 packages each require one of 19 packages: package "package1" >=1.0.0, package "package2" >=1.0.0, package "package3" >=1.0.0, package "package4" >=1.0.0 and 15 more',
    "the catalogs have only some bundles of 19 packages: package1, package2, package3, package4 and 15 more",
    'package19 1.0.0 requires package "package20" >=1.0.0, which no selected catalog has',
    "38 reasons are not shown in full; --all shows them",
  ]);
  const long = solve(brokenChain(5_000));
  expect(long.kind === "unsolvable" && long.explanation.isMinimal).toBe(true);
});
