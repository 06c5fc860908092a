import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import type { Solution, SolverBundle, SolverProblem } from "../solver/problem.ts";
import { solve } from "../solver/solve.ts";
import { formatEnumeration } from "../wording.ts";
import { type DependencyConflict, findDependencyConflict, formatDependencyConflict, type InstallContext } from "./dependencyCheck.ts";
import { buildProblem, type CatalogIndex } from "./solverProblem.ts";

/** What would let a bundle be installed that cannot be. */
export type ResolutionHint =
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

/** A catalog that cannot answer, and why. */
export interface UnavailableCatalog {
  readonly name: string;
  readonly unavailable: string;
}

/** Most sentences of an explanation that are told in a condition. */
const MAX_SENTENCES = 5;

/**
 * Why a bundle cannot be installed, and what to do about it or why nothing can be done, in clauses of which none can be left out.
 * @param hint undefined where it was not looked for, since only the author of the catalog can help.
 */
export function formatHint(
  conflict: DependencyConflict,
  hint: ResolutionHint | undefined,
  unavailable: readonly UnavailableCatalog[],
): string[] {
  const why = formatDependencyConflict(conflict);
  const unasked = unavailable.map(({ name, unavailable }) => `catalog ${goQuote(name)} could not be asked (${unavailable})`);
  if (hint?.kind === "offered") return [why, offered(hint.bundles)];
  if (hint?.kind === "moves") return [why, moves(hint)];
  if (!hint || conflict.kind !== "unmet") return [why];
  if (hint.kind === "undecided") return [why, `what would supply that was not found out: ${hint.because}`, ...unasked];
  return [...hint.sentences.slice(0, MAX_SENTENCES), ...unasked];
}

function offered(bundles: readonly SolverBundle[]): string {
  const named = formatEnumeration(bundles.map(({ name, catalog = "" }) => `${goQuote(name)} (catalog ${goQuote(catalog)})`));
  const packages = formatEnumeration(bundles.map(({ packageName }) => goQuote(packageName)));
  const [bundle, extension, the] =
    bundles.length === 1 ? ["bundle", "a ClusterExtension", "package"] : ["bundles", "ClusterExtensions", "packages"];
  return `${bundle} ${named} would supply that: apply ${extension} of ${the} ${packages}, or set spec.dependencies.policy to Install`;
}

function moves({ moves: all, first }: ResolutionHint & { kind: "moves" }): string {
  const text = (list: readonly Move[]): string =>
    formatEnumeration(list.map(({ extension, bundle }) => `ClusterExtension ${goQuote(extension)} at ${goQuote(bundle)}`));
  if (first.length > 0) return `it can follow once there is ${text(first)}`;
  return `version deadlock: it could only be installed at the same time as ${text(all)}, and neither can come first; spec.dependencies.policy Ignore on one of them lets it go first`;
}

/** Of one search: about 30 ms, in which nothing else runs. Real catalogs take some thousands. */
const MAX_STEPS = 300_000;

/**
 * What would let a bundle be installed in its context: bundles that catalogs offer beside what is installed, or else other versions of what
 * other extensions have installed.
 * @param packages those that may have a part in it.
 */
export function findHint(
  bundle: SolverBundle,
  context: InstallContext,
  packages: ReadonlySet<string>,
  index: CatalogIndex,
): ResolutionHint {
  const wanted = { packageName: bundle.packageName, candidates: [bundle] };
  const problem = buildProblem(wanted, context, packages, index);
  const solution = solve(problem, { maxSteps: MAX_STEPS });
  if (solution.kind === "solved") return { kind: "offered", bundles: addedIn(problem, solution.chosen) };
  return movesFor(bundle, context, packages, index) ?? failed(solution);
}

/** The chosen bundles of packages of which nothing was wanted or installed, by name of the package. */
function addedIn({ units }: SolverProblem, chosen: ReadonlyMap<string, SolverBundle>): SolverBundle[] {
  const offered = new Set(units.filter(({ kind }) => kind === "offered").map(({ packageName }) => packageName));
  return [...chosen.values()]
    .filter(({ packageName }) => offered.has(packageName))
    .sort((a, b) => compareText(a.packageName, b.packageName));
}

function failed(solution: Exclude<Solution, { kind: "solved" }>): ResolutionHint {
  if (solution.kind === "unsolvable") return { kind: "none", sentences: solution.sentences };
  return { kind: "undecided", because: `the search took more than ${solution.steps} steps` };
}

/** The other extensions that would have to be at other versions; undefined where that would not help. */
function movesFor(
  bundle: SolverBundle,
  context: InstallContext,
  packages: ReadonlySet<string>,
  index: CatalogIndex,
): ResolutionHint | undefined {
  const { peers, own, served } = context;
  const movable = new Set(peers.map(({ provider }) => provider.packageName).filter((name) => packages.has(name)));
  if (movable.size === 0) return undefined;
  const wanted = { packageName: bundle.packageName, candidates: [bundle] };
  const solution = solve(buildProblem(wanted, context, packages, index, movable), { maxSteps: MAX_STEPS });
  if (solution.kind !== "solved") return undefined;
  const moves: Move[] = [];
  const first: Move[] = [];
  for (const peer of peers) {
    const other = solution.chosen.get(peer.provider.packageName);
    if (other?.catalog === undefined) continue;
    const move = { extension: peer.extension, bundle: other.name };
    moves.push(move);
    const among = [...peers.filter((one) => one !== peer), ...(own ? [own] : [])];
    const checked = { provider: other, declared: { constraints: other.constraints, faults: [] } };
    if (findDependencyConflict(checked, { peers: among, own: peer, served }) === undefined) first.push(move);
  }
  return moves.length > 0 ? { kind: "moves", moves, first } : undefined;
}
