import type { BundleConstraint, CompoundConstraint, Gvk, LeafConstraint } from "../constraint/constraint.ts";
import { describeConstraint } from "../constraint/evaluate.ts";
import { gvkKey } from "../constraint/parse.ts";
import { leafKey } from "./offer.ts";
import { decidedUnits, type SolverBundle, type SolverProblem, type Unit } from "./problem.ts";

/** Whether a constraint is to hold or to fail. */
export type Side = "holds" | "fails";

/** What has to be for a compound to be on a side: each of its members, or one at least, is on `side`. */
export interface Members {
  readonly quantity: "each" | "one";
  readonly side: Side;
}

const MEMBERS: Readonly<Record<CompoundConstraint["kind"], Readonly<Record<Side, Members>>>> = {
  all: { holds: { quantity: "each", side: "holds" }, fails: { quantity: "one", side: "fails" } },
  any: { holds: { quantity: "one", side: "holds" }, fails: { quantity: "each", side: "fails" } },
  not: { holds: { quantity: "each", side: "fails" }, fails: { quantity: "one", side: "holds" } },
};

/** What a compound asks of its members. */
export function membersFor({ kind }: CompoundConstraint, side: Side): Members {
  return MEMBERS[kind][side];
}

/** Whether a constraint joins others, with all, any or none of them. */
export function isCompound(constraint: BundleConstraint): constraint is CompoundConstraint {
  return "constraints" in constraint;
}

/** Whether the constraint is on `side`, where `isMet` tells it of leaves. */
export function isOnSide(constraint: BundleConstraint, side: Side, isMet: (leaf: LeafConstraint) => boolean): boolean {
  if (!isCompound(constraint)) return isMet(constraint) === (side === "holds");
  const members = membersFor(constraint, side);
  const isMemberOn = (member: BundleConstraint): boolean => isOnSide(member, members.side, isMet);
  return members.quantity === "each" ? constraint.constraints.every(isMemberOn) : constraint.constraints.some(isMemberOn);
}

/** A constraint that has to hold, taken out of the `all` around it. */
export interface Requirement {
  readonly constraint: BundleConstraint;
  /** What the author says of the constraints around it. */
  readonly above: readonly string[];
}

/** Something that makes a problem what it is, and that an explanation may name. */
export type Fact =
  /** A wanted or installed package has one of its candidates. */
  | { readonly kind: "unit"; readonly unit: Unit }
  /** The bundle requires this. */
  | { readonly kind: "requirement"; readonly bundle: SolverBundle; readonly requirement: Requirement }
  /** Nothing meets the leaf but what the problem names. */
  | { readonly kind: "offer"; readonly leaf: LeafConstraint }
  /** Somebody who is none of the units owns the API. */
  | { readonly kind: "owned"; readonly gvk: Gvk }
  /** Two packages do not provide the same API. */
  | { readonly kind: "exclusive"; readonly gvk: Gvk };

/** A constraint as its parts that each have to hold. */
export function* splitRequirements(constraint: BundleConstraint, above: readonly string[] = []): Generator<Requirement> {
  if (constraint.kind !== "all") yield { constraint, above };
  else for (const member of constraint.constraints) yield* splitRequirements(member, withMessage(above, constraint));
}

/** `messages` and that of the constraint, none twice. */
function withMessage(messages: readonly string[], { failureMessage }: BundleConstraint): readonly string[] {
  return failureMessage === undefined || messages.includes(failureMessage) ? messages : [...messages, failureMessage];
}

/** A leaf of a constraint, whether it is to hold or to fail there, and what the author says on the way to it. */
export interface PlacedLeaf {
  readonly leaf: LeafConstraint;
  readonly side: Side;
  readonly messages: readonly string[];
}

/** The leaves of what is required, in the author's order. */
export function* leavesOf({ constraint, above }: Requirement, side: Side = "holds"): Generator<PlacedLeaf> {
  const messages = withMessage(above, constraint);
  if (!isCompound(constraint)) yield { leaf: constraint, side, messages };
  else
    for (const member of constraint.constraints)
      yield* leavesOf({ constraint: member, above: messages }, membersFor(constraint, side).side);
}

/** Facts with the same key make one sentence: bundles of a package that require the same, what there is of a package or an API. */
export function sentenceKey(fact: Fact): string {
  if (fact.kind === "unit") return unitKey(fact.unit.packageName);
  if (fact.kind === "offer") return offerKey(fact.leaf);
  if (fact.kind !== "requirement") return `${fact.kind} ${gvkKey(fact.gvk)}`;
  const { constraint, above } = fact.requirement;
  return `requirement ${JSON.stringify([fact.bundle.packageName, describeConstraint(constraint), withMessage(above, constraint)])}`;
}

/** The key of the fact that a wanted or installed package has to be there. */
export function unitKey(packageName: string): string {
  return `unit ${packageName}`;
}

/** The key of the fact that there is nothing else that meets the leaf. */
export function offerKey(leaf: LeafConstraint): string {
  return leaf.kind === "package" ? packageOfferKey(leaf.packageName) : `offer of ${leafKey(leaf)}`;
}

/** The key of the fact that there are no other bundles of a package. */
export function packageOfferKey(packageName: string): string {
  return `package offered ${packageName}`;
}

/** All facts about wanted and installed units and about `bundles`, in this order. */
export function* factsAbout({ units }: SolverProblem, bundles: readonly SolverBundle[]): Generator<Fact> {
  for (const unit of decidedUnits(units)) yield { kind: "unit", unit };
  for (const bundle of bundles) {
    for (const constraint of bundle.constraints)
      for (const requirement of splitRequirements(constraint)) {
        yield { kind: "requirement", bundle, requirement };
        for (const { leaf, side } of leavesOf(requirement)) if (side === "holds") yield { kind: "offer", leaf };
      }
    for (const gvk of bundle.apis) {
      yield { kind: "owned", gvk };
      yield { kind: "exclusive", gvk };
    }
  }
}
