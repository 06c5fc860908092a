import { assert, property } from "fast-check";
import { expect, test } from "vitest";
import { range, smallProblems } from "../../../test/support/solverProblems.ts";
import { canAllBe, listSolutions } from "../../../test/support/solverReference.ts";
import { parseVersionRelease } from "../../version/version.ts";
import { ClauseEncoding } from "./encode.ts";
import { explain, formatSentences, type Sentence } from "./explain.ts";
import { Offer } from "./offer.ts";
import type { SolverProblem, Unit } from "./problem.ts";
import { Search } from "./search.ts";
import { solve } from "./solve.ts";

const STEPS = 1_000_000;

/** Returns the explanation with the facts of each sentence; empty if there is a solution. */
function explained(problem: SolverProblem): Sentence[] {
  const search = new Search(STEPS);
  const offer = new Offer(problem);
  const encoding = new ClauseEncoding(offer, search);
  encoding.requireUnits(problem.units);
  return search.conflictOf([]) ? explain(problem, offer, encoding.written, STEPS) : [];
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
      expect(solve(problem)).toEqual({ kind: "unsolvable", sentences: formatSentences(sentences) });
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

test("formatSentences truncates a long explanation, and explain finishes for a chain of thousands of packages", () => {
  const solution = solve(brokenChain(20));
  expect(solution).toMatchObject({ kind: "unsolvable" });
  const sentences = solution.kind === "unsolvable" ? solution.sentences : [];
  expect(sentences).toHaveLength(12);
  expect(sentences.slice(0, 3)).toEqual([
    'package0 1.0.0 requires package "package1" >=1.0.0',
    'catalog "x" has only package1 1.0.0',
    'package1 1.0.0 requires package "package2" >=1.0.0',
  ]);
  expect(sentences.at(-1)).toBe("there are 28 more reasons");
  expect(solve(brokenChain(5_000)).kind).toBe("unsolvable");
});
