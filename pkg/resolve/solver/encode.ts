import type { BundleConstraint, CompoundConstraint, Gvk, LeafConstraint } from "../constraint/constraint.ts";
import { gvkKey } from "../constraint/parse.ts";
import { type Fact, isCompound, membersFor, type Side, splitRequirements } from "./conflictReasons.ts";
import { leafKey, type Offer } from "./offer.ts";
import { comparePreference, decidedUnits, type SolverBundle, type Unit } from "./problem.ts";
import type { Search } from "./search.ts";
import { type Literal, negate } from "./trail.ts";

/**
 * A problem as clauses, written as the search comes to what they are about: a bundle's constraints when the bundle is chosen, the members of a
 * compound when it is to hold. One variable stands for each bundle, and one for each constraint that is to hold or to fail (Tseitin's
 * transformation in the one direction that is needed: a constraint may hold without its variable being true).
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

  /** @param labelOf the literal that says a fact counts; a fact without one always counts. */
  constructor(offer: Offer, search: Search, labelOf: (fact: Fact) => Literal | undefined = () => undefined) {
    this.#search = search;
    this.#offer = offer;
    this.#labelOf = labelOf;
    this.#true = search.newVariable();
    search.addClause([this.#true]);
  }

  /** Every wanted and installed package is there. */
  requireUnits(units: readonly Unit[]): void {
    for (const unit of decidedUnits(units)) {
      const isThere = this.#search.newVariable(() => this.#search.addOptions(isThere, this.#literalsOf(unit.candidates)));
      this.#add({ kind: "unit", unit }, [isThere]);
    }
  }

  /** The bundles whose constraints were written, in this order: no others played a part. */
  get written(): readonly SolverBundle[] {
    return this.#written;
  }

  /** The literal that says the bundle is chosen. */
  literalOf(bundle: SolverBundle): Literal {
    return this.#literals.get(bundle) ?? this.#introduced(bundle);
  }

  /** The bundle that a literal stands for, if it stands for one. */
  bundleOf(literal: Literal): SolverBundle | undefined {
    return this.#bundles.get(literal);
  }

  /**
   * The literal that makes a constraint hold, or fail.
   * @param catalog that of the bundle whose constraint it is.
   */
  constraintLiteral(constraint: BundleConstraint, side: Side, catalog: string | undefined): Literal {
    if (isCompound(constraint)) {
      const literals = this.#compounds.get(constraint) ?? new Map<string, Literal>();
      this.#compounds.set(constraint, literals);
      return remembered(literals, `${side} ${JSON.stringify(catalog)}`, () => this.#compound(constraint, side, catalog));
    }
    if (constraint.kind === "gvk" && this.#offer.servedAs(constraint.gvk)) return side === "holds" ? this.#true : negate(this.#true);
    const key = side === "fails" ? `fails ${leafKey(constraint)}` : `holds ${JSON.stringify(catalog)} ${leafKey(constraint)}`;
    return remembered(this.#leaves, key, () => this.#leaf(constraint, side, catalog));
  }

  /** The bundles that meet the leaf, the preferred first. */
  optionsOf(leaf: LeafConstraint, catalog: string | undefined): readonly SolverBundle[] {
    return this.#offer.meeting(leaf).toSorted((a, b) => comparePreference(a, b, catalog));
  }

  /** Writes what chosen `bundle` means. */
  write(bundle: SolverBundle): void {
    this.#written.push(bundle);
    const not = negate(this.literalOf(bundle));
    for (const gvk of bundle.apis) {
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

  /** Makes the variables of all candidates of the bundle's package. */
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
    if (literal === undefined) throw new Error(`bundle ${bundle.name} is no candidate of its package`);
    return literal;
  }

  #compound(constraint: CompoundConstraint, side: Side, catalog: string | undefined): Literal {
    const literal = this.#search.newVariable(() => {
      const members = membersFor(constraint, side);
      const literals = constraint.constraints.map((member) => this.constraintLiteral(member, members.side, catalog));
      if (members.quantity === "one") this.#search.addOptions(literal, literals);
      else for (const member of literals) this.#search.addClause([negate(literal), member]);
    });
    return literal;
  }

  #leaf(leaf: LeafConstraint, side: Side, catalog: string | undefined): Literal {
    const literal = this.#search.newVariable(() => {
      if (side === "holds") {
        const label = this.#labelOf({ kind: "offer", leaf });
        const options = this.#literalsOf(this.optionsOf(leaf, catalog));
        this.#search.addOptions(literal, label === undefined ? options : [...options, negate(label)]);
      } else for (const bundle of this.#offer.meeting(leaf)) this.#search.addClause([negate(literal), negate(this.literalOf(bundle))]);
    });
    return literal;
  }

  /** One variable a package says that it provides the API, and one of these at most is true. */
  #writeExclusive(gvk: Gvk): void {
    const key = gvkKey(gvk);
    if (this.#exclusive.has(key)) return;
    this.#exclusive.add(key);
    const byPackage = Map.groupBy(this.#offer.meeting({ kind: "gvk", gvk }), ({ packageName }) => packageName);
    if (byPackage.size < 2) return;
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
