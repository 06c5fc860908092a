import { assert, integer, property } from "fast-check";
import { expect, test } from "vitest";
import { generateThreeSat } from "../../../test/bench/hardProblems.ts";
import { smallProblems } from "../../../test/support/solverProblems.ts";
import type { Solution, SolverProblem } from "./problem.ts";
import { OutOfSteps } from "./search.ts";
import { solve } from "./solve.ts";
import { StepCounter } from "./stepCounter.ts";

function solveWithin(problem: SolverProblem, counter: StepCounter): Solution | undefined {
  try {
    return solve(problem, { counter });
  } catch (err) {
    if (err instanceof OutOfSteps) return undefined;
    throw err;
  }
}

test("a search within a limit has the same result as with any higher limit, or throws", () => {
  const seen = { complete: 0, incomplete: 0 };
  assert(
    property(smallProblems, integer({ min: 1, max: 2_000 }), (problem, limit) => {
      const found = solveWithin(problem, new StepCounter(limit));
      seen[found ? "complete" : "incomplete"]++;
      if (found) expect(found).toEqual(solve(problem));
    }),
    { numRuns: 500, seed: 41 },
  );
  expect(Math.min(seen.complete, seen.incomplete)).toBeGreaterThan(50);
});

test("a counter without limit counts the steps of several searches, and does not change their results", () => {
  const counter = new StepCounter();
  const problem = generateThreeSat(40, 160, 1);
  const first = solve(problem, { counter });
  const steps = counter.steps;
  expect(steps).toBeGreaterThan(100);
  expect(solve(problem, { counter })).toEqual(first);
  expect([counter.steps, counter.left]).toEqual([2 * steps, Number.POSITIVE_INFINITY]);
  expect(solve(problem)).toEqual(first);
});

test("a limited counter throws instead of a solution that may not be the best", () => {
  const problem = generateThreeSat(100, 400, 1);
  const complete = new StepCounter();
  expect(solve(problem, { counter: complete })).toMatchObject({ kind: "solved", isBest: true });
  const limits = Array.from({ length: 50 }, (_, index) => Math.floor((complete.steps * (99 - index)) / 100));
  const limit = limits.find((maxSteps) => {
    const found = solve(problem, { maxSteps });
    return found.kind === "solved" && !found.isBest;
  });
  if (limit === undefined) throw new Error("no limit was reached after a solution was found");
  expect(() => solve(problem, { counter: new StepCounter(limit) })).toThrow(OutOfSteps);
  expect(() => solve(problem, { maxSteps: limit, counter: new StepCounter(1e9) })).toThrow(OutOfSteps);
});
