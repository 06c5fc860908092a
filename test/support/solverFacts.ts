import type { BundleConstraint, Gvk, LeafConstraint } from "../../pkg/resolve/constraint/constraint.ts";
import type { Fact } from "../../pkg/resolve/solver/conflictReasons.ts";
import type { SolverBundle, SolverProblem } from "../../pkg/resolve/solver/problem.ts";
import { isTrue } from "./solverReference.ts";

const isSame = (a: Gvk, b: Gvk): boolean => a.group === b.group && a.version === b.version && a.kind === b.kind;

function isSameOffer(a: LeafConstraint, b: LeafConstraint): boolean {
  if (a.kind === "package" && b.kind === "package") return a.packageName === b.packageName;
  if (a.kind === "gvk" && b.kind === "gvk") return isSame(a.gvk, b.gvk);
  return a.kind === "cel" && b.kind === "cel" && a.rule === b.rule;
}

/**
 * Whether some set of bundles is in accord with these facts, all others counting as unknown: a package need not be there, a bundle need not require
 * anything, and of what is not said to be all there is, something else may be found. Tries all sets.
 */
export function canAllBe(facts: readonly Fact[], { units, served }: SolverProblem): boolean {
  let sets: SolverBundle[][] = [[]];
  for (const { candidates } of units) sets = sets.flatMap((set) => [set, ...candidates.map((candidate) => [...set, candidate])]);
  return sets.some((set) => facts.every((fact) => isInAccord(fact, set)));

  function isInAccord(fact: Fact, set: readonly SolverBundle[]): boolean {
    if (fact.kind === "offer") return true;
    if (fact.kind === "unit") return fact.unit.candidates.some((candidate) => set.includes(candidate));
    if (fact.kind === "requirement") return !set.includes(fact.bundle) || isOn(fact.requirement.constraint, true, set);
    const providers = set.filter(({ apis }) => apis.some((gvk) => isSame(gvk, fact.gvk)));
    return providers.length <= (fact.kind === "owned" ? 0 : 1);
  }

  function isOn(constraint: BundleConstraint, wanted: boolean, set: readonly SolverBundle[]): boolean {
    if ("constraints" in constraint) {
      const member = constraint.kind === "not" ? !wanted : wanted;
      const each = constraint.kind === "any" ? !wanted : wanted;
      return constraint.constraints[each ? "every" : "some"]((one) => isOn(one, member, set));
    }
    const isKnown = facts.some((fact) => fact.kind === "offer" && isSameOffer(fact.leaf, constraint));
    return isTrue(constraint, new Set(set), served) === wanted || (wanted && !isKnown);
  }
}
