import { isObject } from "../../api/jsonObject.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { listAt, memberAt, textAt } from "./members.ts";

const WORKLOADS: ReadonlySet<string> = new Set(["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet", "Job"]);

/**
 * The label selector of a workload's Pods, as the API server takes it in a query, such as "app=a,tier in (x,y)".
 * Undefined for what is no workload, and for one that selects nothing.
 */
export function podSelectorOf(object: KubeObject): string | undefined {
  if (!WORKLOADS.has(object.kind)) return undefined;
  const labels = memberAt(object, "spec.selector.matchLabels");
  const equal = isObject(labels) ? Object.entries(labels).map(([key, value]) => `${key}=${String(value)}`) : [];
  const expressions = listAt(object, "spec.selector.matchExpressions").map((expression) => {
    const [key, operator] = [textAt(expression, "key"), textAt(expression, "operator")];
    const values = Array.isArray(expression["values"]) ? expression["values"].map(String).join(",") : "";
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "NotIn" ? "notin" : "in"} (${values})`;
  });
  return [...equal, ...expressions].join(",") || undefined;
}
