import { type ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { type ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { type KubeObject } from "../../pkg/api/k8s.ts";

/** Reports whether this version is installed and the reconcile of the current generation has succeeded. */
export function isInstalled(extension: ClusterExtension | undefined, version: string): boolean {
  const { status, metadata } = extension ?? {};
  if (status?.install?.bundle.version !== version) return false;
  const [installed, progressing] = ["Installed", "Progressing"].map((type) => findCondition(status.conditions, type));
  const isCurrent = [installed, progressing].every((condition) => condition?.observedGeneration === metadata?.generation);
  return isCurrent && installed?.status === "True" && progressing?.reason === "Succeeded";
}

/** Returns a ClusterCatalog for an image. */
export function clusterCatalog(name: string, ref: string): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: "ClusterCatalog",
    metadata: { name },
    spec: { source: { type: "Image", image: { ref } } },
  };
}

/** Reports whether catalogd serves the content. */
export function isServing(catalog: ClusterCatalog | undefined): boolean {
  return findCondition(catalog?.status?.conditions, "Serving")?.status === "True";
}
