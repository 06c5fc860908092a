import type { CatalogSource, ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";

/** Creates a ClusterExtension with namespace and ServiceAccount "`name`-system", as a user would apply it. */
export function createExtension(name: string, catalog: Partial<CatalogSource> & { packageName: string }): ClusterExtension {
  return {
    apiVersion: API_VERSION,
    kind: "ClusterExtension",
    metadata: { name, generation: 1 },
    spec: {
      namespace: `${name}-system`,
      serviceAccount: { name: `${name}-installer` },
      source: { sourceType: "Catalog", catalog: { upgradeConstraintPolicy: "CatalogProvided", ...catalog } },
    },
  };
}
