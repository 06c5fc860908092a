import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";
import type { LeafConstraint } from "../constraint/constraint.ts";
import { describeConstraint, formatGvk } from "../constraint/evaluate.ts";
import {
  formatBundles,
  formatBundleVersion,
  formatBundleVersions,
  formatConjunction,
  formatPackageName,
  isOneInText,
} from "./bundleFormat.ts";
import {
  type Fact,
  getOfferKey,
  getPackageOfferKey,
  getSentenceKey,
  getUnitKey,
  listFacts,
  listLeaves,
  type Requirement,
} from "./conflictReasons.ts";
import { ClauseEncoding } from "./encode.ts";
import type { Offer } from "./offer.ts";
import { type SolverBundle, type SolverProblem, sortDecidedUnits, type Unit } from "./problem.ts";
import { OutOfSteps, Search } from "./search.ts";
import { type Literal, negate } from "./trail.ts";

/** Cost, in search steps, of one label in a search. */
const STEPS_OF_LABEL = 20;

/** Facts that are reported in one sentence. */
type FactGroup = readonly Fact[];

/**
 * Returns a minimal set of fact groups without a solution; slightly larger if minimizing takes more than `maxSteps`. First drops the facts that are
 * furthest from the wanted package.
 * @param offer offer of the problem
 * @param bundles bundles whose constraints, together with the units, leave no solution
 * @returns the groups by the key of their sentence
 */
function findConflictingFacts(
  problem: SolverProblem,
  offer: Offer,
  bundles: readonly SolverBundle[],
  maxSteps: number,
): ReadonlyMap<string, FactGroup> {
  const groups = Map.groupBy(listFacts(problem, bundles), getSentenceKey);
  let left = new Map<string, Literal>();
  try {
    const search = new Search(maxSteps);
    for (const key of groups.keys()) left.set(key, search.newVariable());
    const labels = left;
    const never = search.newVariable();
    search.addClause([negate(never)]);
    offer.spend = (steps) => search.spend(steps);
    const concerned = new Set(bundles);
    const getLabel = (fact: Fact): Literal => {
      const isKnown = fact.kind !== "requirement" || concerned.has(fact.bundle);
      return (isKnown ? labels.get(getSentenceKey(fact)) : undefined) ?? never;
    };
    new ClauseEncoding(offer, search, getLabel).requireUnits(problem.units);
    left = narrowLabels(left, search) ?? left;
    for (const key of [...left.keys()].reverse()) {
      if (!left.has(key)) continue;
      search.spend(left.size * STEPS_OF_LABEL);
      left = narrowLabels(new Map([...left].filter(([other]) => other !== key)), search) ?? left;
    }
  } catch (err) {
    if (!(err instanceof OutOfSteps)) throw err;
  }
  return new Map([...groups].filter(([key]) => left.has(key)));
}

/** Returns the labels that cannot be true together; undefined if all can. */
function narrowLabels(labels: ReadonlyMap<string, Literal>, search: Search): Map<string, Literal> | undefined {
  const conflict = search.conflictOf([...labels.values()]);
  const needed = new Set(conflict);
  return conflict && new Map([...labels].filter(([, label]) => needed.has(label)));
}

/** Maximum length of an author's message, and number of reported messages for one constraint. */
const MAX_MESSAGE = 160;
const MAX_MESSAGES = 3;

/** Writes the facts of an explanation as sentences. */
class FactText {
  readonly #offer: Offer;
  readonly #groups: ReadonlyMap<string, FactGroup>;
  /** The packages that the explanation is about. */
  readonly #packages: ReadonlySet<string>;

  /** @param groups facts of the whole explanation, by the key of their sentence */
  constructor(offer: Offer, groups: ReadonlyMap<string, FactGroup>) {
    this.#offer = offer;
    this.#groups = groups;
    this.#packages = new Set([...groups.values()].flat().flatMap((fact) => listFactPackages(fact, offer)));
  }

  /** @param facts a group of one kind */
  of(facts: FactGroup): string {
    const [first] = facts;
    if (first === undefined) return "";
    if (first.kind === "unit") return this.unit(first.unit);
    if (first.kind === "requirement") return this.requirement(facts);
    if (first.kind === "offer") return this.#available(first.leaf);
    const providers = this.#bundles(this.#concerned({ kind: "gvk", gvk: first.gvk }));
    if (first.kind === "exclusive") return `${providers} provide API ${formatGvk(first.gvk)}, which can have only one provider`;
    const owner = this.#offer.servedAs(first.gvk)?.owner ?? "";
    return `API ${formatGvk(first.gvk)} is provided by ${providers}, but already belongs to ${goQuote(truncate(owner.trim(), MAX_MESSAGE))}`;
  }

