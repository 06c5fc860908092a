import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { type KubeObject } from "../../pkg/api/k8s.ts";
import { findBinaries } from "../../pkg/devcluster/binaries.ts";
import { type Tool } from "../../pkg/devcluster/binaryCache.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { type Client } from "../../pkg/kube/client.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const CHART = resolve(ROOT, "config/helm/olmv1");
const MAX_OUTPUT = 2 ** 26;

/** Runs kubectl or helm of the control plane's programs. @returns its standard output. @throws Error with its standard error. */
export async function runTool(tool: Tool, args: readonly string[]): Promise<string> {
  const { [tool]: program } = await findBinaries(() => undefined);
  if (!program) throw new Error(`the control plane has no program ${tool}`);
  return (await promisify(execFile)(program.path, args, { maxBuffer: MAX_OUTPUT })).stdout;
}

/** Returns the objects that `kubectl apply -k` would send, in its order; `folder` from the root of the repository. */
export async function renderKustomization(folder: string): Promise<KubeObject[]> {
  return parseYamlDocuments(await runTool("kubectl", ["kustomize", resolve(ROOT, folder)])) as KubeObject[];
}

/** Returns the objects that Helm renders from the chart, in no order. @param args such as `--set a=b`. @param chart the folder of another chart. */
export async function renderChart(args: readonly string[], chart = CHART): Promise<KubeObject[]> {
  const text = await runTool("helm", ["template", "olmv1", chart, ...args]);
  return (parseYamlDocuments(text) as (KubeObject | undefined)[]).filter((object) => object !== undefined && object !== null);
}

const CONFIG = join(import.meta.dirname, "../../config");
const FILES = ["namespace/namespace.yaml", "manager/serving-certificates.yaml"];

/** Applies with kubectl the Secrets in which the servers keep their generated certificates, and their namespace. */
export async function applyServingSecrets(client: Pick<Client, "apply">): Promise<void> {
  const objects = FILES.flatMap((file) => parseYamlDocuments(readFileSync(join(CONFIG, file), "utf8")) as KubeObject[]);
  for (const object of objects) await client.apply(object, { fieldManager: "kubectl", force: true });
}
