import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import { wrapError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { CatalogPackages, servedFrom } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { compareText } from "../text/compare.ts";
import type { BundleReader } from "./bundleReader.ts";
import { packageIn } from "./catalogContent.ts";
import type { NamedCatalog } from "./catalogNames.ts";

/** The ClusterCatalogs of the cluster, as operator-controller would look at them. */
export async function catalogsOfCluster(client: Client, signal: AbortSignal): Promise<ClusterCatalog[]> {
  try {
    return (await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal })).items;
  } catch (err) {
    throw wrapError("list ClusterCatalogs, which --catalog makes unnecessary: ", err);
  }
}

/** Catalogs in folders, files and images, as if the cluster served them under these names, with equal priority. */
export function createClusterCatalogs(sources: readonly string[]): ClusterCatalog[] {
  return [...new Set(sources)].map((source) => catalogGiven(source, source));
}

/** A catalog in a folder, file or image, as if the cluster served it under this name. */
export function catalogGiven(name: string, ref: string): ClusterCatalog {
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

/** What catalogs say, read from the folder, file or image that each of them names as its resolved source. */
export function contentsFrom(reader: BundleReader): CatalogPackages {
  return new CatalogPackages({
    packageContent: async (_base, ref, packageName) => packageIn(await reader.catalogFolder(ref), packageName),
  });
}

/** The cluster's catalogs with the images that they serve, by name. @throws Error where they cannot be listed. */
export async function catalogsServed(client: Client, signal: AbortSignal): Promise<NamedCatalog[]> {
  let catalogs: ClusterCatalog[];
  try {
    catalogs = (await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal })).items;
  } catch (err) {
    throw wrapError("list ClusterCatalogs, which --catalog-dir and --catalog-image make unnecessary: ", err);
  }
  const ordered = catalogs.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
  return ordered.map((catalog) => {
    const { metadata, spec } = catalog;
    const state = servedFrom(catalog);
    const own = { name: metadata.name, priority: spec.priority ?? 0 };
    return typeof state === "string" ? { ...own, unavailable: state } : { ...own, image: state.ref };
  });
}
