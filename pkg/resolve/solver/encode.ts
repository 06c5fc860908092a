import type { BundleConstraint, CompoundConstraint, Gvk, LeafConstraint } from "../constraint/constraint.ts";
import { getGvkKey } from "../constraint/parse.ts";
import { type Fact, getMemberCondition, isCompound, type Side, splitRequirements } from "./conflictReasons.ts";
import { getLeafKey, type Offer } from "./offer.ts";
import { comparePreference, listApis, type SolverBundle, sortDecidedUnits, type Unit } from "./problem.ts";
import type { Search } from "./search.ts";
import { type Literal, negate } from "./trail.ts";

/**
 * Encodes a problem as clauses, lazily: a bundle's constraints when the bundle is chosen, the members of a compound when it must be true. There
 * is one variable for each bundle, and one for each constraint that must be true or false (Tseitin's transformation in the required direction
 * only: a constraint may be true without its variable).
 */
export class ClauseEncoding {
  readonly #search: Search;
  readonly #offer: Offer;
  readonly #labelOf: (fact: Fact) => Literal | undefined;
  readonly #literals = new Map<SolverBundle, Literal>();
  readonly #bundles = new Map<Literal, SolverBundle>();
  readonly #compounds = new Map<BundleConstraint, Map<string, Literal>>();
  readonly #leaves = new Map<string, Literal>();
  readonly #exclusive = new Set<string>();
  readonly #true: Literal;
  readonly #written: SolverBundle[] = [];

