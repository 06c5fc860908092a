import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";

/** Whether this version is installed and nothing is left to do, as seen at the extension's present generation. */
export function isInstalled(extension: ClusterExtension | undefined, version: string): boolean {
  const { status, metadata } = extension ?? {};
  if (status?.install?.bundle.version !== version) return false;
  const [installed, progressing] = ["Installed", "Progressing"].map((type) => findCondition(status.conditions, type));
  const isCurrent = [installed, progressing].every((condition) => condition?.observedGeneration === metadata?.generation);
  return isCurrent && installed?.status === "True" && progressing?.reason === "Succeeded";
}
