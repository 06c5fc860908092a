import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { thingDefinition } from "../definitions.ts";
import { bundleName, type TableBundle } from "./catalogTable.ts";

/** The words of a contents cell that stand for an object; each object has the name of the package. */
const OBJECTS: Readonly<Record<string, (bundle: TableBundle) => KubeObject>> = {
  ConfigMap: ({ package: name, version }) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { version } }),
  CRD: ({ package: name }) => thingDefinition(toGroup(name)),
  NetworkPolicy: ({ package: name }) => ({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name },
    spec: { podSelector: { matchLabels: { app: name } }, policyTypes: ["Ingress"] },
  }),
};
const INSTALL_MODE = /^InstallMode\((\w+)\)$/;

/** The API group of a package's custom resources. */
function toGroup(packageName: string): string {
  return `${packageName}.example.com`;
}

/**
 * Creates the files of the registry+v1 bundle for a row of a catalog table; JSON is YAML. Without an InstallMode it supports all namespaces.
 * @throws Error for an unknown word in its contents.
 */
export function tableBundleFiles(bundle: TableBundle): Map<string, Uint8Array> {
  const { package: name, version, contents } = bundle;
  const modes = contents.flatMap((word) => INSTALL_MODE.exec(word)?.[1] ?? []);
  const csv = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name: bundleName(bundle) },
    spec: {
      version,
      installModes: (modes.length > 0 ? modes : ["AllNamespaces"]).map((type) => ({ type, supported: true })),
      customresourcedefinitions: {
        owned: contents.includes("CRD") ? [{ name: `things.${toGroup(name)}`, version: "v1", kind: "Thing" }] : [],
      },
      install: { strategy: "deployment", spec: { deployments: contents.includes("Deployment") ? [buildDeployment(bundle)] : [] } },
    },
  };
  const annotations = { "operators.operatorframework.io.bundle.package.v1": name };
  const files: Record<string, object> = { "metadata/annotations.yaml": { annotations }, "manifests/csv.yaml": csv };
  for (const word of contents) {
    if (word === "Deployment" || INSTALL_MODE.test(word)) continue;
    const make = OBJECTS[word];
    if (!make)
      throw new Error(
        `contents of ${bundleName(bundle)}: ${word} is not one of Deployment, InstallMode(x), ${Object.keys(OBJECTS).join(", ")}`,
      );
    files[`manifests/${word}.yaml`] = make(bundle);
  }
  return new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(JSON.stringify(content))]));
}

/** Renders a bundle for a namespace; undefined if the bundle rejects the configuration. */
export function tableBundleObjects(bundle: TableBundle, namespace: string, config: JsonObject | undefined): KubeObject[] | undefined {
  try {
    return renderBundle(loadBundle(tableBundleFiles(bundle)), { installNamespace: namespace, config });
  } catch {
    return undefined;
  }
}

/** The version is in the image, so that each upgrade causes a rollout. */
function buildDeployment({ package: name, version }: TableBundle): JsonObject {
  const labels = { app: name };
  const containers = [{ name: "manager", image: `registry.example.com/${name}:${version}` }];
  return {
    name,
    label: { "app.kubernetes.io/name": name },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
  };
}
