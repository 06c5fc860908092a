import type { Problem, Solution, SolverBundle } from "../solver/problem.ts";
import { type Market, problemFrom } from "../solver/problemFrom.ts";
import { solve } from "../solver/solve.ts";
import type { Environment } from "./environment.ts";
import { objectionTo } from "./objection.ts";
import type { Move, Supply } from "./supply.ts";

/** Of one search: about 30 ms, in which nothing else runs. Real catalogs take some thousands. */
const MAX_STEPS = 300_000;

/**
 * What would let a bundle be installed in an environment: bundles that catalogs offer beside what is installed, or else other versions of what
 * other extensions have installed.
 * @param packages those that may have a part in it.
 */
export function supplyFor(bundle: SolverBundle, environment: Environment, packages: ReadonlySet<string>, market: Market): Supply {
  const wanted = { packageName: bundle.packageName, candidates: [bundle] };
  const problem = problemFrom(wanted, environment, packages, market);
  const solution = solve(problem, { maxSteps: MAX_STEPS });
  if (solution.kind === "solved") return { kind: "offered", bundles: addedIn(problem, solution.chosen) };
  return movesFor(bundle, environment, packages, market) ?? failed(solution);
}

/** The chosen bundles of packages of which nothing was wanted or installed, by name of the package. */
function addedIn({ units }: Problem, chosen: ReadonlyMap<string, SolverBundle>): SolverBundle[] {
  const offered = new Set(units.filter(({ kind }) => kind === "offered").map(({ packageName }) => packageName));
  return [...chosen.values()]
    .filter(({ packageName }) => offered.has(packageName))
    .sort((a, b) => (a.packageName < b.packageName ? -1 : 1));
}

function failed(solution: Exclude<Solution, { kind: "solved" }>): Supply {
  if (solution.kind === "unsolvable") return { kind: "none", sentences: solution.sentences };
  return { kind: "undecided", because: `the search took more than ${solution.steps} steps` };
}

/** The other extensions that would have to be at other versions; undefined where that would not help. */
function movesFor(bundle: SolverBundle, environment: Environment, packages: ReadonlySet<string>, market: Market): Supply | undefined {
  const { neighbours, own, served } = environment;
  const movable = new Set(neighbours.map(({ provider }) => provider.packageName).filter((name) => packages.has(name)));
  if (movable.size === 0) return undefined;
  const wanted = { packageName: bundle.packageName, candidates: [bundle] };
  const solution = solve(problemFrom(wanted, environment, packages, market, movable), { maxSteps: MAX_STEPS });
  if (solution.kind !== "solved") return undefined;
  const moves: Move[] = [];
  const first: Move[] = [];
  for (const neighbour of neighbours) {
    const other = solution.chosen.get(neighbour.provider.packageName);
    if (other?.catalog === undefined) continue;
    const move = { extension: neighbour.extension, bundle: other.name };
    moves.push(move);
    const among = [...neighbours.filter((one) => one !== neighbour), ...(own ? [own] : [])];
    const judged = { provider: other, declared: { constraints: other.constraints, faults: [] } };
    if (objectionTo(judged, { neighbours: among, own: neighbour, served }) === undefined) first.push(move);
  }
  return moves.length > 0 ? { kind: "moves", moves, first } : undefined;
}
