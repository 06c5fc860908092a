import { type ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { type ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { type KubeObject } from "../../pkg/api/k8s.ts";

/** Whether this version is installed and nothing is left to do, as seen at the extension's present generation. */
export function isInstalled(extension: ClusterExtension | undefined, version: string): boolean {
  const { status, metadata } = extension ?? {};
  if (status?.install?.bundle.version !== version) return false;
  const [installed, progressing] = ["Installed", "Progressing"].map((type) => findCondition(status.conditions, type));
  const isCurrent = [installed, progressing].every((condition) => condition?.observedGeneration === metadata?.generation);
  return isCurrent && installed?.status === "True" && progressing?.reason === "Succeeded";
}

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
