import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import type { Client } from "../../pkg/kube/client.ts";

const CONFIG = join(import.meta.dirname, "../../config");
const FILES = ["namespace/namespace.yaml", "manager/serving-certificates.yaml"];

/** Applies, as kubectl does, the Secrets in which the servers keep the certificates that they make, and their namespace. */
export async function applyServingSecrets(client: Pick<Client, "apply">): Promise<void> {
  const objects = FILES.flatMap((file) => parseYamlDocuments(readFileSync(join(CONFIG, file), "utf8")) as KubeObject[]);
  for (const object of objects) await client.apply(object, { fieldManager: "kubectl", force: true });
}
