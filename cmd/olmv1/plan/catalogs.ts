import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../../../pkg/api/constants.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { CatalogContents } from "../../../pkg/operatorcontroller/catalogs/catalogContents.ts";
import type { BundleReader } from "../rbac/bundleReader.ts";
import { packageIn } from "../rbac/catalogPackage.ts";

/** The ClusterCatalogs of the cluster, as operator-controller would look at them. */
export async function catalogsOfCluster(client: Client, signal: AbortSignal): Promise<ClusterCatalog[]> {
  try {
    return (await client.list<ClusterCatalog>({ apiVersion: API_VERSION, kind: CLUSTER_CATALOG }, { signal })).items;
  } catch (err) {
    throw wrapError("list ClusterCatalogs, which --catalog makes unnecessary: ", err);
  }
}

/** Catalogs in folders, files and images, as if the cluster served them under these names, with equal priority. */
export function catalogsGiven(sources: readonly string[]): ClusterCatalog[] {
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
export function contentsFrom(reader: BundleReader): CatalogContents {
  return new CatalogContents({
    packageContent: async (_base, ref, packageName) => packageIn(await reader.catalogFolder(ref), packageName),
  });
}