  /** Formats a unit, such as `a is wanted as 1.0.0 to 1.3.0` or `b 1.9.0 is installed`. */
  unit({ kind, packageName, candidates }: Unit): string {
    const name = formatPackageName(packageName);
    const [current, ...others] = candidates;
    if (current === undefined) return `${name} is ${kind}, but none of its bundles can be chosen`;
    if (kind === "wanted")
      return others.length === 0
        ? `${name} ${formatBundleVersion(current)} is wanted`
        : `${name} is wanted as ${formatBundleVersions(candidates, candidates, "or")}`;
    const installed = `${name} ${formatBundleVersion(current)} is installed`;
    return others.length === 0 ? installed : `${installed} and can only change to ${formatBundleVersions(others, candidates, "or")}`;
  }

  /** Formats a requirement, such as `a 1.0.0 to 1.3.0 require package "b" >=2.0.0 ("blue is needed")`. */
  requirement(facts: FactGroup): string {
    const bundles = facts.flatMap((fact) => (fact.kind === "requirement" ? [fact.bundle] : []));
    const requirement = facts.find((fact) => fact.kind === "requirement")?.requirement;
    const unit = this.#offer.units.get(bundles[0]?.packageName ?? "");
    if (!requirement || !unit) return "";
    const isInstalled = unit.kind === "installed" && bundles.length === 1 && bundles[0] === unit.candidates[0];
    const subject = `${this.#bundles(bundles)}${isInstalled ? " (installed)" : ""}`;
    return `${subject} ${isOneInText(bundles) ? "requires" : "require"} ${describeConstraint(requirement.constraint)}${this.#messages(requirement)}${this.#excluded(requirement)}`;
  }

  /** Formats that no bundle meets the leaf. Undefined if a bundle meets it but cannot be chosen, or if the package has bundles. */
  lack(leaf: LeafConstraint): string | undefined {
    if (leaf.kind === "package") {
      const isThere = (this.#offer.units.get(leaf.packageName)?.candidates.length ?? 0) > 0;
      return isThere ? undefined : `which no selected catalog has`;
    }
    if (this.#offer.meeting(leaf).length > 0) return undefined;
    return leaf.kind === "gvk" ? "which no bundle of the selected catalogs provides" : "but no such bundle exists";
  }

  #bundles(bundles: readonly SolverBundle[]): string {
    return formatBundles(bundles, (name) => this.#offer.units.get(name)?.candidates ?? []);
  }

  /** Lists all bundles that meet the leaf, or all bundles of a package. */
  #available(leaf: LeafConstraint): string {
    if (leaf.kind === "package") return this.#packageText(leaf.packageName);
    const meeting = this.#bundles(this.#offer.meeting(leaf));
    if (leaf.kind === "cel") return `${meeting === "" ? "no available bundle" : `only ${meeting}`} is ${describeConstraint(leaf)}`;
    return meeting === ""
      ? `no bundle of the selected catalogs provides ${describeConstraint(leaf)}`
      : `${describeConstraint(leaf)} is only provided by ${meeting}`;
  }

  #packageText(packageName: string): string {
    const unit = this.#offer.units.get(packageName);
    const name = formatPackageName(packageName);
    if (!unit || unit.candidates.length === 0)
      return `no selected catalog has package ${goQuote(truncate(packageName.trim(), MAX_MESSAGE))}`;
    if (unit.kind !== "offered") return this.unit(unit);
    const byCatalog = Map.groupBy(unit.candidates, ({ catalog }) => catalog ?? "");
    const parts = [...byCatalog.keys()].sort(compareText).map((catalog) => {
      const versions = `only ${name} ${formatBundleVersions(byCatalog.get(catalog) ?? [], unit.candidates)}`;
      return catalog === "" ? `there is ${versions}` : `catalog ${goQuote(truncate(catalog.trim(), MAX_MESSAGE))} has ${versions}`;
    });
    return formatConjunction(parts);
  }

