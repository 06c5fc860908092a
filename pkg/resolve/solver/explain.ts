import { shortened } from "../../fbc/boundedTexts.ts";
import type { LeafConstraint } from "../constraint/constraint.ts";
import { conflictingFacts, type FactGroup } from "./core.ts";
import { type Fact, leavesOf, offerKey, packageOfferKey, unitKey } from "./facts.ts";
import { FactText, leafRequired } from "./factText.ts";
import type { Offer } from "./offer.ts";
import { decidedUnits } from "./preference.ts";
import type { Problem, SolverBundle, Unit } from "./problem.ts";

/** A part of an explanation, and what it stands for. */
export interface Sentence {
  readonly text: string;
  readonly facts: readonly Fact[];
}

/** Most sentences that are told, and the longest of them. */
const MAX_SENTENCES = 12;
const MAX_LENGTH = 400;

/**
 * Why a problem has no solution: sentences none of which can be left out, from what is wanted to what is missing.
 * @param offer that of the problem.
 * @param bundles those whose constraints leave no solution, together with the units.
 * @param maxSteps with fewer than it takes, some sentence may be one that could be left out.
 */
export function explain(problem: Problem, offer: Offer, bundles: readonly SolverBundle[], maxSteps: number): Sentence[] {
  const groups = conflictingFacts(problem, offer, bundles, maxSteps);
  offer.spend = () => {};
  return new Explanation(problem, offer, groups).told();
}

/** At most twelve texts of at most 400 characters; the last says how many are left out. */
export function textsOf(sentences: readonly Sentence[]): string[] {
  const texts = sentences.map(({ text }) => shortened(text, MAX_LENGTH));
  if (texts.length <= MAX_SENTENCES) return texts;
  return [...texts.slice(0, MAX_SENTENCES - 1), `there are ${texts.length - MAX_SENTENCES + 1} more reasons`];
}

class Explanation {
  readonly #units: readonly Unit[];
  readonly #offer: Offer;
  readonly #text: FactText;
  /** What was not told yet. */
  readonly #left: Map<string, FactGroup>;
  /** How many groups say that something is required that only this offer could meet. */
  readonly #uses = new Map<string, number>();
  /** The keys of what each package requires. */
  readonly #requirements: ReadonlyMap<string, readonly string[]>;
  readonly #sentences: Sentence[] = [];

  constructor(problem: Problem, offer: Offer, groups: ReadonlyMap<string, FactGroup>) {
    this.#units = decidedUnits(problem.units);
    this.#offer = offer;
    this.#left = new Map(groups);
    const required = [...groups].flatMap(([key, [first]]) =>
      first?.kind === "requirement" ? [{ key, packageName: first.bundle.packageName }] : [],
    );
    const byPackage = Map.groupBy(required, ({ packageName }) => packageName);
    this.#requirements = new Map([...byPackage].map(([name, keys]) => [name, keys.map(({ key }) => key)]));
    this.#text = new FactText(this.#offer, groups);
    for (const [first] of groups.values())
      for (const key of first?.kind === "requirement" ? new Set([...leavesOf(first.requirement)].map(({ leaf }) => offerKey(leaf))) : [])
        this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
  }

  told(): Sentence[] {
    // Packages that could meet what is told are appended, and come up here too.
    const next = new Set(this.#units.map(({ packageName }) => packageName).filter((name) => this.#left.has(unitKey(name))));
    for (const name of next) for (const other of this.#visit(name)) next.add(other);
    for (const name of this.#requirements.keys()) this.#visit(name);
    for (const facts of this.#left.values()) this.#tell(this.#text.of(facts), facts);
    return this.#sentences;
  }

  #tell(text: string, facts: FactGroup): void {
    if (facts.length > 0) this.#sentences.push({ text, facts });
  }

  #take(key: string): FactGroup {
    const facts = this.#left.get(key) ?? [];
    this.#left.delete(key);
    return facts;
  }

  /** Tells what a package requires, and before that why it is there where that does not say it. @returns packages that could meet it. */
  #visit(packageName: string): string[] {
    const standing = this.#take(unitKey(packageName));
    const keys = this.#requirements.get(packageName)?.filter((key) => this.#left.has(key)) ?? [];
    const carrier = keys.find((key) => isOfAll(this.#left.get(key) ?? [], this.#offer.units.get(packageName)));
    const [first] = standing;
    if (carrier === undefined && first?.kind === "unit")
      this.#tell(this.#text.unit(first.unit), [...standing, ...this.#take(packageOfferKey(packageName))]);
    return keys.flatMap((key) => this.#tellRequirement(this.#take(key), key === carrier ? standing : []));
  }

  /** Tells of a requirement and of what could meet it. @returns the packages that could. */
  #tellRequirement(facts: FactGroup, standing: FactGroup): string[] {
    const [first] = facts;
    if (first?.kind !== "requirement") return [];
    const text = this.#text.requirement(facts);
    const leaf = leafRequired(first);
    const key = leaf ? offerKey(leaf) : "";
    const lack = leaf && this.#left.has(key) && this.#uses.get(key) === 1 ? this.#text.lack(leaf) : undefined;
    if (lack === undefined) this.#tell(text, [...standing, ...facts]);
    else this.#tell(`${text}, ${lack}`, [...standing, ...facts, ...this.#take(key)]);
    const leaves = [...leavesOf(first.requirement)].map((placed) => placed.leaf);
    for (const other of leaves) this.#tellOffer(other);
    const meeting = leaves.flatMap((other) => this.#offer.meeting(other).map(({ packageName }) => packageName));
    return [...meeting, ...leaves.flatMap((other) => (other.kind === "package" ? [other.packageName] : []))];
  }

  /** Tells what meets a leaf; of a wanted or installed package that is what it can be, which also says that it is there. */
  #tellOffer(leaf: LeafConstraint): void {
    const facts = this.#take(offerKey(leaf));
    const standing = facts.length > 0 && leaf.kind === "package" ? this.#take(unitKey(leaf.packageName)) : [];
    this.#tell(this.#text.of(facts), [...facts, ...standing]);
  }
}

/** Whether what the group says is said of a package as it is wanted, or installed for good. */
function isOfAll(facts: FactGroup, unit: Unit | undefined): boolean {
  return unit !== undefined && facts.length === unit.candidates.length && (unit.kind === "wanted" || facts.length === 1);
}
