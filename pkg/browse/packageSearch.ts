import type { Client } from "../kube/client.ts";
import { type InstalledExtension, listInstalledExtensions } from "../rollout/extensions.ts";
import type { OpenCatalogs } from "../sources/openCatalogs.ts";
import type { ClusterCapabilities } from "./clusterCapabilities.ts";
import { type PackageMatch, rankResults, type SearchRequest, searchCatalog } from "./searchResults.ts";

/** A search in several catalogs. `query` filters by architecture, deprecation, channel and provided kinds. */
export interface PackageSearch extends SearchRequest {
  /** Whether to find only packages that the user can install on the cluster. */
  readonly installableOnly?: boolean | undefined;
  /** Whether to find only packages with an installed version. */
  readonly installedOnly?: boolean | undefined;
  /** Whether to determine for each package why the user cannot install it. */
  readonly addsObstacles?: boolean | undefined;
}

/** Where to search. */
export interface SearchPlace extends Pick<OpenCatalogs, "catalogs"> {
  /** Undefined without a cluster. */
  readonly client: Client | undefined;
  readonly signal: AbortSignal;
  /** What `client` would list, if it is known. */
  readonly installed?: readonly InstalledExtension[] | undefined;
  /** What `client` would read, if it is known. */
  readonly capabilities?: ClusterCapabilities | undefined;
}

/** The packages found in several catalogs. */
export interface PackagesFound {
  /** Best match first. */
  readonly matches: readonly PackageMatch[];
  /** Number of packages that match words and query, whether or not they are installed or installable. */
  readonly matching: number;
  /** Number of packages in the catalogs. */
  readonly packages: number;
  /** The installed bundles; undefined without a cluster, or if the user may not list ClusterExtensions. */
  readonly installed: readonly InstalledExtension[] | undefined;
}

/** Searches in all open catalogs. Without a cluster, it is unknown whether packages are installable, so `installableOnly` finds none. */
export async function searchPackages(place: SearchPlace, search: PackageSearch): Promise<PackagesFound> {
  const { catalogs, client, signal } = place;
  const { installableOnly = false, installedOnly = false, addsObstacles = false } = search;
  const looked = catalogs.map((catalog) => ({ catalog, packages: catalog.book.packages() }));
  const all = looked.flatMap(({ catalog, packages }) => searchCatalog(catalog, packages, search));
  let judged = all;
  if (client && (installableOnly || addsObstacles)) {
    const { readClusterCapabilities, addHindrances } = await import("./clusterCapabilities.ts");
    judged = addHindrances(all, place.capabilities ?? (await readClusterCapabilities(client, signal)));
  }
  const ranked = rankResults(installableOnly ? judged.filter(({ found }) => found.installable) : judged).map(({ found }) => found);
  const installed = place.installed ?? (await listInstalledExtensions(client, signal));
  const names = new Set(installed?.map((one) => one.package));
  return {
    matches: installedOnly ? ranked.filter((found) => names.has(found.package)) : ranked,
    matching: all.length,
    packages: looked.reduce((sum, { packages }) => sum + packages.length, 0),
    installed,
  };
}
