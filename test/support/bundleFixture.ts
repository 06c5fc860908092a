import type { JsonObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import type { BundleFiles, RegistryV1Bundle } from "../../pkg/bundle/types.ts";

const ANNOTATIONS = "annotations:\n  operators.operatorframework.io.bundle.package.v1: p\n";
const CSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: a.v1.0.0}
spec:
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  install: {strategy: deployment, spec: {deployments: []}}
`;

/** Adds default files to the given ones (by path): annotations that name the package `p`, and a CSV without deployments. */
export function bundleFiles(files: Readonly<Record<string, string>>): BundleFiles {
  const all = { "metadata/annotations.yaml": ANNOTATIONS, "manifests/csv.yaml": CSV, ...files };
  return new Map(Object.entries(all).map(([path, text]) => [path, new TextEncoder().encode(text)]));
}

/** The parts of a bundle that a test sets; all have defaults. */
export interface BundleParts {
  name?: string;
  packageName?: string;
  annotations?: Record<string, string>;
  modes?: readonly string[];
  permissions?: JsonObject[];
  clusterPermissions?: JsonObject[];
  deployments?: JsonObject[];
  webhooks?: JsonObject[];
  owned?: readonly string[];
  ownedApiServices?: readonly JsonObject[];
  /** Names, or complete CRDs. */
  crds?: readonly (string | JsonObject)[];
  others?: readonly JsonObject[];
}

/** Creates a loaded bundle from `parts`; by default it is a.v1.0.0 of package p and supports AllNamespaces. */
export function bundleOf(parts: BundleParts = {}): RegistryV1Bundle {
  const { name = "a.v1.0.0", packageName = "p", annotations = {}, modes = ["AllNamespaces"], crds = [], others = [] } = parts;
  const csv = {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: { name, annotations },
    spec: {
      version: "1.0.0",
      installModes: modes.map((type) => ({ type, supported: true })),
      customresourcedefinitions: { owned: (parts.owned ?? []).map((crd) => ({ name: crd, version: "v1", kind: "A" })) },
      apiservicedefinitions: { owned: parts.ownedApiServices },
      webhookdefinitions: parts.webhooks,
      install: {
        strategy: "deployment",
        spec: { deployments: parts.deployments ?? [], permissions: parts.permissions, clusterPermissions: parts.clusterPermissions },
      },
    },
  };
  const files: Record<string, string> = {
    "metadata/annotations.yaml": JSON.stringify({ annotations: { "operators.operatorframework.io.bundle.package.v1": packageName } }),
    "manifests/csv.yaml": JSON.stringify(csv),
  };
  crds.forEach((crd, index) => {
    files[`manifests/crd-${index}.yaml`] = JSON.stringify(typeof crd === "string" ? createCrd(crd) : crd);
  });
  others.forEach((object, index) => {
    files[`manifests/other-${index}.yaml`] = JSON.stringify(object);
  });
  return loadBundle(bundleFiles(files));
}

/** Creates a CRD called `name` with these members in its spec. */
export function createCrd(name: string, spec: JsonObject = {}): JsonObject {
  return { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name }, spec };
}
