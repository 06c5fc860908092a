import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { formatExplanation } from "../solver/explanationFormat.ts";
import type { Explanation, Solution, SolverBundle, SolverProblem } from "../solver/problem.ts";
import { solve } from "../solver/solve.ts";
import { formatEnumeration } from "../wording.ts";
import { type DependencyConflict, findDependencyConflict, formatDependencyConflict, type InstallContext } from "./dependencyCheck.ts";
import { buildProblem, type CatalogIndex } from "./solverProblem.ts";

/** A change that would allow installing a bundle whose dependencies are not met. */
export type ResolutionHint =
  /** It would suffice to install these bundles from the catalogs. */
  | { readonly kind: "offered"; readonly bundles: readonly SolverBundle[] }
  /** Other extensions must be updated to these bundles. `first` contains the updates that are possible on their own. */
  | { readonly kind: "moves"; readonly moves: readonly Move[]; readonly first: readonly Move[] }
  /** No bundles from the catalogs would suffice, and why. */
  | { readonly kind: "none"; readonly explanation: Explanation }
  /** The search did not finish. */
  | { readonly kind: "undecided"; readonly reason: string };

/** A different bundle for an installed extension. */
interface Move {
  readonly extension: string;
  readonly bundle: string;
}

/** A catalog that is unavailable, and why. */
export interface UnavailableCatalog {
  readonly name: string;
  readonly unavailable: string;
}

/**
 * Formats the reason why a bundle cannot be installed, followed by a suggested change or the reason why none exists, as clauses.
 * @param hint undefined if there was no search, because only the catalog author can fix the problem
 */
export function formatHint(
  conflict: DependencyConflict,
  hint: ResolutionHint | undefined,
  unavailable: readonly UnavailableCatalog[],
): string[] {
  const why = formatDependencyConflict(conflict);
  const unasked = unavailable.map(({ name, unavailable }) => `catalog ${goQuote(name)} is unavailable (${unavailable})`);
  if (hint?.kind === "offered") return [why, offered(hint.bundles)];
  if (hint?.kind === "moves") return [why, moves(hint)];
  if (!hint || conflict.kind !== "unmet") return [why];
  if (hint.kind === "undecided") return [why, `cannot determine which bundles would satisfy the requirements: ${hint.reason}`, ...unasked];
  return [...formatExplanation(hint.explanation), ...unasked];
}

function offered(bundles: readonly SolverBundle[]): string {
  const named = formatEnumeration(bundles.map(({ name, catalog = "" }) => `${goQuote(name)} (catalog ${goQuote(catalog)})`));
  const packages = formatEnumeration(bundles.map(({ packageName }) => goQuote(packageName)));
  const [bundle, extension, the] =
    bundles.length === 1 ? ["bundle", "a ClusterExtension", "package"] : ["bundles", "ClusterExtensions", "packages"];
  return `${bundle} ${named} would satisfy the requirements: create ${extension} for ${the} ${packages}, or set spec.dependencies.policy to Install`;
}

function moves({ moves: all, first }: ResolutionHint & { kind: "moves" }): string {
  const text = (list: readonly Move[]): string =>
    formatEnumeration(list.map(({ extension, bundle }) => `ClusterExtension ${goQuote(extension)} to bundle ${goQuote(bundle)}`));
  if (first.length > 0) return `to allow the installation, first update ${text(first)}`;
  return `version deadlock: it can only be installed together with an update of ${text(all)}, and each requires the other first; to update one of them first, set its spec.dependencies.policy to Ignore`;
}

/** Maximum number of steps of one search: about 30 ms, during which the thread is blocked. Real catalogs need several thousand steps. */
const MAX_STEPS = 300_000;

/**
 * Finds a change that would allow installing a bundle in its context: additional bundles of the catalogs or, failing that, other versions of
 * installed extensions.
 * @param packages packages that may be part of a solution
 */
export function findHint(
  bundle: SolverBundle,
  context: InstallContext,
  packages: ReadonlySet<string>,
  index: CatalogIndex,
): ResolutionHint {
  const desired = { packageName: bundle.packageName, candidates: [bundle] };
  const problem = buildProblem(desired, context, packages, index);
  const solution = solve(problem, { maxSteps: MAX_STEPS });
  if (solution.kind === "solved") return { kind: "offered", bundles: listAddedBundles(problem, solution.chosen) };
  return movesFor(bundle, context, packages, index) ?? failed(solution);
}

/** Returns the chosen bundles of packages that are neither wanted nor installed, by name of package. */
function listAddedBundles({ units }: SolverProblem, chosen: ReadonlyMap<string, SolverBundle>): SolverBundle[] {
  const offered = new Set(units.filter(({ kind }) => kind === "offered").map(({ packageName }) => packageName));
  return [...chosen.values()]
    .filter(({ packageName }) => offered.has(packageName))
    .sort((a, b) => compareText(a.packageName, b.packageName));
}

function failed(solution: Exclude<Solution, { kind: "solved" }>): ResolutionHint {
  if (solution.kind === "unsolvable") return { kind: "none", explanation: solution.explanation };
  return { kind: "undecided", reason: [`the search exceeded ${solution.steps} steps`, ...solution.proven].join("; ") };
}

/** Returns the other extensions that must be updated; undefined if updates would not help. */
function movesFor(
  bundle: SolverBundle,
  context: InstallContext,
  packages: ReadonlySet<string>,
  index: CatalogIndex,
): ResolutionHint | undefined {
  const { peers, own, served } = context;
  const movable = new Set(peers.map(({ provider }) => provider.packageName).filter((name) => packages.has(name)));
  if (movable.size === 0) return undefined;
  const desired = { packageName: bundle.packageName, candidates: [bundle] };
  const solution = solve(buildProblem(desired, context, packages, index, movable), { maxSteps: MAX_STEPS });
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
