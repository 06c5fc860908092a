import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { formatCount } from "../../text/lists.ts";
import { truncate } from "../../text/truncate.ts";
import type { BundleConstraint, LeafConstraint } from "../constraint/constraint.ts";
import { describeConstraint, formatGvk, meets } from "../constraint/evaluate.ts";
import {
  type BundleDirectory,
  formatBundles,
  formatBundleVersion,
  formatBundleVersions,
  formatConjunction,
  formatPackageName,
  formatSourceCatalog,
  isOneInText,
  type NamedBundle,
} from "./bundleFormat.ts";
import type { FactGroup } from "./conflictingFacts.ts";
import { type Fact, getOfferKey, listLeaves, type Requirement } from "./conflictReasons.ts";
import { Offer } from "./offer.ts";
import type { BundleReference, ExplanationSentence, RejectedSolverBundle, SolverBundle, SolverProblem, Unit } from "./problem.ts";

/** Maximum length of an author's message, and number of reported messages for one constraint. */
const MAX_MESSAGE = 160;
const MAX_MESSAGES = 3;

/** Maximum number of reasons why bundles cannot be chosen in one sentence. */
const MAX_REASONS = 2;

/** Writes the facts of an explanation as sentences. */
export class FactText implements BundleDirectory {
  readonly #offer: Offer;
  readonly #groups: ReadonlyMap<string, FactGroup>;
  readonly #rejected: ReadonlyMap<string, readonly RejectedSolverBundle[]>;
  /** The packages that the explanation is about. */
  readonly #packages: ReadonlySet<string>;

  /** @param groups facts of the whole explanation, by the key of their sentence */
  constructor({ rejected = [] }: SolverProblem, offer: Offer, groups: ReadonlyMap<string, FactGroup>) {
    this.#offer = offer;
    this.#groups = groups;
    this.#rejected = Map.groupBy(rejected, ({ packageName }) => packageName);
    this.#packages = new Set([...groups.values()].flat().flatMap((fact) => listFactPackages(fact, offer)));
  }

  bundlesOf(packageName: string): readonly NamedBundle[] {
    return [...this.#candidatesOf(packageName), ...(this.#rejected.get(packageName) ?? [])];
  }

  isInstalled(bundle: NamedBundle): boolean {
    const unit = this.#offer.units.get(bundle.packageName);
    return unit?.kind === "installed" && unit.candidates[0] === bundle;
  }

  /** Returns the packages, bundles and constraints that a sentence is about. @param facts its facts */
  subjectOf(facts: FactGroup): Pick<ExplanationSentence, "packages" | "bundles" | "constraints"> {
    const [first] = facts;
    const constraint = first && getFactConstraint(first);
    const bundles = facts.filter(({ kind }) => kind === first?.kind).flatMap((fact) => this.#bundlesOf(fact));
    const leaves = facts.flatMap((fact) => (fact.kind === "requirement" ? [...listLeaves(fact.requirement)] : []));
    const named = [...leaves.map(({ leaf }) => leaf), ...(constraint ? [constraint] : [])];
    const packages = named.flatMap((leaf) => (leaf.kind === "package" ? [leaf.packageName] : []));
    return {
      packages: [...new Set([...bundles.map(({ packageName }) => packageName), ...packages])].sort(compareText),
      bundles: [...new Set(bundles)].sort(compareReferences).map(({ packageName, name, catalog }) => ({ packageName, name, catalog })),
      constraints: constraint ? [{ kind: constraint.kind, text: describeConstraint(constraint) }] : [],
    };
  }

  /** Returns the bundles that a fact is about. */
  #bundlesOf(fact: Fact): readonly NamedBundle[] {
    if (fact.kind === "unit") return fact.unit.candidates;
    if (fact.kind === "requirement") return [fact.bundle];
    if (fact.kind !== "offer") return this.#concerned({ kind: "gvk", gvk: fact.gvk });
    return fact.leaf.kind === "package" ? this.bundlesOf(fact.leaf.packageName) : this.#meeting(fact.leaf);
  }

  #candidatesOf(packageName: string): readonly SolverBundle[] {
    return this.#offer.units.get(packageName)?.candidates ?? [];
  }

