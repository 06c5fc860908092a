import type { BundleConstraint, CompoundConstraint, LeafConstraint } from "../constraint/constraint.ts";

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
