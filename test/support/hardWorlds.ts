import type { BundleConstraint } from "../../pkg/resolve/constraint/constraint.ts";
import type { SolverProblem } from "../../pkg/resolve/solver/problem.ts";
import type { CatalogWorld, DependencyWorld } from "./dependencyFixture.ts";
import { ROOT } from "./dependencyWorlds.ts";

/** Returns a constraint as the value of an olm.constraint. */
function toStated(constraint: BundleConstraint): object {
  if (constraint.kind === "package") return { package: { packageName: constraint.packageName, versionRange: constraint.range.text } };
  if (constraint.kind === "gvk") return { gvk: constraint.gvk };
  if (constraint.kind === "cel") return { cel: { rule: constraint.rule } };
  return { [constraint.kind]: { constraints: constraint.constraints.map(toStated) } };
}

/** A bundle has at most 512 constraints, and members count. */
const CONSTRAINTS_PER_BUNDLE = 100;

/**
 * Returns a world with the packages of a problem in one catalog. Its APIs have group example.com and version v1. A bundle with many constraints requires
 * packages that have them instead. If the problem does not have package "root", that package requires all wanted packages.
 */
export function toWorld({ units }: SolverProblem): DependencyWorld {
  const packages: CatalogWorld["packages"] = {};
  const split = (name: string, constraints: readonly BundleConstraint[]): (string | object)[] => {
    const stated = constraints.map(toStated);
    if (stated.length <= CONSTRAINTS_PER_BUNDLE) return stated;
    const parts = Array.from({ length: Math.ceil(stated.length / CONSTRAINTS_PER_BUNDLE) }, (_, index) => `${name}-part${index}`);
    for (const [index, part] of parts.entries()) {
      const requires = stated.slice(index * CONSTRAINTS_PER_BUNDLE, (index + 1) * CONSTRAINTS_PER_BUNDLE);
      packages[part] = { bundles: [{ name: `${part}.v1.0.0`, requires }] };
    }
    return parts.map((part) => `${part} >=1.0.0`);
  };
  for (const { packageName, candidates } of units)
    packages[packageName] = {
      bundles: candidates.map(({ name, apis, constraints }) => ({
        name,
        provides: apis.map(({ kind }) => kind),
        requires: split(packageName, constraints),
      })),
    };
  const wanted = units.filter(({ kind }) => kind === "wanted").map(({ packageName }) => packageName);
  packages[ROOT] ??= { bundles: [{ name: `${ROOT}.v1.0.0`, requires: wanted.map((name) => `${name} >=0.0.0`) }] };
  return { catalogs: { hard: { packages } } };
}
