import type { ClusterExtension } from "../api/clusterExtension.ts";
import { type CrdPolicy, getCrdPolicy } from "../release/plan.ts";
import { hasForeignStatus } from "./extensionState.ts";

/**
 * Returns what an uninstall does with the CustomResourceDefinitions of an extension. The Go implementation has no policy: the extension owns all objects
 * of its bundle, so the garbage collector deletes them, CustomResourceDefinitions and their custom resources included.
 */
export function getUninstallPolicy(extension: Pick<ClusterExtension, "spec" | "status">): CrdPolicy {
  return hasForeignStatus(extension) ? "Delete" : getCrdPolicy(extension.spec);
}
