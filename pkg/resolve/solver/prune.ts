import { Encoding } from "./encode.ts";
import { Offer } from "./offer.ts";
import { decidedUnits } from "./preference.ts";
import type { Problem, SolverBundle, Unit } from "./problem.ts";
import { Search } from "./search.ts";
import { type Literal, negated } from "./trail.ts";

/**
 * Leaves out offered bundles that a solution does without, those first that were chosen last. Nothing more can be left out of what is returned: what
 * was chosen for one constraint may be of no use once another constraint brought in something that meets both, and bundles that only need each other
 * go together.
 * @param chosen a solution, in the order in which it was chosen. @throws OutOfSteps
 */
export function pruned({ units, served }: Problem, chosen: readonly SolverBundle[], maxSteps: number): SolverBundle[] {
  const byPackage = new Map(chosen.map((bundle) => [bundle.packageName, bundle]));
  const kinds = new Map(units.map(({ packageName, kind }) => [packageName, kind]));
  const isOffered = ({ packageName }: SolverBundle): boolean => kinds.get(packageName) === "offered";
  if (!chosen.some(isOffered)) return [...chosen];
  const only: Unit[] = units.flatMap((unit) => {
    const bundle = byPackage.get(unit.packageName);
    return bundle ? [{ ...unit, candidates: [bundle] }] : [];
  });
  const problem = { units: [...decidedUnits(only), ...only.filter(({ kind }) => kind === "offered")], served };
  const search = new Search(maxSteps);
  const encoding = new Encoding(new Offer(problem, (steps) => search.spend(steps)), search);
  encoding.requireUnits(problem.units);
  const without: Literal[] = [];
  const needed = new Set<SolverBundle>();
  for (const bundle of chosen.toReversed()) {
    const left = negated(encoding.literalOf(bundle));
    if (!isOffered(bundle) || search.conflictOf([...without, left])) needed.add(bundle);
    else without.push(left);
  }
  return chosen.filter((bundle) => needed.has(bundle));
}
