import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION, PERMISSION_POLICY } from "../../../../pkg/api/constants.ts";
import type { GroupVersionKind } from "../../../../pkg/api/k8s.ts";
import { Credentials } from "../../../../pkg/kube/credentials.ts";
import { compareText } from "../../../../pkg/text/compare.ts";
import { withCluster } from "../../cli/cluster.ts";
import type { ClusterOptions } from "../../cli/options.ts";
import type { NameKind } from "./kinds.ts";

/** Maximum time to look up names. */
const TIMEOUT_MS = 2_000;
const LISTS: Partial<Record<NameKind, GroupVersionKind>> = {
  extension: { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION },
  catalog: { apiVersion: API_VERSION, kind: CLUSTER_CATALOG },
  namespace: { apiVersion: "v1", kind: "Namespace" },
  permissionPolicy: PERMISSION_POLICY,
  serviceAccount: { apiVersion: "v1", kind: "ServiceAccount" },
  subscription: { apiVersion: "operators.coreos.com/v1alpha1", kind: "Subscription" },
};
const NAMESPACED: ReadonlySet<NameKind> = new Set(["serviceAccount", "subscription"]);

/** Returns sorted names of a kind from the cluster or the kubeconfig; empty if the cluster does not respond within two seconds. */
export async function listClusterNames(kind: NameKind, options: ClusterOptions & { namespace?: string }): Promise<string[]> {
  try {
    return (await readNames(kind, options)).sort(compareText);
  } catch {
    return [];
  }
}

async function readNames(kind: NameKind, { namespace, ...options }: ClusterOptions & { namespace?: string }): Promise<string[]> {
  if (kind === "context") return Credentials.contextNames(options.kubeconfig);
  const list = LISTS[kind];
  if (!list) return [];
  const how = { signal: AbortSignal.timeout(TIMEOUT_MS), metadataOnly: true, ...(NAMESPACED.has(kind) ? { namespace } : {}) };
  const { items } = await withCluster(options, (client) => client.list(list, how));
  return items.map(({ metadata }) => metadata.name);
}
