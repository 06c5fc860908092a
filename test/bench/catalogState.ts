import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";

/** A ClusterCatalog of an image, as a user applies it. */
export function clusterCatalog(name: string, ref: string): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "ClusterCatalog",
    metadata: { name },
    spec: { source: { type: "Image", image: { ref } } },
  };
}

/** Whether catalogd says that the content can be had. */
export function isServing(catalog: ClusterCatalog | undefined): boolean {
  return findCondition(catalog?.status?.conditions, "Serving")?.status === "True";
}
