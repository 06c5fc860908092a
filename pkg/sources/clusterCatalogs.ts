import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import { wrapError } from "../errors/errors.ts";
import type { PackageContent } from "../fbc/types.ts";
import type { Client } from "../kube/client.ts";
import { CatalogPackages, getServedContent } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { compareText } from "../text/compare.ts";
import { readPackage } from "./catalogContent.ts";
import type { NamedCatalog } from "./catalogNames.ts";

/** Lists the ClusterCatalogs of the cluster. */
export async function listClusterCatalogs(client: Client, signal: AbortSignal): Promise<ClusterCatalog[]> {
  try {
    return (await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal })).items;
  } catch (err) {
    throw wrapError("list ClusterCatalogs (not needed with --catalog): ", err);
  }
}

/** Returns catalogs in folders, files and images as ClusterCatalogs with the same priority. Their names are the sources. */
export function createClusterCatalogs(sources: readonly string[]): ClusterCatalog[] {
  return [...new Set(sources)].map((source) => createClusterCatalog(source, source));
}

/** Returns a catalog in a folder, file or image as a served ClusterCatalog with this name. */
export function createClusterCatalog(name: string, ref: string): ClusterCatalog {
  const known = { lastTransitionTime: "", message: "", reason: "Available" };
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_CATALOG,
    metadata: { name },
    spec: { source: { type: "Image", image: { ref } } },
    status: {
      conditions: [{ type: "Serving", status: "True", ...known }],
      resolvedSource: { type: "Image", image: { ref } },
      urls: { base: "file:///" },
    },
  };
}

/** Returns the folder or file with the objects of a catalog. */
export interface CatalogFolderReader {
  /**
   * @param ref a folder, file or image
   * @param base URL at which catalogd serves the content, if the catalog is a ClusterCatalog
   */
  catalogFolder(ref: string, base?: string): Promise<string>;
}

/** Reads catalogs. A reader with `packageContent` need not read a whole catalog for one package. */
export interface CatalogContentReader extends CatalogFolderReader {
  /** Returns one package. The parameters are those of `catalogFolder`. */
  packageContent?(ref: string, packageName: string, base?: string): Promise<PackageContent>;
}

/** Reads catalogs from the folder, file or image in their resolved source. */
export function createCatalogReader(reader: CatalogContentReader): CatalogPackages {
  return new CatalogPackages({
    packageContent: async (base, ref, packageName) =>
      reader.packageContent?.(ref, packageName, base) ?? readPackage(await reader.catalogFolder(ref, base), packageName),
  });
}

/** Lists the cluster's catalogs with their served images, sorted by name. @throws Error if ClusterCatalogs cannot be listed */
export async function listServedCatalogs(client: Client, signal: AbortSignal): Promise<NamedCatalog[]> {
  let catalogs: ClusterCatalog[];
  try {
    catalogs = (await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal })).items;
  } catch (err) {
    throw wrapError("list ClusterCatalogs (not needed with --catalog-dir or --catalog-image): ", err);
  }
  return toNamedCatalogs(catalogs);
}

/** Returns ClusterCatalogs with their served images, sorted by name. */
export function toNamedCatalogs(catalogs: readonly ClusterCatalog[]): NamedCatalog[] {
  const ordered = catalogs.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
  return ordered.map((catalog) => {
    const { metadata, spec } = catalog;
    const state = getServedContent(catalog);
    const own = { name: metadata.name, priority: spec.priority ?? 0 };
    return typeof state === "string" ? { ...own, unavailable: state } : { ...own, image: state.ref, base: state.base };
  });
}