  /** Formats the author's messages, from the whole constraint to the parts that the explanation is about. */
  #messages(requirement: Requirement): string {
    const messages = new Set<string>();
    for (const { leaf, side, messages: ownMessages } of listLeaves(requirement))
      if (side === "fails" || this.#groups.has(getOfferKey(leaf))) for (const message of ownMessages) messages.add(message);
    const quoted = [...messages].slice(0, MAX_MESSAGES).map((message) => goQuote(truncate(message.trim(), MAX_MESSAGE)));
    return quoted.length === 0 ? "" : ` (${quoted.join("; ")})`;
  }

  /** Formats the bundles and APIs that are present although the constraint excludes them. */
  #excluded(requirement: Requirement): string {
    const parts: string[] = [];
    for (const { leaf, side } of listLeaves(requirement)) {
      if (side === "holds") continue;
      if (leaf.kind === "gvk" && this.#offer.servedAs(leaf.gvk)) parts.push(`the cluster serves ${describeConstraint(leaf)}`);
      else parts.push(...this.#presence(leaf));
    }
    return parts.length === 0 ? "" : `, but ${formatConjunction([...new Set(parts)])}`;
  }

  /** Returns the bundles of the explanation's packages that meet the leaf. */
  #concerned(leaf: LeafConstraint): SolverBundle[] {
    return this.#offer.meeting(leaf).filter(({ packageName }) => this.#packages.has(packageName));
  }

  /** Formats the bundles that meet the leaf, such as `b 1.0.0 provides API g/v1 K`; empty if no bundle does. */
  #presence(leaf: LeafConstraint): string[] {
    const concerned = this.#concerned(leaf);
    if (concerned.length === 0) return [];
    const isOne = isOneInText(concerned);
    const text = this.#bundles(concerned);
    if (leaf.kind === "package") return [`${isOne ? "there is" : "there are"} ${text}`];
    return [`${text} ${leaf.kind === "gvk" ? (isOne ? "provides" : "provide") : isOne ? "is" : "are"} ${describeConstraint(leaf)}`];
  }
}

/** Returns the packages that a fact is about. */
function listFactPackages(fact: Fact, offer: Offer): string[] {
  if (fact.kind === "unit") return [fact.unit.packageName];
  if (fact.kind === "requirement") return [fact.bundle.packageName];
  return fact.kind === "offer" ? offer.meeting(fact.leaf).map(({ packageName }) => packageName) : [];
}

/** Returns the leaf of a requirement that consists of a single leaf. */
function getRequiredLeaf(fact: Fact | undefined): LeafConstraint | undefined {
  if (fact?.kind !== "requirement" || "constraints" in fact.requirement.constraint) return undefined;
  return fact.requirement.constraint;
}

/** A part of an explanation and its facts. */
export interface Sentence {
  readonly text: string;
  readonly facts: readonly Fact[];
}

/** Maximum number and length of reported sentences. */
const MAX_SENTENCES = 12;
const MAX_LENGTH = 400;

/**
 * Explains why a problem has no solution: sentences from the wanted package to the missing dependency, without redundant ones.
 * @param offer offer of the problem
 * @param bundles bundles whose constraints, together with the units, leave no solution
 * @param maxSteps maximum number of search steps; if it is too low, some sentences may be redundant
 */
export function explain(problem: SolverProblem, offer: Offer, bundles: readonly SolverBundle[], maxSteps: number): Sentence[] {
  const groups = findConflictingFacts(problem, offer, bundles, maxSteps);
  offer.spend = () => {};
  return new Explanation(problem, offer, groups).build();
}

/** Returns at most twelve texts of at most 400 characters; the last one contains the number of omitted sentences. */
export function formatSentences(sentences: readonly Sentence[]): string[] {
  const texts = sentences.map(({ text }) => truncate(text.trim(), MAX_LENGTH));
  if (texts.length <= MAX_SENTENCES) return texts;
  return [...texts.slice(0, MAX_SENTENCES - 1), `there are ${texts.length - MAX_SENTENCES + 1} more reasons`];
}

class Explanation {
  readonly #units: readonly Unit[];
  readonly #offer: Offer;
  readonly #text: FactText;
  /** Groups that are not reported yet. */
  readonly #left: Map<string, FactGroup>;
  /** Number of requirement groups that only this offer could meet. */
  readonly #uses = new Map<string, number>();
  /** Requirement keys by package. */
  readonly #requirements: ReadonlyMap<string, readonly string[]>;
  readonly #sentences: Sentence[] = [];

