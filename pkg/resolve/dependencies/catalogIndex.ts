import type { PackageContent, Property } from "../../fbc/types.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { DeclaredConstraints } from "../constraint/parse.ts";
import type { BundleIndex } from "./bundleIndex.ts";

/** A catalog to search for missing dependencies. */
export interface IndexedCatalog {
  readonly catalog: string;
  readonly priority: number;
  readonly index: BundleIndex;
  /** Labels of the catalog, which selectors match; if absent, every selector matches. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Parses the constraints of a bundle. */
export type ReadConstraints = (bundle: { readonly name: string; readonly properties: readonly Property[] }) => DeclaredConstraints;

/** Returns a package of a catalog without its bundles; undefined if the catalog does not contain the package. */
type FindPackage = (catalog: string, packageName: string) => PackageContent | undefined;

/** The bundles of a package that an existing extension may install. */
export interface PackageLimit {
  /** Name of the ClusterExtension. */
  readonly extension: string;
  /** Keys of `getBundleKey`. */
  readonly allowed: ReadonlySet<string>;
}

/** Returns a key for a bundle of a package in a catalog. */
export function getBundleKey(catalog: string, bundle: string): string {
  return JSON.stringify([catalog, bundle]);
}

/** Inputs of the policies of an extension that exclude bundles. */
export interface PolicyInputs {
  /** For clusterVersionPolicy. */
  readonly cluster?: ClusterVersion;
  /** UTC day, YYYY-MM-DD, for supportPolicy. If absent, the policy does not apply. */
  readonly today?: string;
}

/** The catalogs and how to read them. */
export interface CatalogIndex {
  readonly catalogs: readonly IndexedCatalog[];
  readonly packageOf: FindPackage;
  readonly read: ReadConstraints;
  /** By package. Any bundle of other packages may be installed. */
  readonly limits?: ReadonlyMap<string, PackageLimit>;
  readonly policyInputs?: PolicyInputs;
}
