import { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { isObject } from "../../../pkg/golang/members.ts";
import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { messageOf, wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { parseYaml, parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isForbidden } from "../../../pkg/kube/errors.ts";
import type { Terminal } from "./terminal.ts";
import { readFile } from "node:fs/promises";

/** An extension as it would be once a file is applied, and what is on the cluster now. */
export interface WantedExtension {
  /** With the uid of the one that exists; without uid where there is none. */
  extension: ClusterExtension;
  exists: boolean;
  notes: string[];
}

/**
 * The one ClusterExtension in a YAML or JSON file; other objects there are left out.
 * @param path `-` is the standard input.
 * @throws Error where there is none, or more than one.
 */
export async function readExtensionFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<ClusterExtension> {
  let documents: unknown[];
  try {
    documents = parseYamlDocuments(path === "-" ? await terminal.stdin() : await readFile(path, "utf8"));
  } catch (err) {
    throw new Error(`read ${path}: ${messageOf(err)}`, { cause: err });
  }
  const found = documents.filter((document) => isExtension(document));
  const [extension] = found;
  if (!extension || found.length > 1)
    throw new Error(`${path} holds ${found.length} ClusterExtensions (${API_VERSION}) with a name: a plan is made for exactly one`);
  return extension;
}

/**
 * What applying `given` would make of it: the API server fills in defaults and checks it, and writes nothing.
 * @throws Error that says why the API server would not take it.
 */
export async function wantedExtension(client: Client, given: ClusterExtension): Promise<WantedExtension> {
  const { name } = given.metadata;
  const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
  const existing = await client.get<ClusterExtension>(ref);
  if (existing?.metadata.deletionTimestamp !== undefined) throw new Error(`ClusterExtension ${goQuote(name)} is being deleted`);
  const { uid: _, resourceVersion: __, ...metadata } = existing?.metadata ?? { name };
  const annotations = { ...metadata.annotations, ...given.metadata.annotations };
  const named = { ...metadata, annotations, ...(existing?.metadata.uid === undefined ? {} : { uid: existing.metadata.uid }) };
  const exists = existing !== undefined;
  const state = existing?.status ? { status: existing.status } : {};
  try {
    const answer = existing
      ? await client.patch<ClusterExtension>(ref, [{ op: "add", path: "/spec", value: given.spec }], { type: "json", dryRun: true })
      : await client.create(given, { dryRun: true });
    return { extension: { ...given, ...state, metadata: named, spec: answer.spec }, exists, notes: [] };
  } catch (err) {
    if (!isForbidden(err)) throw wrapError(`ClusterExtension ${goQuote(name)} would be refused: `, err);
    const { success, error } = ClusterExtension.safeParse(given);
    if (!success) throw new Error(`ClusterExtension ${goQuote(name)} would be refused: ${error.message}`, { cause: err });
    const notes = [`you may not apply the ClusterExtension yourself (${messageOf(err)}): its spec is taken as the file has it`];
    return { extension: { ...given, ...state, metadata: named }, exists, notes };
  }
}

function isExtension(document: unknown): document is ClusterExtension {
  if (typeof document !== "object" || document === null) return false;
  const { apiVersion, kind, metadata } = document as Partial<KubeObject>;
  return apiVersion === API_VERSION && kind === CLUSTER_EXTENSION && typeof metadata?.name === "string" && metadata.name !== "";
}

/**
 * The configuration of an extension, YAML or JSON: what stands under `spec.config.inline`.
 * @param path `-` is standard input.
 * @throws Error that names the file, for one that cannot be read and for one that holds no object.
 */
export async function configFile(path: string, terminal: Pick<Terminal, "stdin">): Promise<JsonObject> {
  try {
    const config = parseYaml(path === "-" ? await terminal.stdin() : await readFile(path, "utf8"));
    if (!isObject(config)) throw new Error("the configuration is no object");
    return config;
  } catch (err) {
    throw wrapError(`${path === "-" ? "standard input" : path}: `, err);
  }
}
