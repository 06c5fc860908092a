import { readFile } from "node:fs/promises";
import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, PERMISSION_POLICY } from "../../../pkg/api/constants.ts";
import type { GroupVersionKind, JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { PermissionPolicy } from "../../../pkg/api/permissionPolicy.ts";
import { getErrorMessage, wrapError } from "../../../pkg/errors/errors.ts";
import { isObject } from "../../../pkg/golang/members.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { parseYaml, parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import type { Terminal } from "./terminal.ts";

/** Reads an input file. @param path `-` is standard input. @throws Error with the path if it cannot be read */
export async function readInputFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<string> {
  if (path === "-") return terminal.stdin();
  try {
    return await readFile(path, "utf8");
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "EISDIR") throw err;
    throw new Error(`${goQuote(path)} is a folder, not a file`, { cause: err });
  }
}

/**
 * Reads the ClusterExtension in a YAML or JSON file. Ignores other objects.
 * @param path `-` is standard input.
 * @throws Error if there is no ClusterExtension, or more than one.
 */
export async function readExtensionFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<ClusterExtension> {
  const found = (await readDocuments(path, terminal)).filter((document) => isExtension(document));
  const [extension] = found;
  if (!extension || found.length > 1)
    throw new Error(`${path} contains ${found.length} ClusterExtensions (${API_VERSION}) with a name, must contain exactly one`);
  return extension;
}

async function readDocuments(path: string, terminal: Pick<Terminal, "stdin">): Promise<unknown[]> {
  try {
    return parseYamlDocuments(await readInputFile(path, terminal));
  } catch (err) {
    throw new Error(`read ${path}: ${getErrorMessage(err)}`, { cause: err });
  }
}

function isExtension(document: unknown): document is ClusterExtension {
  return isNamedObject(document, { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
}

function isNamedObject(document: unknown, gvk: GroupVersionKind): document is KubeObject {
  if (typeof document !== "object" || document === null) return false;
  const { apiVersion, kind, metadata } = document as Partial<KubeObject>;
  return apiVersion === gvk.apiVersion && kind === gvk.kind && typeof metadata?.name === "string" && metadata.name !== "";
}

/**
 * Reads a PermissionPolicy in a YAML or JSON file. Ignores other objects.
 * @param path `-` is standard input. @param name of the policy; default: the only policy in the file.
 * @throws Error if the file contains no policy with this name or several policies, or if the policy is invalid.
 */
export async function readPolicyFile(path: string, name: string | undefined, terminal: Pick<Terminal, "stdin">): Promise<PermissionPolicy> {
  const all = (await readDocuments(path, terminal)).filter((document): document is PermissionPolicy =>
    isNamedObject(document, PERMISSION_POLICY),
  );
  const found = name === undefined ? all : all.filter(({ metadata }) => metadata.name === name);
  const [policy] = found;
  if (!policy || found.length > 1) {
    const what = `PermissionPolicies (${PERMISSION_POLICY.apiVersion})${name === undefined ? "" : ` with name ${goQuote(name)}`}`;
    throw new Error(`${path} contains ${found.length} ${what}, must contain exactly one`);
  }
  const { success, error } = PermissionPolicy.safeParse(policy);
  if (success) return policy;
  const mistakes = error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  throw new Error(`${path}: PermissionPolicy ${goQuote(policy.metadata.name)} is invalid: ${mistakes}`);
}

/**
 * Reads a YAML or JSON file with the value of `spec.config.inline`.
 * @param path `-` is standard input.
 * @throws Error with the name of the file if it cannot be read or does not contain an object.
 */
export async function readConfigFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<JsonObject> {
  try {
    const config = parseYaml(await readInputFile(path, terminal));
    if (!isObject(config)) throw new Error("the configuration must be an object");
    return config;
  } catch (err) {
    throw wrapError(`${path === "-" ? "standard input" : path}: `, err);
  }
}
