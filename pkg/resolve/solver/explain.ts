import type { LeafConstraint } from "../constraint/constraint.ts";
import { type FactGroup, findConflictingFacts } from "./conflictingFacts.ts";
import { type Fact, getOfferKey, getPackageKey, listLeaves } from "./conflictReasons.ts";
import { FactText } from "./factText.ts";
import type { Offer } from "./offer.ts";
import {
  type Explanation,
  type ExplanationSentence,
  type SolverBundle,
  type SolverProblem,
  sortDecidedUnits,
  type Unit,
} from "./problem.ts";

/** Returns the leaf of a requirement that consists of a single leaf. */
function getRequiredLeaf(fact: Fact | undefined): LeafConstraint | undefined {
  if (fact?.kind !== "requirement" || "constraints" in fact.requirement.constraint) return undefined;
  return fact.requirement.constraint;
}

/** A sentence of an explanation and its facts. */
interface ProvenSentence {
  readonly sentence: ExplanationSentence;
  readonly facts: readonly Fact[];
}

/**
 * Explains why a problem has no solution: sentences from the wanted package to the missing dependency, without redundant ones.
 * @param offer offer of the problem
 * @param bundles bundles whose constraints, together with the units, leave no solution
 * @param maxSteps maximum number of search steps; if it is too low, some sentences may be redundant
 */
export function explain(problem: SolverProblem, offer: Offer, bundles: readonly SolverBundle[], maxSteps: number): Explanation {
  const { sentences, isMinimal } = explainWithFacts(problem, offer, bundles, maxSteps);
  return { sentences: sentences.map(({ sentence }) => sentence), isMinimal };
}

/** Explains like `explain`, with the facts that each sentence states. */
export function explainWithFacts(
  problem: SolverProblem,
  offer: Offer,
  bundles: readonly SolverBundle[],
  maxSteps: number,
): { readonly sentences: readonly ProvenSentence[]; readonly isMinimal: boolean } {
  const { groups, isMinimal } = findConflictingFacts(problem, offer, bundles, maxSteps);
  offer.spend = () => {};
  return { sentences: new ExplanationOrder(problem, offer, groups).build(), isMinimal };
}

class ExplanationOrder {
  readonly #units: readonly Unit[];
  readonly #offer: Offer;
  readonly #text: FactText;
  /** Groups that are not reported yet. */
  readonly #left: Map<string, FactGroup>;
  /** Number of requirement groups that only this offer could meet. */
  readonly #uses = new Map<string, number>();
  /** Requirement keys by package. */
  readonly #requirements: ReadonlyMap<string, readonly string[]>;
  readonly #sentences: ProvenSentence[] = [];

  constructor(problem: SolverProblem, offer: Offer, groups: ReadonlyMap<string, FactGroup>) {
    this.#units = sortDecidedUnits(problem.units);
    this.#offer = offer;
    this.#left = new Map(groups);
    const required = [...groups].flatMap(([key, [first]]) =>
      first?.kind === "requirement" ? [{ key, packageName: first.bundle.packageName }] : [],
    );
    const byPackage = Map.groupBy(required, ({ packageName }) => packageName);
    this.#requirements = new Map([...byPackage].map(([name, keys]) => [name, keys.map(({ key }) => key)]));
    this.#text = new FactText(problem, this.#offer, groups);
    for (const [first] of groups.values())
      for (const key of first?.kind === "requirement"
        ? new Set([...listLeaves(first.requirement)].flatMap(({ leaf, side }) => (side === "holds" ? [getOfferKey(leaf)] : [])))
        : [])
        this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
  }

  build(): ProvenSentence[] {
    // Packages that could meet a reported requirement are appended while iterating.
    const next = new Set(this.#units.map(({ packageName }) => packageName).filter((name) => this.#left.has(getPackageKey(name))));
    for (const name of next) for (const other of this.#visit(name)) next.add(other);
    for (const name of this.#requirements.keys()) this.#visit(name);
    for (const facts of this.#left.values()) this.#addSentence(this.#text.of(facts), facts);
    return this.#sentences;
  }

  /** @param facts the sentence is about the first one; empty if the sentence is already part of another one */
  #addSentence(text: string, facts: FactGroup, isMissing = false): void {
    const [first] = facts;
    if (!first) return;
    const kind = first.kind === "unit" ? getPresence(first.unit) : isMissing ? "missing" : first.kind;
    this.#sentences.push({ sentence: { text, kind, ...this.#text.subjectOf(facts) }, facts });
  }

  #take(key: string): FactGroup {
    const facts = this.#left.get(key) ?? [];
    this.#left.delete(key);
    return facts;
  }

  /**
   * Explains why a package is present, unless a requirement of its bundles shows it, and what it requires.
   * @returns packages that could satisfy the requirements
   */
  #visit(packageName: string): string[] {
    const unit = this.#offer.units.get(packageName);
    const key = getPackageKey(packageName);
    const standing = unit && unit.kind !== "offered" ? this.#take(key) : [];
    const keys = this.#requirements.get(packageName)?.filter((other) => this.#left.has(other)) ?? [];
    const carrier = this.#findCarrier(packageName);
    if (carrier === undefined) this.#addSentence(this.#text.of(standing), standing);
    return keys.flatMap((other) => this.#explainRequirement(this.#take(other), other === carrier ? standing : []));
  }

  /** Returns the key of the first unreported requirement that shows that a wanted or installed package is present. */
  #findCarrier(packageName: string): string | undefined {
    const unit = this.#offer.units.get(packageName);
    return this.#requirements.get(packageName)?.find((key) => coversUnit(this.#left.get(key) ?? [], unit));
  }

  /** Explains a requirement and lists the packages that could satisfy it. @returns those packages */
  #explainRequirement(facts: FactGroup, standing: FactGroup): string[] {
    const [first] = facts;
    if (first?.kind !== "requirement") return [];
    const text = this.#text.requirement(facts);
    const leaf = getRequiredLeaf(first);
    const key = leaf ? getOfferKey(leaf) : "";
    const lack = leaf && this.#left.has(key) && this.#uses.get(key) === 1 ? this.#text.lack(leaf) : undefined;
    if (lack === undefined) this.#addSentence(text, [...facts, ...standing]);
    else this.#addSentence(`${text}, ${lack}`, [...facts, ...standing, ...this.#take(key)], true);
    const leaves = [...listLeaves(first.requirement)].map((placed) => placed.leaf);
    for (const other of leaves) this.#explainOffer(other);
    const meeting = leaves.flatMap((other) => this.#offer.meeting(other).map(({ packageName }) => packageName));
    return [...meeting, ...leaves.flatMap((other) => (other.kind === "package" ? [other.packageName] : []))];
  }

  /** Explains which bundles meet a leaf. For a wanted or installed package, the sentence shows that it is present too. */
  #explainOffer(leaf: LeafConstraint): void {
    if (leaf.kind === "package" && this.#findCarrier(leaf.packageName) !== undefined) return;
    const facts = this.#take(getOfferKey(leaf));
    this.#addSentence(this.#text.of(facts), facts);
  }
}

function getPresence({ kind }: Unit): "wanted" | "installed" {
  return kind === "installed" ? "installed" : "wanted";
}

/** Reports whether the group is about all candidates of a wanted package, or about an installed package that cannot change. */
function coversUnit(facts: FactGroup, unit: Unit | undefined): boolean {
  if (!unit || unit.kind === "offered") return false;
  const bundles = new Set(facts.map((fact) => (fact.kind === "requirement" ? fact.bundle : undefined)));
  return bundles.size === unit.candidates.length && (unit.kind === "wanted" || bundles.size === 1);
}
