/** Who asks for what the rules ask for. */
export const Source = {
  format: "registry+v1 bundle format",
  controller: "operator-controller",
  apiServer: "Kubernetes API server",
  packaging: "OLM packaging guide",
  scorecard: "scorecard",
  disconnected: "OLM guide to disconnected clusters",
  gate: "OpenShift cluster upgrades",
  security: "Kubernetes security guide",
} as const;
