import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { POD_OUTCOME_ANNOTATION, type PodOutcome } from "../../pkg/devcluster/podSimulation.ts";

/** Differences from one Deployment with one replica that becomes ready. */
interface TinyParts {
  /** Name of the Deployment. */
  name?: string;
  objects?: readonly KubeObject[];
  deployment?: JsonObject;
  podOutcome?: PodOutcome;
  properties?: string;
  /** Other annotations of the ClusterServiceVersion. */
  annotations?: Record<string, string>;
  /** More members of the ClusterServiceVersion's spec. */
  spec?: JsonObject;
  /** Supported install modes; AllNamespaces by default. */
  modes?: readonly string[];
  /** Permissions in the install strategy, for the watched namespaces. */
  permissions?: readonly JsonObject[];
  /** Permissions in the install strategy, for the whole cluster. */
  clusterPermissions?: readonly JsonObject[];
  /** Names of further Deployments; the name is also the value of label app of their Pods. */
  others?: readonly string[];
}

/**
 * Creates a bundle of one Deployment, as files; `version` is in its name and in the Deployment's image, so that another version causes a rollout.
 * `podOutcome` is the outcome of its Pods, `properties` the annotation olm.properties.
 */
export function tinyBundle(version: string, parts: TinyParts = {}): Record<string, string> {
  const {
    name = "tiny",
    objects = [],
    deployment = {},
    podOutcome,
    properties,
    annotations = {},
    spec = {},
    modes = ["AllNamespaces"],
    permissions,
    clusterPermissions,
    others = [],
  } = parts;
  const buildDeployment = (app: string): JsonObject => {
    const labels = { app };
    const metadata = podOutcome === undefined ? { labels } : { labels, annotations: { [POD_OUTCOME_ANNOTATION]: podOutcome } };
    const containers = [{ name: "manager", image: `registry.example.com/tiny:${version}` }];
    return {
      name: app,
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata, spec: { containers } }, ...deployment },
    };
  };
  const csv = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: {
      name: `p.v${version}`,
      annotations: { ...annotations, ...(properties === undefined ? {} : { "olm.properties": properties }) },
    },
    spec: {
      ...spec,
      version,
      installModes: modes.map((type) => ({ type, supported: true })),
      install: {
        strategy: "deployment",
        spec: {
          deployments: [name, ...others].map(buildDeployment),
          ...(permissions ? { permissions } : {}),
          ...(clusterPermissions ? { clusterPermissions } : {}),
        },
      },
    },
  };
  const files: Record<string, string> = {
    "metadata/annotations.yaml": JSON.stringify({ annotations: { "operators.operatorframework.io.bundle.package.v1": "p" } }),
    "manifests/csv.yaml": JSON.stringify(csv),
  };
  for (const object of objects) files[`manifests/${object.kind}-${object.metadata.name}.yaml`] = JSON.stringify(object);
  return files;
}
