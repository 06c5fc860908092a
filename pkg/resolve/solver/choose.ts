import type { BundleConstraint, LeafConstraint } from "../constraint/constraint.ts";
import type { Encoding } from "./encode.ts";
import type { Offer } from "./offer.ts";
import { decidedUnits } from "./preference.ts";
import type { Problem, SolverBundle } from "./problem.ts";
import type { Search } from "./search.ts";
import { isCompound, isOnSide, membersFor, type Side } from "./side.ts";
import type { Literal } from "./trail.ts";

/**
 * Makes the choices of a solution one after the other, each the best that still leaves a solution.
 * First each wanted package in the order given, then each installed one by name, takes its first possible candidate. Then the constraints of what is
 * chosen are gone through, in that order and in the author's order, those of what they add at the end: a constraint that nothing chosen meets takes
 * the best possible bundle, an `any` the first possible of its members, those first that need nothing new.
 */
export class Choice {
  readonly #offer: Offer;
  readonly #encoding: Encoding;
  readonly #search: Search;
  /** What was decided so far. */
  readonly #decided = new Set<Literal>();
  readonly #chosen = new Set<SolverBundle>();
  /** True in an assignment in which all that was decided is true. */
  #assignment: ReadonlySet<Literal> = new Set();

  constructor(offer: Offer, encoding: Encoding, search: Search) {
    this.#offer = offer;
    this.#encoding = encoding;
    this.#search = search;
  }

  /** @returns the bundles in the order in which they were chosen; undefined where there is no solution. @throws OutOfSteps */
  make(problem: Problem): SolverBundle[] | undefined {
    if (!this.#isPossible([])) return undefined;
    for (const { candidates } of decidedUnits(problem.units)) this.#chooseFirst(candidates);
    // Bundles chosen on the way are appended, and come up here too.
    for (const bundle of this.#chosen) for (const constraint of bundle.constraints) this.#fulfil(constraint, "holds", bundle.catalog);
    return [...this.#chosen];
  }

  #fulfil(constraint: BundleConstraint, side: Side, catalog: string | undefined): void {
    if (!isCompound(constraint)) {
      if (side === "holds" && !this.#isMet(constraint)) this.#chooseFirst(this.#encoding.optionsOf(constraint, catalog));
      return;
    }
    const members = membersFor(constraint, side);
    if (members.quantity === "each") {
      for (const member of constraint.constraints) this.#fulfil(member, members.side, catalog);
      return;
    }
    const needsNothing = Map.groupBy(constraint.constraints, (member) => isOnSide(member, members.side, (leaf) => this.#isMet(leaf)));
    const inOrder = [...(needsNothing.get(true) ?? []), ...(needsNothing.get(false) ?? [])];
    const first = inOrder.find((member) => this.#decide(this.#encoding.constraintLiteral(member, members.side, catalog)));
    if (first === undefined) throw new Error("none of the members can hold, though one has to");
    this.#fulfil(first, members.side, catalog);
  }

  #isMet(leaf: LeafConstraint): boolean {
    if (leaf.kind === "gvk" && this.#offer.servedAs(leaf.gvk)) return true;
    return this.#offer.meeting(leaf).some((bundle) => this.#chosen.has(bundle));
  }

  #chooseFirst(candidates: readonly SolverBundle[]): void {
    const first = candidates.find((candidate) => this.#decide(this.#encoding.literalOf(candidate)));
    if (first === undefined) throw new Error("none of the candidates can be chosen, though one has to");
    this.#chosen.add(first);
  }

  /** Decides for the literal if that leaves a solution. */
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
