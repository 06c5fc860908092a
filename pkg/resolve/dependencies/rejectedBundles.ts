import { isSubdomain } from "../../api/names.ts";
import type { Provider } from "../constraint/constraint.ts";
import { formatFault, toProvider } from "../constraint/parse.ts";
import type { RejectedSolverBundle } from "../solver/problem.ts";
import type { AvailableBundle } from "./bundleIndex.ts";
import { type CatalogIndex, getBundleKey, type ReadConstraints } from "./catalogIndex.ts";

/** Reports whether an extension can install the package. Catalogs may contain any name. */
export function canBeNamed(packageName: string): boolean {
  return isSubdomain(packageName);
}

/** Returns the bundles of a package that cannot be chosen, and why. */
export function listRejectedBundles(packageName: string, index: CatalogIndex): RejectedSolverBundle[] {
  const { catalogs, read } = index;
  return catalogs.flatMap(({ catalog, index: bundles }) =>
    bundles.bundlesOf(packageName).flatMap((bundle) => {
      const why = findRejection(bundle, toProvider(bundle), read) ?? findLimit({ packageName, catalog, name: bundle.name }, index);
      return why ? [{ ...toProvider(bundle), name: bundle.name, catalog, why }] : [];
    }),
  );
}

/** Returns why no extension can install a bundle of a catalog as a dependency; undefined if one can. */
export function findRejection(
  bundle: AvailableBundle,
  { version }: Pick<Provider, "version">,
  read: ReadConstraints,
): RejectedSolverBundle["why"] | undefined {
  if (!canBeNamed(bundle.package)) return { kind: "unnamed" };
  if (version === undefined) return { kind: "unversioned" };
  const [fault] = read(bundle).faults;
  return fault && { kind: "faulty", fault: formatFault(fault) };
}

/** Returns why an existing extension of the package does not install a bundle; undefined if it may, or if there is none. */
export function findLimit(
  { packageName, catalog, name }: Pick<RejectedSolverBundle, "packageName" | "catalog" | "name">,
  { limits }: Pick<CatalogIndex, "limits">,
): RejectedSolverBundle["why"] | undefined {
  const limit = limits?.get(packageName);
  return limit && !limit.allowed.has(getBundleKey(catalog, name)) ? { kind: "limited", extension: limit.extension } : undefined;
}
