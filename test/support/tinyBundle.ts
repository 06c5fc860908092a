import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { POD_FATE_ANNOTATION, type PodFate } from "../../pkg/devcluster/podSimulation.ts";

/** What differs from one Deployment of one replica that gets ready. */
interface TinyParts {
  /** Of the Deployment. */
  name?: string;
  objects?: readonly KubeObject[];
  deployment?: JsonObject;
  fate?: PodFate;
  properties?: string;
  /** More members of the ClusterServiceVersion's spec. */
  spec?: JsonObject;
  /** Install modes that are supported; AllNamespaces without. */
  modes?: readonly string[];
  /** Of its install strategy. */
  permissions?: readonly JsonObject[];
  /** Names of further Deployments beside the one, whose Pods have label app of that value. */
  others?: readonly string[];
}

/**
 * A bundle of one Deployment, as files; `version` is in its name and in the Deployment's image, so that another version is a rollout.
 * `fate` is that of its Pods, `properties` is annotation olm.properties.
 */
export function tinyBundle(version: string, parts: TinyParts = {}): Record<string, string> {
  const {
    name = "tiny",
    objects = [],
    deployment = {},
    fate,
    properties,
    spec = {},
    modes = ["AllNamespaces"],
    permissions,
    others = [],
  } = parts;
  const deploymentOf = (app: string): JsonObject => {
    const labels = { app };
    const metadata = fate === undefined ? { labels } : { labels, annotations: { [POD_FATE_ANNOTATION]: fate } };
    const containers = [{ name: "manager", image: `registry.example.com/tiny:${version}` }];
    return {
      name: app,
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata, spec: { containers } }, ...deployment },
    };
  };
  const csv = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name: `p.v${version}`, ...(properties === undefined ? {} : { annotations: { "olm.properties": properties } }) },
    spec: {
      ...spec,
      version,
      installModes: modes.map((type) => ({ type, supported: true })),
      install: {
        strategy: "deployment",
        spec: { deployments: [name, ...others].map(deploymentOf), ...(permissions ? { permissions } : {}) },
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
