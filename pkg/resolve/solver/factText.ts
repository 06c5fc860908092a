import { goQuote } from "../../golang/quote.ts";
import { compareText } from "../../text/compare.ts";
import { truncate } from "../../text/truncate.ts";
import type { BundleConstraint, LeafConstraint } from "../constraint/constraint.ts";
import { describeConstraint, formatGvk } from "../constraint/evaluate.ts";
import {
  formatBundles,
  formatBundleVersion,
  formatBundleVersions,
  formatConjunction,
  formatPackageName,
  isOneInText,
} from "./bundleFormat.ts";
import type { FactGroup } from "./conflictingFacts.ts";
import { type Fact, getOfferKey, listLeaves, type Requirement } from "./conflictReasons.ts";
import type { Offer } from "./offer.ts";
import type { BundleReference, ExplanationSentence, SolverBundle, Unit } from "./problem.ts";

/** Maximum length of an author's message, and number of reported messages for one constraint. */
const MAX_MESSAGE = 160;
const MAX_MESSAGES = 3;

/** Writes the facts of an explanation as sentences. */
export class FactText {
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
  #bundlesOf(fact: Fact): readonly SolverBundle[] {
    if (fact.kind === "unit") return fact.unit.candidates;
    if (fact.kind === "requirement") return [fact.bundle];
    if (fact.kind !== "offer") return this.#concerned({ kind: "gvk", gvk: fact.gvk });
    return fact.leaf.kind === "package" ? this.#candidatesOf(fact.leaf.packageName) : this.#offer.meeting(fact.leaf);
  }

  #candidatesOf(packageName: string): readonly SolverBundle[] {
    return this.#offer.units.get(packageName)?.candidates ?? [];
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
