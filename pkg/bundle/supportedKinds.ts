/** Scope of every kind that a bundle may hold beside its CSV and CRDs, by kind alone, as operator-registry has it. */
const SCOPES: Readonly<Record<string, "namespaced" | "cluster">> = {
  ClusterServiceVersion: "namespaced",
  CustomResourceDefinition: "cluster",
  Secret: "namespaced",
  ClusterRole: "cluster",
  ClusterRoleBinding: "cluster",
  ServiceAccount: "namespaced",
  Service: "namespaced",
  Role: "namespaced",
  RoleBinding: "namespaced",
  PrometheusRule: "namespaced",
  ServiceMonitor: "namespaced",
  PodMonitor: "namespaced",
  ConfigMap: "namespaced",
  PodDisruptionBudget: "namespaced",
  NetworkPolicy: "namespaced",
  PriorityClass: "cluster",
  VerticalPodAutoscaler: "cluster",
  ConsoleYAMLSample: "cluster",
  ConsoleQuickStart: "cluster",
  ConsoleCLIDownload: "cluster",
  ConsoleLink: "cluster",
  ConsolePlugin: "cluster",
};

/** Every kind that a bundle may hold, its CSV and CRDs included. */
export const SUPPORTED_KINDS: readonly string[] = Object.keys(SCOPES);

/** Whether objects of `kind` live in a namespace; undefined for a kind that bundles must not hold. */
export function supportedScope(kind: string): "namespaced" | "cluster" | undefined {
  return Object.hasOwn(SCOPES, kind) ? SCOPES[kind] : undefined;
}
