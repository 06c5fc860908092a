import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { compareText } from "../../../pkg/text/compare.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../../../pkg/api/constants.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { servedFrom } from "../../../pkg/operatorcontroller/catalogs/catalogContents.ts";
import type { NamedCatalog } from "./catalogsNamed.ts";

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
