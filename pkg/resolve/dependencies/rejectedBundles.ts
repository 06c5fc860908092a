import { isSubdomain } from "../../api/names.ts";
import type { Provider } from "../constraint/constraint.ts";
import { formatFault, toProvider } from "../constraint/parse.ts";
import type { RejectedSolverBundle } from "../solver/problem.ts";
import type { AvailableBundle } from "./bundleIndex.ts";
import type { CatalogIndex, ReadConstraints } from "./catalogIndex.ts";

/** Reports whether an extension can install the package. Catalogs may contain any name. */
export function canBeNamed(packageName: string): boolean {
  return isSubdomain(packageName);
}

/** Returns the bundles of a package that cannot be chosen, and why. */
export function listRejectedBundles(packageName: string, { catalogs, read }: CatalogIndex): RejectedSolverBundle[] {
  return catalogs.flatMap(({ catalog, index }) =>
    index.bundlesOf(packageName).flatMap((bundle) => {
      const why = findRejection(bundle, toProvider(bundle), read);
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