  constructor(problem: SolverProblem, offer: Offer, groups: ReadonlyMap<string, FactGroup>) {
    this.#units = sortDecidedUnits(problem.units);
    this.#offer = offer;
    this.#left = new Map(groups);
    const required = [...groups].flatMap(([key, [first]]) =>
      first?.kind === "requirement" ? [{ key, packageName: first.bundle.packageName }] : [],
    );
    const byPackage = Map.groupBy(required, ({ packageName }) => packageName);
    this.#requirements = new Map([...byPackage].map(([name, keys]) => [name, keys.map(({ key }) => key)]));
    this.#text = new FactText(this.#offer, groups);
    for (const [first] of groups.values())
      for (const key of first?.kind === "requirement"
        ? new Set([...listLeaves(first.requirement)].map(({ leaf }) => getOfferKey(leaf)))
        : [])
        this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
  }

  build(): Sentence[] {
    // Packages that could meet a reported requirement are appended while iterating.
    const next = new Set(this.#units.map(({ packageName }) => packageName).filter((name) => this.#left.has(getUnitKey(name))));
    for (const name of next) for (const other of this.#visit(name)) next.add(other);
    for (const name of this.#requirements.keys()) this.#visit(name);
    for (const facts of this.#left.values()) this.#addSentence(this.#text.of(facts), facts);
    return this.#sentences;
  }

  #addSentence(text: string, facts: FactGroup): void {
    if (facts.length > 0) this.#sentences.push({ text, facts });
  }

  #take(key: string): FactGroup {
    const facts = this.#left.get(key) ?? [];
    this.#left.delete(key);
    return facts;
  }

  /** Explains why a package is needed, unless a requirement shows it, and what it requires. @returns packages that could satisfy the requirements */
  #visit(packageName: string): string[] {
    const standing = this.#take(getUnitKey(packageName));
    const keys = this.#requirements.get(packageName)?.filter((key) => this.#left.has(key)) ?? [];
    const carrier = keys.find((key) => coversUnit(this.#left.get(key) ?? [], this.#offer.units.get(packageName)));
    const [first] = standing;
    if (carrier === undefined && first?.kind === "unit")
      this.#addSentence(this.#text.unit(first.unit), [...standing, ...this.#take(getPackageOfferKey(packageName))]);
    return keys.flatMap((key) => this.#explainRequirement(this.#take(key), key === carrier ? standing : []));
  }

  /** Explains a requirement and lists the packages that could satisfy it. @returns those packages */
  #explainRequirement(facts: FactGroup, standing: FactGroup): string[] {
    const [first] = facts;
    if (first?.kind !== "requirement") return [];
    const text = this.#text.requirement(facts);
    const leaf = getRequiredLeaf(first);
    const key = leaf ? getOfferKey(leaf) : "";
    const lack = leaf && this.#left.has(key) && this.#uses.get(key) === 1 ? this.#text.lack(leaf) : undefined;
    if (lack === undefined) this.#addSentence(text, [...standing, ...facts]);
    else this.#addSentence(`${text}, ${lack}`, [...standing, ...facts, ...this.#take(key)]);
    const leaves = [...listLeaves(first.requirement)].map((placed) => placed.leaf);
    for (const other of leaves) this.#explainOffer(other);
    const meeting = leaves.flatMap((other) => this.#offer.meeting(other).map(({ packageName }) => packageName));
    return [...meeting, ...leaves.flatMap((other) => (other.kind === "package" ? [other.packageName] : []))];
  }

  /**
   * Explains which bundles meet a leaf. For a wanted or installed package, the sentence lists its possible versions, which implies that it is
   * present.
   */
  #explainOffer(leaf: LeafConstraint): void {
    const facts = this.#take(getOfferKey(leaf));
    const standing = facts.length > 0 && leaf.kind === "package" ? this.#take(getUnitKey(leaf.packageName)) : [];
    this.#addSentence(this.#text.of(facts), [...facts, ...standing]);
  }
}

/** Reports whether the group is about all candidates of a wanted package, or about an installed package that cannot change. */
function coversUnit(facts: FactGroup, unit: Unit | undefined): boolean {
  return unit !== undefined && facts.length === unit.candidates.length && (unit.kind === "wanted" || facts.length === 1);
}
