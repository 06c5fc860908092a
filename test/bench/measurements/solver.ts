import type { Solution, SolverBundle, SolverProblem } from "../../../pkg/resolve/solver/problem.ts";
import { solve } from "../../../pkg/resolve/solver/solve.ts";
import { parseRange } from "../../../pkg/version/blang.ts";
import { generateChain, generatePigeons, generateProviders, generateRandomProviders, generateThreeSat } from "../hardProblems.ts";
import type { Figure, Measurement } from "../measurement.ts";
import { generateProblem, type RandomCatalog } from "../randomProblem.ts";

const RUNS = 7;
const CATALOG: RandomCatalog = { packages: 200, versions: 50, dependencies: 4, wanted: 5, seed: 1 };
const SIZES = [25, 50, 100, 200, 400] as const;
/** Number of bundles in the largest known catalog. */
const LARGE: RandomCatalog = { packages: 800, versions: 16, dependencies: 0, wanted: 1, seed: 1 };

/** Number of packages that are removed per step until there is no solution. */
const TAKEN_AWAY = 25;

/** Measures the dependency solver on random catalogs; each run has another seed. */
export const solverMeasurement: Measurement = {
  name: "solver",
  title: "dependency solver on random catalogs of growing size",
  figures: [
    ...SIZES.map((size) => `solver.${size}` as const),
    "solver.unsolvable",
    "solver.pigeons",
    "solver.providers-12",
    "solver.providers-16",
    "solver.chain",
    "solver.three-sat",
    "solver.offered",
  ],
  async *run(context) {
    const runs = context.runs ?? RUNS;
    solve(generateProblem({ ...CATALOG, packages: 50 }));
    for (const packages of SIZES) {
      context.say(`${runs} catalogs of ${packages} packages of ${CATALOG.versions} bundles`);
      yield await measureFigure(`solver.${packages}`, runs, (seed) => generateProblem({ ...CATALOG, packages, seed }));
    }
    yield await measureFigure("solver.unsolvable", runs, (seed) => addContradiction(generateProblem({ ...CATALOG, seed })));
    context.say(`${runs} problems of each kind that is hard for solvers`);
    yield await measureFigure("solver.pigeons", runs, () => generatePigeons(13, 12));
    yield await measureFigure("solver.providers-12", runs, () => generateProviders(12, 30, 11));
    yield await measureFigure("solver.providers-16", runs, (seed) => generateRandomProviders(16, 30, seed));
    yield await measureFigure("solver.chain", runs, (seed) => generateChain(200, 20, seed));
    yield await measureFigure("solver.three-sat", runs, (seed) => generateThreeSat(100, 426, seed));
    yield await measureFigure("solver.offered", runs, (seed) =>
      addRequirements(generateProblem({ ...LARGE, seed }), ["package1", "package2"]),
    );
  },
};

async function measureFigure(id: Figure["id"], runs: number, problemOf: (seed: number) => SolverProblem): Promise<Figure> {
  const samples: number[] = [];
  const outcomes: string[] = [];
  for (let seed = 1; seed <= runs; seed++) {
    const problem = problemOf(seed);
    const started = performance.now();
    const solution = solve(problem);
    samples.push((performance.now() - started) / 1_000);
    outcomes.push(describeSolution(solution));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { id, samples, note: outcomes.join(", ") };
}

function describeSolution(solution: Solution): string {
  if (solution.kind === "solved") return `${solution.chosen.size} chosen${solution.isBest ? "" : ", not known to be the best"}`;
  if (solution.kind === "undecided") return `undecided after ${solution.steps} steps`;
  const { sentences, isMinimal } = solution.explanation;
  return `${sentences.length} sentences${isMinimal ? "" : ", not known to be minimal"}`;
}

/** Makes every bundle of the first wanted package depend on these packages. */
function addRequirements({ units: [first, ...others], served }: SolverProblem, packages: readonly string[]): SolverProblem {
  if (!first) throw new Error("the problem has no package");
  const constraints = packages.map((packageName) => ({
    kind: "package" as const,
    packageName,
    range: { text: ">=1.0.0", versions: parseRange(">=1.0.0") },
  }));
  const candidates = first.candidates.map((bundle): SolverBundle => ({ ...bundle, constraints: [...bundle.constraints, ...constraints] }));
  return { units: [{ ...first, candidates }, ...others], served };
}

/**
 * Returns a problem without a solution: fixes the wanted packages to the bundles of the solution, then removes the last chosen packages until nothing
 * solves the problem.
 */
function addContradiction(problem: SolverProblem): SolverProblem {
  const solution = solve(problem);
  if (solution.kind !== "solved") return problem;
  const { chosen } = solution;
  const desired = problem.units.flatMap((unit) => {
    const bundle = unit.kind === "wanted" ? chosen.get(unit.packageName) : undefined;
    return bundle ? [{ ...unit, candidates: [bundle] }] : [];
  });
  let offered = problem.units.filter(({ kind }) => kind === "offered");
  for (;;) {
    const left = { ...problem, units: [...desired, ...offered] };
    const still = solve(left);
    const last = still.kind === "solved" ? [...still.chosen.keys()].slice(desired.length).slice(-TAKEN_AWAY) : [];
    if (last.length === 0) return left;
    offered = offered.filter(({ packageName }) => !last.includes(packageName));
  }
}
