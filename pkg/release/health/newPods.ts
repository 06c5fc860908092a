import { groupOf, type KubeObject } from "../../api/k8s.ts";
import { numberAt } from "./members.ts";

const KINDS: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "StatefulSet"]);

/** Whether an object replaces its Pods when it changes. */
export function replacesPods({ apiVersion, kind }: KubeObject): boolean {
  return groupOf(apiVersion) === "apps" && KINDS.has(kind);
}

/**
 * Whether a Pod of a workload's latest version is ready for certain: more of its Pods are ready than there are of versions before.
 * @param workload as the API server answers.
 */
export function hasReadyNewPod(workload: KubeObject): boolean {
  const { generation } = workload.metadata;
  if (numberAt(workload, "status.observedGeneration", -1) !== (generation ?? -1)) return false;
  const isDaemonSet = workload.kind === "DaemonSet";
  const all = numberAt(workload, isDaemonSet ? "status.currentNumberScheduled" : "status.replicas");
  const updated = numberAt(workload, isDaemonSet ? "status.updatedNumberScheduled" : "status.updatedReplicas");
  const ready = numberAt(workload, isDaemonSet ? "status.numberReady" : "status.readyReplicas");
  return updated > 0 && ready > all - updated;
}