  /** @param labelOf returns the literal that enables a fact; a fact without a literal is always enabled */
  constructor(offer: Offer, search: Search, labelOf: (fact: Fact) => Literal | undefined = () => undefined) {
    this.#search = search;
    this.#offer = offer;
    this.#labelOf = labelOf;
    this.#true = search.newVariable();
    search.addClause([this.#true]);
  }

  /** Requires every wanted and installed package. */
  requireUnits(units: readonly Unit[]): void {
    for (const unit of sortDecidedUnits(units)) {
      const isThere = this.#search.newVariable(() => this.#search.addOptions(isThere, this.#literalsOf(unit.candidates)));
      this.#add({ kind: "unit", unit }, [isThere]);
    }
  }

  /** The bundles whose constraints were encoded, in order. No other bundles influenced the result. */
  get written(): readonly SolverBundle[] {
    return this.#written;
  }

  /** Returns the literal for choosing the bundle. */
  literalOf(bundle: SolverBundle): Literal {
    return this.#literals.get(bundle) ?? this.#introduced(bundle);
  }

  /** Returns the bundle of a literal, if there is one. */
  bundleOf(literal: Literal): SolverBundle | undefined {
    return this.#bundles.get(literal);
  }

  /**
   * Returns the literal that makes a constraint true or false.
   * @param catalog catalog of the bundle that declares the constraint
   */
  constraintLiteral(constraint: BundleConstraint, side: Side, catalog: string | undefined): Literal {
    if (isCompound(constraint)) {
      const literals = this.#compounds.get(constraint) ?? new Map<string, Literal>();
      this.#compounds.set(constraint, literals);
      return remembered(literals, `${side} ${JSON.stringify(catalog)}`, () => this.#compound(constraint, side, catalog));
    }
    if (constraint.kind === "gvk" && this.#offer.servedAs(constraint.gvk)) return side === "holds" ? this.#true : negate(this.#true);
    const key = side === "fails" ? `fails ${getLeafKey(constraint)}` : `holds ${JSON.stringify(catalog)} ${getLeafKey(constraint)}`;
    return remembered(this.#leaves, key, () => this.#leaf(constraint, side, catalog));
  }

  /** Returns the bundles that meet the leaf, preferred ones first. */
  optionsOf(leaf: LeafConstraint, catalog: string | undefined): readonly SolverBundle[] {
    return this.#offer.meeting(leaf).toSorted((a, b) => comparePreference(a, b, catalog));
  }

  /** Adds the clauses for the constraints of a chosen bundle. */
  write(bundle: SolverBundle): void {
    this.#written.push(bundle);
    const not = negate(this.literalOf(bundle));
    for (const gvk of listApis(bundle)) {
      const owner = this.#offer.servedAs(gvk)?.owner;
      if (owner !== undefined) this.#add({ kind: "owned", gvk }, [not]);
      this.#writeExclusive(gvk);
    }
    for (const constraint of bundle.constraints)
      for (const requirement of splitRequirements(constraint)) {
        const holds = this.constraintLiteral(requirement.constraint, "holds", bundle.catalog);
        this.#add({ kind: "requirement", bundle, requirement }, [not, holds]);
      }
  }

  #add(fact: Fact, literals: readonly Literal[]): void {
    const label = this.#labelOf(fact);
    this.#search.addClause(label === undefined ? literals : [...literals, negate(label)]);
  }

  #literalsOf(bundles: readonly SolverBundle[]): Literal[] {
    return bundles.map((bundle) => this.literalOf(bundle));
  }

  /** Creates the variables of all candidates of the bundle's package. */
  #introduced(bundle: SolverBundle): Literal {
    const candidates = new Set(
      this.#offer.units.get(bundle.packageName)?.candidates.toSorted((a, b) => comparePreference(a, b, undefined)),
    );
    this.#search.spend(candidates.size);
    for (const candidate of candidates) {
      const literal = this.#search.newVariable(() => this.write(candidate));
      this.#literals.set(candidate, literal);
      this.#bundles.set(literal, candidate);
    }
    this.#search.addAtMostOne(this.#literalsOf([...candidates]));
    const literal = this.#literals.get(bundle);
    if (literal === undefined) throw new Error(`bundle ${bundle.name} is not a candidate of its package`);
    return literal;
  }

  #compound(constraint: CompoundConstraint, side: Side, catalog: string | undefined): Literal {
    const literal = this.#search.newDefinition(() => {
      const members = getMemberCondition(constraint, side);
      const literals = constraint.constraints.map((member) => this.constraintLiteral(member, members.side, catalog));
      if (members.quantity === "one") this.#search.addOptions(literal, literals);
      else for (const member of literals) this.#search.addClause([negate(literal), member]);
    });
    return literal;
  }

  #leaf(leaf: LeafConstraint, side: Side, catalog: string | undefined): Literal {
    const literal = this.#search.newDefinition(() => {
      if (side === "holds") {
        const label = this.#labelOf({ kind: "offer", leaf });
        const options = this.#literalsOf(this.optionsOf(leaf, catalog));
        this.#search.addOptions(literal, label === undefined ? options : [...options, negate(label)]);
      } else for (const bundle of this.#offer.meeting(leaf)) this.#search.addClause([negate(literal), negate(this.literalOf(bundle))]);
    });
    return literal;
  }

  /** Adds one variable for each package that provides the API, and a clause that at most one of them is true. */
  #writeExclusive(gvk: Gvk): void {
    const key = getGvkKey(gvk);
    if (this.#exclusive.has(key)) return;
    this.#exclusive.add(key);
    const providers = this.#offer.meeting({ kind: "gvk", gvk });
    const byPackage = Map.groupBy(providers, ({ packageName }) => packageName);
    if (byPackage.size < 2) return;
    this.#search.addSlot(this.#literalsOf(providers), this.#labelOf({ kind: "exclusive", gvk }));
    const provides = new Map([...byPackage.keys()].map((name) => [name, this.#search.newVariable()]));
    this.#search.addAtMostOne([...provides.values()]);
    for (const [name, provided] of provides)
      for (const bundle of byPackage.get(name) ?? []) this.#add({ kind: "exclusive", gvk }, [negate(this.literalOf(bundle)), provided]);
  }
}

function remembered<K>(literals: Map<K, Literal>, key: K, make: () => Literal): Literal {
  const known = literals.get(key);
  if (known !== undefined) return known;
  const made = make();
  literals.set(key, made);
  return made;
}
