import type { BundleConstraint } from "./constraint.ts";

/**
 * Returns the largest part of a constraint that is met: the constraint itself, or the members of an `all` or `not` that are met on their own;
 * undefined if there are none. The part must stay met even if the rest is tolerated.
 * @param isMet reports whether a constraint is met
 */
export function findMetPart(constraint: BundleConstraint, isMet: (constraint: BundleConstraint) => boolean): BundleConstraint | undefined {
  if (isMet(constraint)) return constraint;
  if (constraint.kind === "all") {
    const met = constraint.constraints.flatMap((member) => findMetPart(member, isMet) ?? []);
    return met.length > 0 ? { ...constraint, constraints: met } : undefined;
  }
  if (constraint.kind !== "not") return undefined;
  const unmet = listExcluded(constraint.constraints).filter((member) => !isMet(member));
  return unmet.length > 0 ? { ...constraint, constraints: unmet } : undefined;
}

/** Returns the members of a `not`, with the members of an `any` in place of the `any`: each of them must be false. */
function listExcluded(members: readonly BundleConstraint[]): readonly BundleConstraint[] {
  return members.flatMap((member) => (member.kind === "any" ? listExcluded(member.constraints) : [member]));
}
