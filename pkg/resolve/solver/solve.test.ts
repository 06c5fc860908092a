import { assert, integer, property, tuple } from "fast-check";
import { expect, test } from "vitest";
import { loadCases } from "../../../test/support/caseFiles.ts";
import { checkExplanation } from "../../../test/support/explanationClaims.ts";
import { createRandom, type Random, shuffle } from "../../../test/support/random.ts";
import { buildSolverProblem, type SolverCase, statedChoice } from "../../../test/support/solverCases.ts";
import { problemsWithDuplicates, smallProblems } from "../../../test/support/solverProblems.ts";
import { findBestSolution, isConsistent, listSolutions } from "../../../test/support/solverReference.ts";
import { compareText } from "../../text/compare.ts";
import { formatExplanation } from "./explanationFormat.ts";
import type { Solution, SolverBundle, SolverProblem, Unit } from "./problem.ts";
import { solve } from "./solve.ts";

interface Expected {
  /** The chosen versions, by package. */
  want?: Record<string, string>;
  /** Why there is no solution. */
  sentences?: string[];
}

const cases = loadCases<SolverCase & Expected>("solver");

test.for(cases)("$name", (given) => {
  const problem = buildSolverProblem(given);
  const solution = solve(problem);
  const { want, sentences } = given;
  if (solution.kind !== "solved") {
    if (solution.kind === "undecided") throw new Error(`undecided after ${solution.steps} steps`);
    expect(formatExplanation(solution.explanation, { all: true })).toEqual(sentences);
    checkExplanation(sentences ?? [], problem);
  } else {
    expect(statedChoice(solution.chosen)).toEqual(want);
    expect(isConsistent(new Set(solution.chosen.values()), problem.served)).toBe(true);
  }
});

/** Returns the bundles of the solution by package, or `unsolvable`. */
function answer(problem: SolverProblem): readonly SolverBundle[] | "unsolvable" {
  const solution = solve(problem);
  if (solution.kind === "undecided") throw new Error(`undecided after ${solution.steps} steps`);
  return solution.kind === "unsolvable" ? "unsolvable" : sorted(solution.chosen.values());
}

function sorted(bundles: Iterable<SolverBundle>): SolverBundle[] {
  return [...bundles].sort((a, b) => compareText(a.packageName, b.packageName));
}

test("solve returns the solution that the preference rules select among all sets of bundles", () => {
  let solved = 0;
  assert(
    property(smallProblems, (problem) => {
      const best = findBestSolution(problem);
      if (best) solved++;
      expect(answer(problem)).toEqual(best ? sorted(best) : "unsolvable");
    }),
    { numRuns: 2_000 },
  );
  expect(solved).toBeGreaterThan(200);
});

test.for([
  ["of different names", smallProblems],
  ["of the same name and catalog", problemsWithDuplicates],
] as const)("solve does not depend on the order of packages, bundles, channels and APIs when there are bundles %s", ([, problems]) => {
  assert(
    property(problems, integer(), (problem, seed) => {
      expect(comparable(solve(shuffledProblem(problem, createRandom(seed))))).toEqual(comparable(solve(problem)));
    }),
    { numRuns: 1_000 },
  );
});

/**
 * Shuffles everything whose order has no meaning. Wanted packages keep their order, wanted and installed packages keep the order of their candidates,
 * and bundles keep the order of their constraints.
 */
function shuffledProblem({ units, served, rejected = [] }: SolverProblem, random: Random): SolverProblem {
  const inOrder = units.filter(({ kind }) => kind === "wanted");
  const mixed = shuffle(random, units).map((unit) => {
    const { kind, packageName, candidates } = unit.kind === "wanted" ? (inOrder.shift() ?? unit) : unit;
    const bundles = kind === "offered" ? shuffle(random, candidates) : candidates;
    return { kind, packageName, candidates: bundles.map((bundle) => shuffledBundle(bundle, random)) };
  });
  return { units: mixed, served: shuffle(random, served), rejected: shuffle(random, rejected) };
}

function shuffledBundle(bundle: SolverBundle, random: Random): SolverBundle {
  return { ...bundle, channels: shuffle(random, bundle.channels), apis: shuffle(random, bundle.apis) };
}

/** Returns the solution with the bundles by package, and their channels and APIs in order. */
function comparable(solution: Solution): unknown {
  if (solution.kind !== "solved") return solution;
  return sorted(solution.chosen.values()).map((bundle) => ({
    ...bundle,
    channels: bundle.channels.toSorted(),
    apis: bundle.apis.toSorted((a, b) => compareText(a.kind, b.kind)),
  }));
}

test("solve returns the same solution and explanation when an unused package is added", () => {
  assert(
    property(tuple(smallProblems, smallProblems), ([problem, other]) => {
      const asked = problem.units.map(({ packageName }) => packageName);
      const more = other.units.map((unit): Unit => renamed(unit, asked));
      expect(comparable(solve({ ...problem, units: [...more, ...problem.units] }))).toEqual(comparable(solve(problem)));
    }),
    { numRuns: 1_000 },
  );
});

/** Returns an offered unit that no constraint of `asked` packages refers to: with another name, without APIs and properties. */
function renamed({ packageName, candidates }: Unit, asked: readonly string[]): Unit {
  const name = `${packageName}-${asked.join("-")}`;
  return {
    kind: "offered",
    packageName: name,
    candidates: candidates.map((bundle) => ({ ...bundle, packageName: name, apis: [], properties: [] })),
  };
}

test("solve includes offered bundles only if the solution is invalid without them", () => {
  assert(
    property(smallProblems, (problem) => {
      const solution = solve(problem);
      if (solution.kind !== "solved") return;
      const offered = problem.units.filter(({ kind }) => kind === "offered").map(({ packageName }) => packageName);
      const chosen = new Set(solution.chosen.values());
      const smaller = listSolutions(problem).filter((set) => set.size < chosen.size && [...set].every((bundle) => chosen.has(bundle)));
      expect(smaller.filter((set) => [...chosen].every((bundle) => set.has(bundle) || offered.includes(bundle.packageName)))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
