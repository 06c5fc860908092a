import { type BundleConstraint, type Gvk, type LeafConstraint } from "../../pkg/resolve/constraint/constraint.ts";
import { type Fact } from "../../pkg/resolve/solver/conflictReasons.ts";
import { comparePreference, type SolverBundle, type SolverProblem } from "../../pkg/resolve/solver/problem.ts";
import { compareText } from "../../pkg/text/compare.ts";

// An independent implementation of the solver's contract that tries all sets of bundles, without clauses.

type Bundles = ReadonlySet<SolverBundle>;

const isSame = (a: Gvk, b: Gvk): boolean => a.group === b.group && a.version === b.version && a.kind === b.kind;

/** Whether a constraint is true for a set of bundles and the APIs that the cluster serves. */
function isTrue(constraint: BundleConstraint, bundles: Bundles, served: SolverProblem["served"]): boolean {
  const all = [...bundles];
  if (constraint.kind === "package")
    return all.some(
      ({ packageName, version }) =>
        packageName === constraint.packageName && version !== undefined && constraint.range.versions.contains(version.version),
    );
  if (constraint.kind === "gvk")
    return [...served.map(({ gvk }) => gvk), ...all.flatMap(({ apis }) => apis)].some((gvk) => isSame(gvk, constraint.gvk));
  if (constraint.kind === "cel") return all.some(({ properties }) => constraint.holds(properties));
  const isMemberTrue = (member: BundleConstraint): boolean => isTrue(member, bundles, served);
  if (constraint.kind === "all") return constraint.constraints.every(isMemberTrue);
  return constraint.constraints.some(isMemberTrue) === (constraint.kind === "any");
}

/** Whether every constraint of every bundle is true, and every API has one provider. */
export function isConsistent(bundles: Bundles, served: SolverProblem["served"]): boolean {
  const all = [...bundles];
  return all.every(
    (bundle) =>
      bundle.constraints.every((constraint) => isTrue(constraint, bundles, served)) &&
      bundle.apis.every(
        (gvk) =>
          !served.some((api) => api.owner !== undefined && isSame(api.gvk, gvk)) &&
          !all.some((other) => other !== bundle && other.apis.some((api) => isSame(api, gvk))),
      ),
  );
}

/** Returns every set of bundles that is a solution. */
export function listSolutions({ units, served }: SolverProblem): Bundles[] {
  let sets: SolverBundle[][] = [[]];
  for (const { kind, candidates } of units)
    sets = sets.flatMap((set) => [...(kind === "offered" ? [set] : []), ...candidates.map((candidate) => [...set, candidate])]);
  return sets.map((set) => new Set(set)).filter((set) => isConsistent(set, served));
}

/** Returns the preferred solution, by filtering all solutions. */
export function findBestSolution(problem: SolverProblem): Bundles | undefined {
  const solutions = listSolutions(problem);
  if (solutions.length === 0) return undefined;
  const chosen = greedy(problem, solutions);
  return smallest(problem, solutions, chosen);
}

function greedy({ units, served }: SolverProblem, solutions: Bundles[]): SolverBundle[] {
  let left = solutions;
  const chosen: SolverBundle[] = [];
  const isMet = (constraint: BundleConstraint): boolean => isTrue(constraint, new Set(chosen), served);
  const narrow = (keep: (solution: Bundles) => boolean): boolean => {
    const kept = left.filter(keep);
    if (kept.length > 0) left = kept;
    return kept.length > 0;
  };
  const choose = (candidates: readonly SolverBundle[]): void => {
    const first = candidates.find((candidate) => narrow((solution) => solution.has(candidate)));
    if (first && !chosen.includes(first)) chosen.push(first);
  };
  const fulfil = (constraint: BundleConstraint, expected: boolean, catalog: string | undefined): void => {
    const { kind } = constraint;
    if (kind === "all" || kind === "any" || kind === "not") {
      const member = kind === "not" ? !expected : expected;
      if ((kind !== "any") === expected) for (const one of constraint.constraints) fulfil(one, member, catalog);
      else {
        const order = [...constraint.constraints].sort((a, b) => Number(isMet(b) === member) - Number(isMet(a) === member));
        const first = order.find((one) => narrow((solution) => isTrue(one, solution, served) === member));
        if (first) fulfil(first, member, catalog);
      }
    } else if (expected && !isMet(constraint)) {
      const options = units.flatMap(({ candidates }) => candidates).filter((bundle) => isTrue(constraint, new Set([bundle]), []));
      choose(options.sort((a, b) => comparePreference(a, b, catalog)));
    }
  };
  const compareNames = (a: { packageName: string }, b: { packageName: string }): number => compareText(a.packageName, b.packageName);
  for (const unit of units) if (unit.kind === "wanted") choose(unit.candidates);
  for (const unit of units.toSorted(compareNames)) if (unit.kind === "installed") choose(unit.candidates);
  for (const bundle of chosen) for (const constraint of bundle.constraints) fulfil(constraint, true, bundle.catalog);
  return chosen;
}

function smallest({ units }: SolverProblem, solutions: readonly Bundles[], chosen: readonly SolverBundle[]): Bundles {
  const needed = new Set(chosen);
  for (const bundle of chosen.toReversed()) {
    if (units.find(({ packageName }) => packageName === bundle.packageName)?.kind !== "offered") continue;
    const without = new Set([...needed].filter((other) => other !== bundle));
    if (solutions.some((solution) => [...solution].every((one) => without.has(one)))) needed.delete(bundle);
  }
  return needed;
}

function isSameOffer(a: LeafConstraint, b: LeafConstraint): boolean {
  if (a.kind === "package" && b.kind === "package") return a.packageName === b.packageName;
  if (a.kind === "gvk" && b.kind === "gvk") return isSame(a.gvk, b.gvk);
  return a.kind === "cel" && b.kind === "cel" && a.rule === b.rule;
}

/**
 * Whether some set of bundles is consistent with these facts, if all facts about others are unknown: a package can be absent, a bundle can have no
 * requirements, and a list that is not stated to be complete can have more members. Tries all sets.
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

  function isOn(constraint: BundleConstraint, expected: boolean, set: readonly SolverBundle[]): boolean {
    if ("constraints" in constraint) {
      const member = constraint.kind === "not" ? !expected : expected;
      const each = constraint.kind === "any" ? !expected : expected;
      return constraint.constraints[each ? "every" : "some"]((one) => isOn(one, member, set));
    }
    const isKnown = facts.some((fact) => fact.kind === "offer" && isSameOffer(fact.leaf, constraint));
    return isTrue(constraint, new Set(set), served) === expected || (expected && !isKnown);
  }
}
