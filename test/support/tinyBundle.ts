import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { POD_FATE_ANNOTATION, type PodFate } from "../../pkg/devcluster/podFate.ts";

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
}

/**
 * A bundle of one Deployment, as files; `version` is in its name and in the Deployment's image, so that another version is a rollout.
 * `fate` is that of its Pods, `properties` is annotation olm.properties.
 */
export function tinyBundle(
  version: string,
  { name = "tiny", objects = [], deployment = {}, fate, properties, spec = {} }: TinyParts = {},
): Record<string, string> {
  const labels = { app: name };
  const metadata = fate === undefined ? { labels } : { labels, annotations: { [POD_FATE_ANNOTATION]: fate } };
  const csv = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name: `p.v${version}`, ...(properties === undefined ? {} : { annotations: { "olm.properties": properties } }) },
    spec: {
      ...spec,
      version,
      installModes: [{ type: "AllNamespaces", supported: true }],
      install: {
        strategy: "deployment",
        spec: {
          deployments: [
            {
              name,
              spec: {
                replicas: 1,
                selector: { matchLabels: labels },
                template: {
                  metadata,
                  spec: { containers: [{ name: "manager", image: `registry.example.com/tiny:${version}` }] },
                },
                ...deployment,
              },
            },
          ],
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
