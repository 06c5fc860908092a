import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseYaml, toYaml } from "../golang/yaml.ts";
import type { PemKeyPair } from "./certificates.ts";

/** Content of a kubeconfig: the API server, its CA, and the identity. */
export interface KubeconfigContent {
  /** For example "https://127.0.0.1:6443". */
  readonly server: string;
  /** PEM text. */
  readonly ca: string;
  readonly user: string;
  readonly identity: PemKeyPair;
}

/** Returns a kubeconfig with all data inlined, as YAML text; it has one context, named "olmv1-dev". */
export function renderKubeconfig({ server, ca, user, identity }: KubeconfigContent): string {
  return `apiVersion: v1
kind: Config
current-context: olmv1-dev
contexts:
- name: olmv1-dev
  context: {cluster: olmv1-dev, user: ${user}}
clusters:
- name: olmv1-dev
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(ca)}
users:
- name: ${user}
  user:
    client-certificate-data: ${base64(identity.cert)}
    client-key-data: ${base64(identity.key)}
`;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

interface NamedCluster {
  name: string;
  cluster: Record<string, unknown>;
}

interface Kubeconfig {
  "current-context"?: string;
  contexts?: { name: string; context: { cluster: string } }[];
  clusters?: NamedCluster[];
}

/**
 * Returns a kubeconfig for the cluster in the current context of another kubeconfig, with a token file as its only credential.
 * @throws Error if the other kubeconfig has no current context, or the cluster does not exist
 */
export async function renderTokenKubeconfig(from: string, tokenFile: string): Promise<string> {
  const config = parseYaml(await readFile(from, "utf8")) as Kubeconfig;
  const context = config.contexts?.find((candidate) => candidate.name === config["current-context"])?.context;
  const found = config.clusters?.find((candidate) => candidate.name === context?.cluster);
  if (!found) throw new Error(`kubeconfig ${from}: current-context "${config["current-context"] ?? ""}" has no cluster`);
  const cluster = { ...found.cluster };
  const ca = cluster["certificate-authority"];
  if (typeof ca === "string") cluster["certificate-authority"] = resolve(dirname(from), ca);
  return toYaml({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "token",
    contexts: [{ name: "token", context: { cluster: "cluster", user: "token" } }],
    clusters: [{ name: "cluster", cluster }],
    users: [{ name: "token", user: { tokenFile } }],
  });
}
