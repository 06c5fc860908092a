import { compareText } from "../../text/compare.ts";
import { goQuote } from "../../golang/quote.ts";
import { shortened } from "../../fbc/boundedTexts.ts";
import type { LeafConstraint } from "../constraint/constraint.ts";
import { describe, shownGvk } from "../constraint/describe.ts";
import { bundlesText, enumerated, isOneInText, shownName, versionsText, versionText } from "./bundlesText.ts";
import type { FactGroup } from "./core.ts";
import { type Fact, leavesOf, offerKey, type Requirement } from "./facts.ts";
import type { Offer } from "./offer.ts";
import type { SolverBundle, Unit } from "./problem.ts";

/** Longest message of an author, and how many of one constraint are told. */
const MAX_MESSAGE = 160;
const MAX_MESSAGES = 3;

/** Writes the facts of an explanation as sentences. */
export class FactText {
  readonly #offer: Offer;
  readonly #groups: ReadonlyMap<string, FactGroup>;
  /** The packages that the explanation is about. */
  readonly #packages: ReadonlySet<string>;

  /** @param groups the facts of the whole explanation, by the key of their sentence. */
  constructor(offer: Offer, groups: ReadonlyMap<string, FactGroup>) {
    this.#offer = offer;
    this.#groups = groups;
    this.#packages = new Set([...groups.values()].flat().flatMap((fact) => packagesIn(fact, offer)));
  }

  /** @param facts a group of one kind. */
  of(facts: FactGroup): string {
    const [first] = facts;
    if (first === undefined) return "";
    if (first.kind === "unit") return this.unit(first.unit);
    if (first.kind === "requirement") return this.requirement(facts);
    if (first.kind === "offer") return this.#available(first.leaf);
    const providers = this.#bundles(this.#concerned({ kind: "gvk", gvk: first.gvk }));
    if (first.kind === "exclusive") return `${providers} provide API ${shownGvk(first.gvk)}, of which there is one provider at most`;
    const owner = this.#offer.servedAs(first.gvk)?.owner ?? "";
    return `API ${shownGvk(first.gvk)} of ${providers} belongs to ${goQuote(shortened(owner, MAX_MESSAGE))} already`;
  }

  /** Such as `a is wanted as 1.0.0 to 1.3.0`, `b 1.9.0 is installed`. */
  unit({ kind, packageName, candidates }: Unit): string {
    const name = shownName(packageName);
    const [current, ...others] = candidates;
    if (current === undefined) return `${name} is ${kind}, and no bundle of it can be chosen`;
    if (kind === "wanted")
      return others.length === 0
        ? `${name} ${versionText(current)} is wanted`
        : `${name} is wanted as ${versionsText(candidates, candidates, "or")}`;
    const installed = `${name} ${versionText(current)} is installed`;
    return others.length === 0 ? installed : `${installed} and can become ${versionsText(others, candidates, "or")} only`;
  }

  /** Such as `a 1.0.0 to 1.3.0 require package "b" >=2.0.0 ("blue is needed")`. */
  requirement(facts: FactGroup): string {
    const bundles = facts.flatMap((fact) => (fact.kind === "requirement" ? [fact.bundle] : []));
    const requirement = facts.find((fact) => fact.kind === "requirement")?.requirement;
    const unit = this.#offer.units.get(bundles[0]?.packageName ?? "");
    if (!requirement || !unit) return "";
    const isInstalled = unit.kind === "installed" && bundles.length === 1 && bundles[0] === unit.candidates[0];
    const subject = `${this.#bundles(bundles)}${isInstalled ? " (installed)" : ""}`;
    return `${subject} ${isOneInText(bundles) ? "requires" : "require"} ${describe(requirement.constraint)}${this.#messages(requirement)}${this.#excluded(requirement)}`;
  }

