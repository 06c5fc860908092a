import { createContext, useContext } from "react";
import type { PackageDetails, PackageFilters, PackagePage } from "../../../../pkg/consoleapi/packages.ts";

/** A package in a catalog, and a version of it. */
export interface PackageRef {
  readonly package: string;
  /** By default, the catalog with the highest priority. */
  readonly catalog?: string | undefined;
  /** By default, the version that a new installation gets. */
  readonly version?: string | undefined;
}

/** Where the pages of the software catalog get their data: from the console, or from catalogd. Each function throws a RequestError. */
export interface CatalogData {
  /** Whether the server knows a cluster, so that pages show installations and can install. */
  readonly hasCluster: boolean;
  /** @param after the position of the page, from the previous page */
  search(filters: PackageFilters, after: string | undefined, signal: AbortSignal): Promise<PackagePage>;
  describe(ref: PackageRef, signal: AbortSignal): Promise<PackageDetails>;
  /** Returns a data URL; undefined if the package has no icon. */
  readIcon(catalog: string, name: string, signal: AbortSignal): Promise<string | undefined>;
  /** Returns the address of a drawing for an image element. */
  readGraph(catalog: string, name: string, signal: AbortSignal): Promise<string>;
}

/** Provides the source of the data. */
export const CatalogDataContext = createContext<CatalogData | undefined>(undefined);

/** Returns the source of the data. */
export function useCatalogData(): CatalogData {
  const data = useContext(CatalogDataContext);
  if (!data) throw new Error("the component is outside of CatalogDataContext");
  return data;
}

/** Returns the address of the page of a package. */
export function getPackagePath({ package: name, catalog, version }: PackageRef): string {
  const params = new URLSearchParams({
    ...(catalog === undefined ? {} : { catalog }),
    ...(version === undefined ? {} : { version }),
  });
  return `/packages/${encodeURIComponent(name)}${params.size > 0 ? `?${params}` : ""}`;
}
