import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";

/** A bundle of one Deployment, as files; `version` is in its name and in the Deployment's image, so that another version is a rollout. `properties` is annotation olm.properties. */
export function tinyBundle(
  version: string,
  { objects = [], deployment = {}, properties }: { objects?: readonly KubeObject[]; deployment?: JsonObject; properties?: string } = {},
): Record<string, string> {
  const labels = { app: "tiny" };
  const csv = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name: `p.v${version}`, ...(properties === undefined ? {} : { annotations: { "olm.properties": properties } }) },
    spec: {
      version,
      installModes: [{ type: "AllNamespaces", supported: true }],
      install: {
        strategy: "deployment",
        spec: {
          deployments: [
            {
              name: "tiny",
              spec: {
                replicas: 1,
                selector: { matchLabels: labels },
                template: {
                  metadata: { labels },
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
