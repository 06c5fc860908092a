import type { BundleConstraint, CompoundConstraint, Gvk, LeafConstraint } from "../constraint/constraint.ts";
import { getGvkKey } from "../constraint/parse.ts";
import { getLeafKey, type Offer } from "./offer.ts";
import { listApis, type SolverBundle, type SolverProblem, sortDecidedUnits, type Unit } from "./problem.ts";

/** Whether a constraint must be true or false. */
export type Side = "holds" | "fails";

/** The condition for a compound to be true or false: all members, or at least one member, must be on `side`. */
export interface MemberCondition {
  readonly quantity: "each" | "one";
  readonly side: Side;
}

const MEMBERS: Readonly<Record<CompoundConstraint["kind"], Readonly<Record<Side, MemberCondition>>>> = {
  all: { holds: { quantity: "each", side: "holds" }, fails: { quantity: "one", side: "fails" } },
  any: { holds: { quantity: "one", side: "holds" }, fails: { quantity: "each", side: "fails" } },
  not: { holds: { quantity: "each", side: "fails" }, fails: { quantity: "one", side: "holds" } },
};

/** Returns the condition on a compound's members. */
export function getMemberCondition({ kind }: CompoundConstraint, side: Side): MemberCondition {
  return MEMBERS[kind][side];
}

/** Reports whether a constraint is a compound. */
export function isCompound(constraint: BundleConstraint): constraint is CompoundConstraint {
  return "constraints" in constraint;
}

/** Reports whether the constraint is on `side`, given `isMet` for leaves. */
export function isOnSide(constraint: BundleConstraint, side: Side, isMet: (leaf: LeafConstraint) => boolean): boolean {
  if (!isCompound(constraint)) return isMet(constraint) === (side === "holds");
  const members = getMemberCondition(constraint, side);
  const isMemberOn = (member: BundleConstraint): boolean => isOnSide(member, members.side, isMet);
  return members.quantity === "each" ? constraint.constraints.every(isMemberOn) : constraint.constraints.some(isMemberOn);
}

/** A constraint that must be true. Members of an `all` are separate requirements. */
export interface Requirement {
  readonly constraint: BundleConstraint;
  /** The author's messages of the constraints that contain it. */
  readonly above: readonly string[];
}

/** A reason why there is no solution, for an explanation. */
export type Fact =
  /** The wanted or installed package must have one of its candidates. */
  | { readonly kind: "unit"; readonly unit: Unit }
  /** The bundle has this requirement. */
  | { readonly kind: "requirement"; readonly bundle: SolverBundle; readonly requirement: Requirement }
  /** No bundle outside the problem meets the leaf. */
  | { readonly kind: "offer"; readonly leaf: LeafConstraint }
  /** A bundle outside the problem owns the API. */
  | { readonly kind: "owned"; readonly gvk: Gvk }
  /** At most one package may provide the API. */
  | { readonly kind: "exclusive"; readonly gvk: Gvk };

/** Splits a constraint into the parts that must all be true. */
export function* splitRequirements(constraint: BundleConstraint, above: readonly string[] = []): Generator<Requirement> {
  if (constraint.kind !== "all") yield { constraint, above };
  else for (const member of constraint.constraints) yield* splitRequirements(member, addMessage(above, constraint));
}

/** Adds the constraint's message to `messages`, without duplicates. */
function addMessage(messages: readonly string[], { failureMessage }: BundleConstraint): readonly string[] {
  return failureMessage === undefined || messages.includes(failureMessage) ? messages : [...messages, failureMessage];
}

/** A leaf of a constraint, whether it must be true or false there, and the author's messages on the path to it. */
export interface PlacedLeaf {
  readonly leaf: LeafConstraint;
  readonly side: Side;
  readonly messages: readonly string[];
}

/** Yields the leaves of a requirement, in the author's order. */
export function* listLeaves({ constraint, above }: Requirement, side: Side = "holds"): Generator<PlacedLeaf> {
  const messages = addMessage(above, constraint);
  if (!isCompound(constraint)) yield { leaf: constraint, side, messages };
  else
    for (const member of constraint.constraints)
      yield* listLeaves({ constraint: member, above: messages }, getMemberCondition(constraint, side).side);
}

/** Returns the key of a fact. Facts with the same key are reported in one sentence, such as bundles of a package with the same requirement. */
export function getSentenceKey(fact: Fact): string {
  if (fact.kind === "unit") return getPackageKey(fact.unit.packageName);
  if (fact.kind === "offer") return getOfferKey(fact.leaf);
  if (fact.kind !== "requirement") return `${fact.kind} ${getGvkKey(fact.gvk)}`;
  const { constraint, above } = fact.requirement;
  return `requirement ${JSON.stringify([fact.bundle.packageName, getConstraintKey(constraint), addMessage(above, constraint)])}`;
}

/** Returns a key for a constraint. Constraints with the same key have the same meaning, and the same description without messages. */
function getConstraintKey(constraint: BundleConstraint): string {
  return isCompound(constraint)
    ? `${constraint.kind} (${constraint.constraints.map(getConstraintKey).join(", ")})`
    : getLeafKey(constraint);
}

/** Returns the key of the facts that a wanted or installed package must be present and that a package has no bundles outside the problem. */
export function getPackageKey(packageName: string): string {
  return `package ${packageName}`;
}

/** Returns the key of the fact that no bundle outside the problem meets the leaf. */
export function getOfferKey(leaf: LeafConstraint): string {
  return leaf.kind === "package" ? getPackageKey(leaf.packageName) : `offer of ${getLeafKey(leaf)}`;
}

/** Yields all facts about wanted and installed units, then about `bundles`. @param offer offer of the problem */
export function* listFacts({ units }: SolverProblem, bundles: readonly SolverBundle[], offer: Offer): Generator<Fact> {
  for (const unit of sortDecidedUnits(units)) yield { kind: "unit", unit };
  for (const bundle of bundles) {
    for (const constraint of bundle.constraints)
      for (const requirement of splitRequirements(constraint)) {
        yield { kind: "requirement", bundle, requirement };
        for (const { leaf, side } of listLeaves(requirement))
          if (side === "holds" && !(leaf.kind === "gvk" && offer.servedAs(leaf.gvk))) yield { kind: "offer", leaf };
      }
    for (const gvk of listApis(bundle)) {
      if (offer.servedAs(gvk)?.owner !== undefined) yield { kind: "owned", gvk };
      if (new Set(offer.meeting({ kind: "gvk", gvk }).map(({ packageName }) => packageName)).size > 1) yield { kind: "exclusive", gvk };
    }
  }
}