  /** Says that nothing at all meets the leaf; undefined where something does, though it cannot be chosen, or bundles of the package are there. */
  lack(leaf: LeafConstraint): string | undefined {
    if (leaf.kind === "package") {
      const isThere = (this.#offer.units.get(leaf.packageName)?.candidates.length ?? 0) > 0;
      return isThere ? undefined : `which no selected catalog has`;
    }
    if (this.#offer.meeting(leaf).length > 0) return undefined;
    return leaf.kind === "gvk" ? "which no bundle of the selected catalogs provides" : "and there is none";
  }

  #bundles(bundles: readonly SolverBundle[]): string {
    return bundlesText(bundles, (name) => this.#offer.units.get(name)?.candidates ?? []);
  }

  /** What there is that meets the leaf; of a package, all there is of it. */
  #available(leaf: LeafConstraint): string {
    if (leaf.kind === "package") return this.#packageText(leaf.packageName);
    const meeting = this.#bundles(this.#offer.meeting(leaf));
    if (leaf.kind === "cel") return `${meeting === "" ? "no bundle" : `only ${meeting}`} is ${describe(leaf)}`;
    return meeting === ""
      ? `no bundle of the selected catalogs provides ${describe(leaf)}`
      : `${describe(leaf)} is provided by ${meeting} only`;
  }

  #packageText(packageName: string): string {
    const unit = this.#offer.units.get(packageName);
    const name = shownName(packageName);
    if (!unit || unit.candidates.length === 0) return `no selected catalog has package ${goQuote(shortened(packageName, MAX_MESSAGE))}`;
    if (unit.kind !== "offered") return this.unit(unit);
    const byCatalog = Map.groupBy(unit.candidates, ({ catalog }) => catalog ?? "");
    const parts = [...byCatalog.keys()].sort(compareText).map((catalog) => {
      const versions = `${name} ${versionsText(byCatalog.get(catalog) ?? [], unit.candidates)} only`;
      return catalog === "" ? `there is ${versions}` : `catalog ${goQuote(shortened(catalog, MAX_MESSAGE))} has ${versions}`;
    });
    return enumerated(parts);
  }

  /** What the author says, from the constraint as a whole to the parts that the explanation is about. */
  #messages(requirement: Requirement): string {
    const messages = new Set<string>();
    for (const { leaf, side, messages: said } of leavesOf(requirement))
      if (side === "fails" || this.#groups.has(offerKey(leaf))) for (const message of said) messages.add(message);
    const told = [...messages].slice(0, MAX_MESSAGES).map((message) => goQuote(shortened(message, MAX_MESSAGE)));
    return told.length === 0 ? "" : ` (${told.join("; ")})`;
  }

  /** What the constraint excludes, and yet is there. */
  #excluded(requirement: Requirement): string {
    const parts: string[] = [];
    for (const { leaf, side } of leavesOf(requirement)) {
      if (side === "holds") continue;
      if (leaf.kind === "gvk" && this.#offer.servedAs(leaf.gvk)) parts.push(`the cluster serves ${describe(leaf)}`);
      else parts.push(...this.#presence(leaf));
    }
    return parts.length === 0 ? "" : `, while ${enumerated([...new Set(parts)])}`;
  }

  /** The bundles of the explanation's packages that meet the leaf. */
  #concerned(leaf: LeafConstraint): SolverBundle[] {
    return this.#offer.meeting(leaf).filter(({ packageName }) => this.#packages.has(packageName));
  }

  /** Such as `b 1.0.0 provides API g/v1 K`; nothing where no bundle meets the leaf. */
  #presence(leaf: LeafConstraint): string[] {
    const concerned = this.#concerned(leaf);
    if (concerned.length === 0) return [];
    const isOne = isOneInText(concerned);
    const text = this.#bundles(concerned);
    if (leaf.kind === "package") return [`${isOne ? "there is" : "there are"} ${text}`];
    return [`${text} ${leaf.kind === "gvk" ? (isOne ? "provides" : "provide") : isOne ? "is" : "are"} ${describe(leaf)}`];
  }
}

/** The packages that a fact is about. */
function packagesIn(fact: Fact, offer: Offer): string[] {
  if (fact.kind === "unit") return [fact.unit.packageName];
  if (fact.kind === "requirement") return [fact.bundle.packageName];
  return fact.kind === "offer" ? offer.meeting(fact.leaf).map(({ packageName }) => packageName) : [];
}

/** Whether the fact is that of a requirement that is nothing but a leaf. */
export function leafRequired(fact: Fact | undefined): LeafConstraint | undefined {
  if (fact?.kind !== "requirement" || "constraints" in fact.requirement.constraint) return undefined;
  return fact.requirement.constraint;
}
