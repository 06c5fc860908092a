import { goQuote } from "../../golang/quote.ts";
import type { Problem, Solution, SolverBundle } from "../solver/problem.ts";
import { solve } from "../solver/solve.ts";
import { enumerated } from "../wording.ts";
import { type Environment, type Objection, objectionClause, objectionTo } from "./dependencyCheck.ts";
import { type Market, problemFrom } from "./solverProblem.ts";

/** What would have to happen for a bundle that cannot be installed to be installed. */
export type Supply =
  /** Bundles that catalogs offer would be enough. */
  | { readonly kind: "offered"; readonly bundles: readonly SolverBundle[] }
  /** Other extensions would have to be at these bundles, too; `first` are those that can be updated by themselves. */
  | { readonly kind: "moves"; readonly moves: readonly Move[]; readonly first: readonly Move[] }
  /** Nothing that the catalogs offer is enough; why, one sentence each. */
  | { readonly kind: "none"; readonly sentences: readonly string[] }
  /** It was not found out. */
  | { readonly kind: "undecided"; readonly because: string };

/** Another bundle for what an extension has installed. */
interface Move {
  readonly extension: string;
  readonly bundle: string;
}

/** One catalog that could not be asked for it, and why. */
export interface Silent {
  readonly name: string;
  readonly unavailable: string;
}

/** Most sentences of an explanation that are told in a condition. */
const MAX_SENTENCES = 5;

/**
 * Why a bundle cannot be installed, and what to do about it or why nothing can be done, in clauses of which none can be left out.
 * @param supply undefined where it was not looked for, since only the author of the catalog can help.
 */
export function clausesFor(objection: Objection, supply: Supply | undefined, silent: readonly Silent[]): string[] {
  const why = objectionClause(objection);
  const unasked = silent.map(({ name, unavailable }) => `catalog ${goQuote(name)} could not be asked (${unavailable})`);
  if (supply?.kind === "offered") return [why, offered(supply.bundles)];
  if (supply?.kind === "moves") return [why, moves(supply)];
  if (!supply || objection.kind !== "unmet") return [why];
  if (supply.kind === "undecided") return [why, `what would supply that was not found out: ${supply.because}`, ...unasked];
  return [...supply.sentences.slice(0, MAX_SENTENCES), ...unasked];
}

function offered(bundles: readonly SolverBundle[]): string {
  const named = enumerated(bundles.map(({ name, catalog = "" }) => `${goQuote(name)} (catalog ${goQuote(catalog)})`));
  const packages = enumerated(bundles.map(({ packageName }) => goQuote(packageName)));
  const [bundle, extension, the] =
    bundles.length === 1 ? ["bundle", "a ClusterExtension", "package"] : ["bundles", "ClusterExtensions", "packages"];
  return `${bundle} ${named} would supply that: apply ${extension} of ${the} ${packages}, or set spec.dependencies.policy to Install`;
}

function moves({ moves: all, first }: Supply & { kind: "moves" }): string {
  const text = (list: readonly Move[]): string =>
    enumerated(list.map(({ extension, bundle }) => `ClusterExtension ${goQuote(extension)} at ${goQuote(bundle)}`));
  if (first.length > 0) return `it can follow once there is ${text(first)}`;
  return `version deadlock: it could only be installed at the same time as ${text(all)}, and neither can come first; spec.dependencies.policy Ignore on one of them lets it go first`;
}

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
