import { assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { generatePigeons, generateProviders, generateThreeSat, generateVersions } from "../../../test/bench/hardProblems.ts";
import { generateProblem } from "../../../test/bench/randomProblem.ts";
import { checkExplanation, checkImpossible } from "../../../test/support/explanationClaims.ts";
import { smallProblems } from "../../../test/support/solverProblems.ts";
import { findBestSolution, isConsistent, listSolutions } from "../../../test/support/solverReference.ts";
import { solve } from "./solve.ts";

/** The limit of one search in the controller. */
const MAX_STEPS = 300_000;

test.for([
  ["13 packages in 12 APIs", generatePigeons(13, 12), 25],
  ["30 packages in 29 APIs", generatePigeons(30, 29), 59],
  ["13 versions in 12 packages", generateVersions(13, 12), 25],
  ["13 APIs of 12 exclusive providers", generateProviders(13, 12, 12), 38],
  ["12 APIs of 30 providers in 11 groups", generateProviders(12, 30, 11), 35],
  ["16 APIs of 30 providers in 15 groups", generateProviders(16, 30, 15), 47],
] as const)("solve refuses %s with a minimal explanation within the limit of the controller", ([, problem, sentences]) => {
  const solution = solve(problem, { maxSteps: MAX_STEPS });
  expect(solution).toMatchObject({ kind: "unsolvable", explanation: { isMinimal: true } });
  expect(solution.kind === "unsolvable" && solution.explanation.sentences.length).toBe(sentences);
});

test.for([
  ["12 packages in 12 APIs", generatePigeons(12, 12), 12],
  ["12 APIs of 30 providers in 12 groups", generateProviders(12, 30, 12), 13],
  ["16 APIs of 30 providers in 16 groups", generateProviders(16, 30, 16), 17],
] as const)("solve finds the best solution of %s within the limit of the controller", ([, problem, bundles]) => {
  const solution = solve(problem, { maxSteps: MAX_STEPS });
  expect(solution).toMatchObject({ kind: "solved", isBest: true });
  expect(solution.kind === "solved" && solution.chosen.size).toBe(bundles);
});

test("solve is undecided when the search exceeds its step limit before it finds a solution", () => {
  const solution = solve(generateThreeSat(100, 426, 2), { maxSteps: 100_000 });
  expect(solution).toEqual({ kind: "undecided", steps: expect.any(Number) as number, proven: [] });
});

test("solve returns the best solution so far when the step limit ends the search for a better one", () => {
  const problem = generateProblem({ packages: 60, versions: 20, dependencies: 4, wanted: 5, seed: 7 });
  const outcomes: string[] = [];
  for (let maxSteps = 5_000; maxSteps <= 25_000; maxSteps += 1_000) {
    const solution = solve(problem, { maxSteps });
    outcomes.push(solution.kind === "solved" ? `${solution.kind} ${solution.isBest}` : solution.kind);
    if (solution.kind !== "solved") continue;
    expect(isConsistent(new Set(solution.chosen.values()), problem.served)).toBe(true);
  }
  expect([...new Set(outcomes)]).toEqual(["undecided", "solved false", "solved true"]);
});

test("solve returns true results when the search exceeds its step limit", () => {
  const counts = { best: 0, valid: 0, proven: 0, unsolvable: 0 };
  assert(
    property(smallProblems, integer({ min: 1, max: 600 }), (problem, maxSteps) => {
      const solution = solve(problem, { maxSteps });
      if (solution.kind === "solved") {
        const chosen = new Set(solution.chosen.values());
        expect(isConsistent(chosen, problem.served)).toBe(true);
        for (const { kind, packageName, candidates } of problem.units) {
          const bundle = solution.chosen.get(packageName);
          expect(bundle === undefined ? kind === "offered" : candidates.includes(bundle)).toBe(true);
        }
        counts[solution.isBest ? "best" : "valid"]++;
        if (solution.isBest) expect(chosen).toEqual(new Set(findBestSolution(problem)));
      } else if (solution.kind === "unsolvable") {
        const { sentences, isMinimal } = solution.explanation;
        checkExplanation(
          sentences.map(({ text }) => text),
          problem,
          { isMinimal },
        );
        counts.unsolvable++;
      } else {
        const solutions = listSolutions(problem);
        for (const sentence of solution.proven) checkImpossible(sentence, problem, solutions);
        if (solution.proven.length > 0) counts.proven++;
      }
    }),
    { numRuns: 4_000 },
  );
  expect(Math.min(...Object.values(counts)), JSON.stringify(counts)).toBeGreaterThan(5);
});
