import type { BundleConstraint, LeafConstraint } from "../constraint/constraint.ts";
import { getMemberCondition, isCompound, isOnSide, type Side } from "./conflictReasons.ts";
import { ClauseEncoding } from "./encode.ts";
import { explain } from "./explain.ts";
import { Offer } from "./offer.ts";
import { type Explanation, type Solution, type SolverBundle, type SolverProblem, sortDecidedUnits, type Unit } from "./problem.ts";
import { OutOfSteps, Search } from "./search.ts";
import { type Literal, negate } from "./trail.ts";

/**
 * Chooses bundles one after the other, each time the best one that still leaves a solution. First each wanted package in the given order, then each
 * installed one by name, takes its first possible candidate. Then the constraints of the chosen bundles are fulfilled in that order and in the
 * author's order, followed by those of added bundles: a constraint that no chosen bundle meets takes the best possible bundle; an `any` takes its
 * first possible member, preferably one that needs no additional bundle.
 */
class CandidateChoice {
  readonly #offer: Offer;
  readonly #encoding: ClauseEncoding;
  readonly #search: Search;
  /** Decided literals. */
  readonly #decided = new Set<Literal>();
  readonly #chosen = new Set<SolverBundle>();
  /** The true literals of an assignment that contains all decisions. */
  #assignment: ReadonlySet<Literal> = new Set();

  constructor(offer: Offer, encoding: ClauseEncoding, search: Search) {
    this.#offer = offer;
    this.#encoding = encoding;
    this.#search = search;
  }

  /** @returns the bundles in the order in which they were chosen; undefined if there is no solution @throws OutOfSteps */
  make(problem: SolverProblem): SolverBundle[] | undefined {
    if (!this.#isPossible([])) return undefined;
    for (const { candidates } of sortDecidedUnits(problem.units)) this.#chooseFirst(candidates);
    // Bundles chosen meanwhile are appended while iterating.
    for (const bundle of this.#chosen) for (const constraint of bundle.constraints) this.#fulfil(constraint, "holds", bundle.catalog);
    return [...this.#chosen];
  }

  #fulfil(constraint: BundleConstraint, side: Side, catalog: string | undefined): void {
    if (!isCompound(constraint)) {
      if (side === "holds" && !this.#isMet(constraint)) this.#chooseFirst(this.#encoding.optionsOf(constraint, catalog));
      return;
    }
    const members = getMemberCondition(constraint, side);
    if (members.quantity === "each") {
      for (const member of constraint.constraints) this.#fulfil(member, members.side, catalog);
      return;
    }
    const needsNothing = Map.groupBy(constraint.constraints, (member) => isOnSide(member, members.side, (leaf) => this.#isMet(leaf)));
    const inOrder = [...(needsNothing.get(true) ?? []), ...(needsNothing.get(false) ?? [])];
    const first = inOrder.find((member) => this.#decide(this.#encoding.constraintLiteral(member, members.side, catalog)));
    if (first === undefined) throw new Error("internal error: the solver found a solution in which no member of a constraint is true");
    this.#fulfil(first, members.side, catalog);
  }

  #isMet(leaf: LeafConstraint): boolean {
    if (leaf.kind === "gvk" && this.#offer.servedAs(leaf.gvk)) return true;
    return this.#offer.meeting(leaf).some((bundle) => this.#chosen.has(bundle));
  }

  #chooseFirst(candidates: readonly SolverBundle[]): void {
    const first = candidates.find((candidate) => this.#decide(this.#encoding.literalOf(candidate)));
    if (first === undefined) throw new Error("internal error: the solver found a solution without any candidate");
    this.#chosen.add(first);
  }

  /** Makes the literal true if that still leaves a solution. */
  #decide(literal: Literal): boolean {
    if (!this.#assignment.has(literal)) {
      if (this.#search.excludes(literal, this.#decided)) return false;
      if (!this.#isPossible([...this.#decided, literal])) return false;
    }
    this.#decided.add(literal);
    return true;
  }

  #isPossible(assumptions: readonly Literal[]): boolean {
    if (this.#search.conflictOf(assumptions)) return false;
    this.#assignment = new Set(this.#search.trueLiterals());
    return true;
  }
}

/**
 * Removes redundant offered bundles, last chosen first, until none is redundant. A bundle chosen for one constraint becomes redundant if a later
 * one meets that constraint too; bundles that only need each other are removed together.
 * @param chosen a solution, in the order in which it was chosen @throws OutOfSteps
 */
function pruneChosen({ units, served }: SolverProblem, chosen: readonly SolverBundle[], maxSteps: number): SolverBundle[] {
  const byPackage = new Map(chosen.map((bundle) => [bundle.packageName, bundle]));
  const kinds = new Map(units.map(({ packageName, kind }) => [packageName, kind]));
  const isOffered = ({ packageName }: SolverBundle): boolean => kinds.get(packageName) === "offered";
  if (!chosen.some(isOffered)) return [...chosen];
  const only: Unit[] = units.flatMap((unit) => {
    const bundle = byPackage.get(unit.packageName);
    return bundle ? [{ ...unit, candidates: [bundle] }] : [];
  });
  const problem = { units: [...sortDecidedUnits(only), ...only.filter(({ kind }) => kind === "offered")], served };
  const search = new Search(maxSteps);
  const encoding = new ClauseEncoding(new Offer(problem, (steps) => search.spend(steps)), search);
  encoding.requireUnits(problem.units);
  const without: Literal[] = [];
  const needed = new Set<SolverBundle>();
  for (const bundle of chosen.toReversed()) {
    const left = negate(encoding.literalOf(bundle));
    if (!isOffered(bundle) || search.conflictOf([...without, left])) needed.add(bundle);
    else without.push(left);
  }
  return chosen.filter((bundle) => needed.has(bundle));
}

/** Limits of a search. */
export interface SolveOptions {
  /** Step limit; about fifty million steps take a second. The explanation may take the same number of steps in addition. */
  readonly maxSteps?: number;
}

const MAX_STEPS = 50_000_000;

/**
 * Finds the best set of bundles that contains all wanted and installed packages and meets all constraints of its bundles. See `CandidateChoice` and
 * `pruneChosen` for the meaning of "best". The result does not depend on the order of offered units, offered candidates and installed units.
 * Unrelated units do not change the result and cost almost nothing. An unmet constraint of an installed bundle makes every problem unsolvable; to
 * tolerate it, omit it from the problem.
 */
export function solve(problem: SolverProblem, { maxSteps = MAX_STEPS }: SolveOptions = {}): Solution {
  const search = new Search(maxSteps);
  const offer = new Offer(problem, (steps) => search.spend(steps));
  try {
    const encoding = new ClauseEncoding(offer, search);
    encoding.requireUnits(problem.units);
    const chosen = new CandidateChoice(offer, encoding, search).make(problem);
    if (!chosen) return { kind: "unsolvable", explanation: explainWithoutFacts(problem, offer, encoding.written, maxSteps) };
    const needed = pruneChosen(problem, chosen, maxSteps);
    return { kind: "solved", chosen: new Map(needed.map((bundle) => [bundle.packageName, bundle])), isBest: true };
  } catch (err) {
    if (err instanceof OutOfSteps) return { kind: "undecided", steps: err.steps, proven: [] };
    throw err;
  }
}

function explainWithoutFacts(...args: Parameters<typeof explain>): Explanation {
  const { sentences, isMinimal } = explain(...args);
  return { sentences: sentences.map(({ sentence }) => sentence), isMinimal };
}
