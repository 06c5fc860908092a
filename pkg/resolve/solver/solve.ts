import type { BundleConstraint, LeafConstraint } from "../constraint/constraint.ts";
import { getMemberCondition, isCompound, isOnSide, type Side } from "./conflictReasons.ts";
import { ClauseEncoding } from "./encode.ts";
import { explain } from "./explain.ts";
import { formatImpossible } from "./factText.ts";
import { Offer } from "./offer.ts";
import { comparePreference, type Solution, type SolverBundle, type SolverProblem, sortDecidedUnits, type Unit } from "./problem.ts";
import { OutOfSteps, Search } from "./search.ts";
import { StepCounter } from "./stepCounter.ts";
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

  /**
   * The last solution that was found on the way, in order: the chosen bundles, then others by preference. It contains everything that was decided.
   * Undefined if none was found.
   */
  get bestSoFar(): SolverBundle[] | undefined {
    if (this.#assignment.size === 0) return undefined;
    const found = [...this.#assignment].flatMap((literal) => this.#encoding.bundleOf(literal) ?? []);
    const others = found.filter((bundle) => !this.#chosen.has(bundle));
    return [...this.#chosen, ...others.sort((a, b) => comparePreference(a, b, undefined))];
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

/** Bundles without redundant ones. */
interface PrunedBundles {
  readonly bundles: readonly SolverBundle[];
  /** False if the step limit was reached: the bundles are a solution, but some may be redundant. */
  readonly isComplete: boolean;
  readonly steps: number;
}

/**
 * Removes redundant offered bundles, last chosen first, until none is redundant. A bundle chosen for one constraint becomes redundant if a later
 * one meets that constraint too; bundles that only need each other are removed together.
 * @param chosen a solution, in the order in which it was chosen
 */
function pruneChosen({ units, served }: SolverProblem, chosen: readonly SolverBundle[], maxSteps: number): PrunedBundles {
  const byPackage = new Map(chosen.map((bundle) => [bundle.packageName, bundle]));
  const kinds = new Map(units.map(({ packageName, kind }) => [packageName, kind]));
  const isOffered = ({ packageName }: SolverBundle): boolean => kinds.get(packageName) === "offered";
  if (!chosen.some(isOffered)) return { bundles: chosen, isComplete: true, steps: 0 };
  const only: Unit[] = units.flatMap((unit) => {
    const bundle = byPackage.get(unit.packageName);
    return bundle ? [{ ...unit, candidates: [bundle] }] : [];
  });
  const problem = { units: [...sortDecidedUnits(only), ...only.filter(({ kind }) => kind === "offered")], served };
  const search = new Search(maxSteps);
  let left: ReadonlySet<SolverBundle> = new Set(chosen);
  let isComplete = false;
  try {
    const encoding = new ClauseEncoding(new Offer(problem, (steps) => search.spend(steps)), search);
    encoding.requireUnits(problem.units);
    const without: Literal[] = [];
    for (const bundle of chosen.toReversed()) {
      const absent = negate(encoding.literalOf(bundle));
      if (!isOffered(bundle) || search.conflictOf([...without, absent])) continue;
      without.push(absent);
      left = new Set(search.trueLiterals().flatMap((literal) => encoding.bundleOf(literal) ?? []));
    }
    isComplete = true;
  } catch (err) {
    if (!(err instanceof OutOfSteps)) throw err;
  }
  return { bundles: chosen.filter((bundle) => left.has(bundle)), isComplete, steps: search.steps };
}

/** Limits of a search. */
export interface SolveOptions {
  /**
   * Step limit; about fifty million steps take a second. The search for redundant bundles, that for redundant sentences of an explanation, and that
   * for impossible candidates may each take the same number of steps in addition.
   */
  readonly maxSteps?: number;
  /**
   * Counts the steps, except those of an explanation. If the counter has a limit, the solver throws OutOfSteps when it reaches that limit or
   * `maxSteps`, so that a result is the same as with higher limits.
   */
  readonly counter?: StepCounter;
  /** Whether the result needs an explanation; otherwise the explanation of an unsolvable problem is empty. Default: true. */
  readonly explains?: boolean;
}

const MAX_STEPS = 50_000_000;

/**
 * Finds the best set of bundles that contains all wanted and installed packages and meets all constraints of its bundles. See `CandidateChoice` and
 * `pruneChosen` for the meaning of "best". The result does not depend on the order of offered units, offered candidates and installed units.
 * Unrelated units do not change the result and cost almost nothing. An unmet constraint of an installed bundle makes every problem unsolvable; to
 * tolerate it, omit it from the problem. If the step limit is reached after a solution was found, returns the best one so far.
 * @throws OutOfSteps if `counter` has a limit and the search is not complete within the limits
 */
export function solve(
  problem: SolverProblem,
  { maxSteps: allowed = MAX_STEPS, counter = new StepCounter(), explains = true }: SolveOptions = {},
): Solution {
  const maxSteps = Math.min(allowed, counter.left);
  const search = new Search(maxSteps);
  const offer = new Offer(problem, (steps) => search.spend(steps));
  const encoding = new ClauseEncoding(offer, search);
  const choice = new CandidateChoice(offer, encoding, search);
  const explainRefusal = (): Solution => {
    if (!explains) return { kind: "unsolvable", explanation: { sentences: [], isMinimal: false } };
    const explanation = explain(problem, offer, encoding.written, maxSteps);
    if (counter.isLimited && !explanation.isMinimal) throw new OutOfSteps(maxSteps);
    return { kind: "unsolvable", explanation };
  };
  const accept = (chosen: readonly SolverBundle[], isBest: boolean): Solution => {
    const { bundles, isComplete, steps } = pruneChosen(problem, chosen, maxSteps);
    counter.spend(steps);
    if (counter.isLimited && !isComplete) throw new OutOfSteps(maxSteps);
    return { kind: "solved", chosen: new Map(bundles.map((bundle) => [bundle.packageName, bundle])), isBest: isBest && isComplete };
  };
  try {
    encoding.requireUnits(problem.units);
    const chosen = choice.make(problem);
    counter.spend(search.steps);
    return chosen ? accept(chosen, true) : explainRefusal();
  } catch (err) {
    if (!(err instanceof OutOfSteps) || counter.isLimited) throw err;
    if (choice.bestSoFar) {
      counter.spend(search.steps);
      return accept(choice.bestSoFar, false);
    }
    const impossible = findImpossible(problem, encoding, search, maxSteps);
    counter.spend(search.steps);
    return impossible === "all" ? explainRefusal() : { kind: "undecided", steps: err.steps, proven: formatImpossible(problem, impossible) };
  }
}

/**
 * Tries the candidates of wanted and installed packages one after the other, after the search for a solution exceeded its limit.
 * @returns the candidates that are part of no solution; "all" if these are all candidates of a package
 */
function findImpossible(problem: SolverProblem, encoding: ClauseEncoding, search: Search, maxSteps: number): SolverBundle[] | "all" {
  const impossible: SolverBundle[] = [];
  const units = sortDecidedUnits(problem.units);
  const count = units.reduce((sum, { candidates }) => sum + candidates.length, 0);
  for (const { candidates } of units) {
    const before = impossible.length;
    for (const candidate of candidates) {
      search.extend(maxSteps / count);
      try {
        if (search.conflictOf([encoding.literalOf(candidate)])) impossible.push(candidate);
      } catch (err) {
        if (!(err instanceof OutOfSteps)) throw err;
      }
    }
    if (impossible.length - before === candidates.length) return "all";
  }
  return impossible;
}