  /** @param facts a group of one kind */
  of(facts: FactGroup): string {
    const [first] = facts;
    if (first === undefined) return "";
    if (first.kind === "unit") return this.#packageText(first.unit.packageName);
    if (first.kind === "requirement") return this.requirement(facts);
    if (first.kind === "offer") return this.#available(first.leaf);
    const concerned = this.#concerned({ kind: "gvk", gvk: first.gvk });
    const providers = this.#bundles(concerned);
    const verb = isOneInText(concerned, this) ? "provides" : "provide";
    if (first.kind === "exclusive") return `${providers} ${verb} API ${formatGvk(first.gvk)}, which can have only one provider`;
    const owner = this.#offer.servedAs(first.gvk)?.owner ?? "";
    return `API ${formatGvk(first.gvk)} is provided by ${providers}, but already belongs to ${goQuote(truncate(owner.trim(), MAX_MESSAGE))}`;
  }

  /** Formats a unit, such as `a is wanted as 1.0.0 to 1.3.0` or `b 1.9.0 is installed`. */
  #unit({ kind, packageName, candidates }: Unit): string {
    const name = formatPackageName(packageName);
    const [current, ...others] = candidates;
    if (current === undefined)
      return `${name} is ${kind}, but ${this.#obstacles(this.#rejected.get(packageName) ?? []) ?? "none of its bundles can be chosen"}`;
    if (kind === "wanted")
      return others.length === 0
        ? `${name} ${formatBundleVersion(current)} is wanted`
        : `${name} is wanted as ${formatBundleVersions(candidates, this.bundlesOf(packageName), this, "or")}`;
    const installed = `${name} ${formatBundleVersion(current)} is installed`;
    return others.length === 0
      ? installed
      : `${installed} and can only change to ${formatBundleVersions(others, this.bundlesOf(packageName), this, "or")}`;
  }

  /** Formats a requirement, such as `a 1.0.0 to 1.3.0 require package "b" >=2.0.0 ("blue is needed")`. */
  requirement(facts: FactGroup): string {
    const bundles = facts.flatMap((fact) => (fact.kind === "requirement" ? [fact.bundle] : []));
    const requirement = facts.find((fact) => fact.kind === "requirement")?.requirement;
    const [first] = bundles;
    if (!requirement || !first) return "";
    const text = this.#bundles(bundles);
    const subject = bundles.length === 1 && this.isInstalled(first) && !text.endsWith(")") ? `${text} (installed)` : text;
    return `${subject} ${isOneInText(bundles, this) ? "requires" : "require"} ${describeConstraint(requirement.constraint)}${this.#messages(requirement)}${this.#excluded(requirement)}`;
  }

  /** Formats that no bundle meets the leaf. Undefined if a bundle meets it, even one that cannot be chosen, or if the package has bundles. */
  lack(leaf: LeafConstraint): string | undefined {
    if (leaf.kind === "package") return this.bundlesOf(leaf.packageName).length > 0 ? undefined : "which no selected catalog has";
    if (this.#meeting(leaf).length > 0) return undefined;
    return leaf.kind === "gvk" ? "which no bundle of the selected catalogs provides" : "but no such bundle exists";
  }

  #bundles(bundles: readonly NamedBundle[]): string {
    return formatBundles(bundles, this);
  }

  /** Returns all bundles that meet the leaf, then those that cannot be chosen. */
  #meeting(leaf: LeafConstraint): readonly (SolverBundle | RejectedSolverBundle)[] {
    return [...this.#offer.meeting(leaf), ...this.#rejectedMeeting(leaf)];
  }

  #rejectedMeeting(leaf: LeafConstraint): readonly RejectedSolverBundle[] {
    if (leaf.kind !== "package") return [...this.#rejected.values()].flat().filter((bundle) => meets(bundle, leaf));
    const bundles = this.#rejected.get(leaf.packageName) ?? [];
    return bundles.filter((bundle) => bundle.version === undefined || meets(bundle, leaf));
  }

  /** Lists all bundles that meet the leaf, or all bundles of a package. */
  #available(leaf: LeafConstraint): string {
    if (leaf.kind === "package") return this.#packageText(leaf.packageName);
    const meeting = this.#meeting(leaf);
    const bundles = this.#bundles(meeting);
    const obstacles = this.#withObstacles(meeting, this.#rejectedMeeting(leaf));
    const verb = isOneInText(meeting, this) ? "is" : "are";
    if (leaf.kind === "cel")
      return meeting.length === 0
        ? `no available bundle is ${describeConstraint(leaf)}`
        : `only ${bundles} ${verb} ${describeConstraint(leaf)}${obstacles}`;
    return meeting.length === 0
      ? `no bundle of the selected catalogs provides ${describeConstraint(leaf)}`
      : `${describeConstraint(leaf)} is only provided by ${bundles}${obstacles}`;
  }

  #packageText(packageName: string): string {
    const unit = this.#offer.units.get(packageName);
    const name = formatPackageName(packageName);
    const all = this.bundlesOf(packageName);
    const rejected = this.#relevantRejected(packageName);
    if (unit && unit.kind !== "offered") {
      const obstacles = unit.candidates.length > 0 ? this.#obstacles(rejected) : undefined;
      return `${this.#unit(unit)}${obstacles === undefined ? "" : `, but ${obstacles}`}`;
    }
    if (all.length === 0) return `no selected catalog has package ${goQuote(truncate(packageName.trim(), MAX_MESSAGE))}`;
    const byCatalog = Map.groupBy(all, ({ catalog }) => catalog ?? "");
    const parts = [...byCatalog.keys()].sort(compareText).map((catalog) => {
      const listed = byCatalog.get(catalog) ?? [];
      const versions = new Set(listed.map(formatBundleVersion));
      const others = all.filter((bundle) => !versions.has(formatBundleVersion(bundle)));
      const only = `only ${name} ${formatBundleVersions(listed, [...listed, ...others], this)}`;
      return catalog === "" ? `there is ${only}` : `${formatSourceCatalog(catalog)} has ${only}`;
    });
    return `${formatConjunction(parts, "and", "catalog")}${this.#withObstacles(all, rejected)}`;
  }

  /** Returns the bundles of the package that cannot be chosen and would meet a constraint of the explanation. */
  #relevantRejected(packageName: string): RejectedSolverBundle[] {
    if (!this.#rejected.has(packageName)) return [];
    const requirements = [...this.#groups.values()].flatMap(([first]) => (first?.kind === "requirement" ? [first.requirement] : []));
    const leaves = requirements.flatMap((requirement) => [...listLeaves(requirement)]).map(({ leaf }) => leaf);
    const concerned = leaves.filter((leaf) => leaf.kind === "package" && leaf.packageName === packageName);
    return [...new Set(concerned.flatMap((leaf) => this.#rejectedMeeting(leaf)))];
  }

  /** Formats why `rejected` cannot be chosen, as a clause for a sentence that lists `bundles`; empty if there are none. */
  #withObstacles(bundles: readonly NamedBundle[], rejected: readonly RejectedSolverBundle[]): string {
    const obstacles = this.#obstacles(rejected);
    if (obstacles === undefined) return "";
    const [first] = rejected;
    const isOnly = bundles.length === 1 && first !== undefined;
    return isOnly ? `, which ${this.#obstacle(first, true)}` : `, but ${obstacles}`;
  }

  /** Formats why bundles cannot be chosen, at most two reasons, such as `b 2.0.0 has no valid version`; undefined if there are none. */
  #obstacles(rejected: readonly RejectedSolverBundle[]): string | undefined {
    if (rejected.length === 0) return undefined;
    const byReason = Map.groupBy(rejected.toSorted(compareReferences), (bundle) => this.#obstacle(bundle, false));
    const groups = [...byReason.values()];
    const clauses = groups.slice(0, MAX_REASONS).flatMap((bundles) => {
      const [first] = bundles;
      return first ? [`${this.#bundles(bundles)} ${this.#obstacle(first, isOneInText(bundles, this))}`] : [];
    });
    const more = groups.slice(MAX_REASONS).flat().length;
    return [...clauses, ...(more > 0 ? [`${formatCount(more, "more bundle")} cannot be chosen`] : [])].join("; ");
  }

  /** Formats why a bundle cannot be chosen, as a predicate. */
  #obstacle({ packageName, why }: RejectedSolverBundle, isOne: boolean): string {
    if (why.kind === "faulty") {
      const mistake = `${isOne ? "declares" : "declare"} an invalid constraint that ${isOne ? "its" : "their"} author must correct`;
      return `${mistake}: ${truncate(why.fault.replace(/\s+/g, " ").trim(), MAX_MESSAGE)}`;
    }
    if (why.kind === "limited")
      return `${isOne ? "is" : "are"} not allowed by spec.source.catalog of ClusterExtension ${goQuote(truncate(why.extension, MAX_MESSAGE))}`;
    if (why.kind === "unversioned") return `${isOne ? "has" : "have"} no valid version`;
    if (why.kind === "unnamed")
      return `cannot be installed, because ${goQuote(truncate(packageName.trim(), MAX_MESSAGE))} is not a valid name of a ClusterExtension`;
    const unit = this.#offer.units.get(packageName);
    const [current] = unit?.candidates ?? [];
    if (unit?.kind === "installed" && current) return `cannot replace the installed ${formatBundleVersion(current)}`;
    return isOne ? "is not a wanted bundle" : "are not wanted bundles";
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
    const isOne = isOneInText(concerned, this);
    const text = this.#bundles(concerned);
    if (leaf.kind === "package") return [`${isOne ? "there is" : "there are"} ${text}`];
    return [`${text} ${leaf.kind === "gvk" ? (isOne ? "provides" : "provide") : isOne ? "is" : "are"} ${describeConstraint(leaf)}`];
  }
}

function getFactConstraint(fact: Fact): BundleConstraint | undefined {
  if (fact.kind === "unit") return undefined;
  if (fact.kind === "requirement") return fact.requirement.constraint;
  return fact.kind === "offer" ? fact.leaf : { kind: "gvk", gvk: fact.gvk };
}

function compareReferences(a: BundleReference, b: BundleReference): number {
  return compareText(a.packageName, b.packageName) || compareText(a.name, b.name) || compareText(a.catalog ?? "", b.catalog ?? "");
}

/** Returns the packages that a fact is about. */
function listFactPackages(fact: Fact, offer: Offer): string[] {
  if (fact.kind === "unit") return [fact.unit.packageName];
  if (fact.kind === "requirement") return [fact.bundle.packageName];
  return fact.kind === "offer" ? offer.meeting(fact.leaf).map(({ packageName }) => packageName) : [];
}

/**
 * Formats candidates that are part of no solution, one sentence for each package, such as `no solution contains a 1.2.0 or 1.3.0`.
 */
export function formatImpossible(problem: SolverProblem, bundles: readonly SolverBundle[]): string[] {
  const text = new FactText(problem, new Offer(problem), new Map());
  const byPackage = Map.groupBy(bundles, ({ packageName }) => packageName);
  return [...byPackage].map(
    ([name, impossible]) =>
      `no solution contains ${formatPackageName(name)} ${formatBundleVersions(impossible, text.bundlesOf(name), text, "or")}`,
  );
}
