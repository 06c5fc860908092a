import { readFile } from "node:fs/promises";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { getErrorMessage, wrapError } from "../../../pkg/errors/errors.ts";
import { isObject } from "../../../pkg/golang/members.ts";
import { parseYaml, parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Reads the ClusterExtension in a YAML or JSON file. Ignores other objects.
 * @param path `-` is standard input.
 * @throws Error if there is no ClusterExtension, or more than one.
 */
export async function readExtensionFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<ClusterExtension> {
  let documents: unknown[];
  try {
    documents = parseYamlDocuments(path === "-" ? await terminal.stdin() : await readFile(path, "utf8"));
  } catch (err) {
    throw new Error(`read ${path}: ${getErrorMessage(err)}`, { cause: err });
  }
  const found = documents.filter((document) => isExtension(document));
  const [extension] = found;
  if (!extension || found.length > 1)
    throw new Error(`${path} contains ${found.length} ClusterExtensions (${API_VERSION}) with a name, must contain exactly one`);
  return extension;
}

function isExtension(document: unknown): document is ClusterExtension {
  if (typeof document !== "object" || document === null) return false;
  const { apiVersion, kind, metadata } = document as Partial<KubeObject>;
  return apiVersion === API_VERSION && kind === CLUSTER_EXTENSION && typeof metadata?.name === "string" && metadata.name !== "";
}

/**
 * Reads a YAML or JSON file with the value of `spec.config.inline`.
 * @param path `-` is standard input.
 * @throws Error with the name of the file if it cannot be read or does not contain an object.
 */
export async function readConfigFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<JsonObject> {
  try {
    const config = parseYaml(path === "-" ? await terminal.stdin() : await readFile(path, "utf8"));
    if (!isObject(config)) throw new Error("the configuration must be an object");
    return config;
  } catch (err) {
    throw wrapError(`${path === "-" ? "standard input" : path}: `, err);
  }
}
