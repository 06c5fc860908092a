import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { parseYaml, toYaml } from "../golang/yaml.ts";

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
 * A kubeconfig for the cluster of another one's current context, with the token in a file as its only credential.
 * @throws Error when the other has no current context or no such cluster.
 */
export async function tokenKubeconfig(from: string, tokenFile: string): Promise<string> {
  const config = parseYaml(await readFile(from, "utf8")) as Kubeconfig;
  const context = config.contexts?.find((candidate) => candidate.name === config["current-context"])?.context;
  const found = config.clusters?.find((candidate) => candidate.name === context?.cluster);
  if (!found) throw new Error(`kubeconfig ${from}: current-context "${config["current-context"] ?? ""}" names no cluster`);
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
