import type { BundleConstraint } from "../../pkg/resolve/constraint/constraint.ts";
import type { SolverBundle, SolverProblem, Unit } from "../../pkg/resolve/solver/problem.ts";
import { parseRange } from "../../pkg/version/blang.ts";
import { parseVersionRelease } from "../../pkg/version/version.ts";
import { createRandom } from "../support/random.ts";

/** Parameters of a random catalog. */
export interface RandomCatalog {
  readonly packages: number;
  readonly versions: number;
  /** Maximum number of dependencies of a bundle. */
  readonly dependencies: number;
  /** Number of packages to install; the catalog offers the others. */
  readonly wanted: number;
  readonly seed: number;
}

/**
 * Returns a catalog with random dependencies, deterministic for each seed. One dependency in five is on an API, the others on a package in a range
 * that contains a third of the versions on average. Each package provides one API.
 */
export function generateProblem({ packages, versions, dependencies, wanted, seed }: RandomCatalog): SolverProblem {
  const random = createRandom(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const versionAt = (index: number): string => `${1 + Math.floor(index / 10)}.${index % 10}.0`;
  const dependency = (): BundleConstraint => {
    const on = below(packages);
    if (below(5) === 0) return { kind: "gvk", gvk: { group: "example.com", version: "v1", kind: `Kind${on}` } };
    const from = below(versions);
    const text = `>=${versionAt(from)} <=${versionAt(Math.min(versions - 1, from + below(versions)))}`;
    return { kind: "package", packageName: `package${on}`, range: { text, versions: parseRange(text) } };
  };
  const bundleAt = (index: number, version: number): SolverBundle => ({
    packageName: `package${index}`,
    name: `package${index}.v${versionAt(version)}`,
    version: parseVersionRelease(versionAt(version)),
    catalog: "random",
    priority: 0,
    channels: ["stable"],
    inDefaultChannel: true,
    deprecated: false,
    apis: [{ group: "example.com", version: "v1", kind: `Kind${index}` }],
    properties: [],
    constraints: Array.from({ length: below(dependencies + 1) }, dependency),
  });
  const units = Array.from({ length: packages }, (_, index): Unit => {
    const candidates = Array.from({ length: versions }, (__, version) => bundleAt(index, version)).reverse();
    return { kind: index < wanted ? "wanted" : "offered", packageName: `package${index}`, candidates };
  });
  return { units, served: [] };
}
