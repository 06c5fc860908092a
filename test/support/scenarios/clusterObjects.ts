import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeObject, ObjectRef } from "../../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";

const ROOT = join(import.meta.dirname, "../../..");
const NAMESPACED: Readonly<Record<string, string>> = {
  ConfigMap: "v1",
  Deployment: "apps/v1",
  NetworkPolicy: "networking.k8s.io/v1",
  ReplicaSet: "apps/v1",
  ServiceAccount: "v1",
};
const OF_THE_CLUSTER: Readonly<Record<string, string>> = {
  ClusterExtension: "olm.operatorframework.io/v1",
  CustomResourceDefinition: "apiextensions.k8s.io/v1",
  Namespace: "v1",
};

/**
 * Parses "Kind name" or "Kind namespace/name" to an object reference.
 * @param namespace default for namespaced objects.
 * @throws Error for a kind that scenarios do not support.
 */
export function toInventoryRef(text: string, namespace: string): ObjectRef {
  const [kind = "", path = ""] = text.split(" ");
  const [name = "", where = namespace] = path.split("/").reverse();
  if (OF_THE_CLUSTER[kind]) return { apiVersion: OF_THE_CLUSTER[kind], kind, name };
  if (NAMESPACED[kind]) return { apiVersion: NAMESPACED[kind], kind, namespace: where, name };
  throw new Error(`the kind of ${text} is not one of ${[...Object.keys(NAMESPACED), ...Object.keys(OF_THE_CLUSTER)].join(", ")}`);
}

/** Reads the manifests of a file of the repository. @param path from its root. */
export async function readManifestFile(path: string): Promise<KubeObject[]> {
  return parseYamlDocuments(await readFile(join(ROOT, path), "utf8")) as KubeObject[];
}
