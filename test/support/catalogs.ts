import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";

/** Differences from a healthy catalog; without `digest` it was never unpacked. */
export interface CatalogState {
  digest?: string;
  base?: string;
  serving?: boolean;
  availabilityMode?: "Available" | "Unavailable";
  labels?: Record<string, string>;
  priority?: number;
}

/** Creates a ClusterCatalog with a status as catalogd writes it. */
export function createCatalog(name: string, state: CatalogState): ClusterCatalog {
  const { digest, base = `https://catalogd/catalogs/${name}`, serving = true, availabilityMode = "Available", labels, priority } = state;
  return {
    apiVersion: API_VERSION,
    kind: "ClusterCatalog",
    metadata: { name, ...(labels ? { labels } : {}) },
    spec: { source: { type: "Image", image: { ref: "quay.io/c:latest" } }, priority: priority ?? 0, availabilityMode },
    status: {
      conditions: [
        {
          type: "Serving",
          status: serving ? "True" : "False",
          reason: "Available",
          message: "",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
      ...(digest === undefined ? {} : { resolvedSource: { type: "Image", image: { ref: digest } } }),
      ...(base === "" ? {} : { urls: { base } }),
    },
  };
}
