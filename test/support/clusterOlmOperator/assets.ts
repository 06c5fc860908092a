import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { parseYaml } from "../../../pkg/golang/yaml.ts";
import { runTool } from "../manifests.ts";
import { type HelmValues, readValues, setGates, setValue } from "./helmValues.ts";

/** The components, in the order in which cluster-olm-operator renders them. */
export const COMPONENTS = ["catalogd", "operator-controller"] as const;

/** The state of the cluster that changes what cluster-olm-operator renders. */
export interface ClusterState {
  /** Whether the feature set is TechPreviewNoUpgrade, DevPreviewNoUpgrade or CustomNoUpgrade. */
  experimental: boolean;
  /** Enabled gates of OpenShift. */
  gates: readonly string[];
  /** Whether the control plane has several nodes. */
  highlyAvailable: boolean;
  /** Value of the variables CATALOGD_IMAGE and OPERATOR_CONTROLLER_IMAGE. */
  image: string;
}

/** A rendered manifest, with the name of its file. */
export interface Asset {
  file: string;
  object: KubeObject;
  text: string;
}

/**
 * Renders a component and writes one file for each object, as renderHelmTemplate does. Later versions than the cited one also set the gates one by one,
 * and replicas and PodDisruptionBudgets for several control plane nodes.
 * @param folder that /cp-manifests wrote to
 * @see https://github.com/openshift/cluster-olm-operator/blob/eca3547bbf0e615c0ff2bc7fa7c2134418e91133/pkg/controller/helm.go
 */
export async function renderAssets(folder: string, component: (typeof COMPONENTS)[number], state: ClusterState): Promise<Asset[]> {
  const [source, target] = [join(folder, "helm", component), join(folder, component)];
  const isExperimental = state.experimental || state.gates.length > 0;
  const names = isExperimental ? ["openshift.yaml", "experimental.yaml"] : ["openshift.yaml"];
  const values = readValues(await Promise.all(names.map((name) => readFile(join(source, name), "utf8"))));
  setClusterValues(values, state);
  const valuesFile = join(folder, `${component}-values.json`);
  await writeFile(valuesFile, JSON.stringify(values));
  const text = await runTool("helm", ["template", "olmv1", join(source, "olmv1"), "--values", valuesFile]);
  await rm(target, { recursive: true, force: true });
  await mkdir(target);
  const assets = splitDocuments(text).map((document, index): Asset => {
    const object = parseYaml(document) as KubeObject;
    return { file: `${String(index + 1).padStart(2, "0")}-${formatFileName(object)}`, object, text: document };
  });
  for (const { file, text: document } of assets)
    await writeFile(join(target, file), document.startsWith("---") ? document : `---\n${document}\n`);
  return assets;
}

function setClusterValues(values: HelmValues, { gates, image, highlyAvailable }: ClusterState): void {
  setGates(values, new Set(gates));
  for (const component of ["catalogd", "operatorController"]) {
    setValue(values, `options.${component}.deployment.image`, image);
    if (!highlyAvailable) continue;
    setValue(values, `options.${component}.deployment.replicas`, 2);
    setValue(values, `options.${component}.podDisruptionBudget.enabled`, true);
  }
}

/** Splits at lines with only ---, and omits documents with only comments. */
function splitDocuments(text: string): string[] {
  const documents: string[][] = [[]];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "---" && index > 0) documents.push([]);
    else documents.at(-1)?.push(line);
  }
  const isContent = (line: string): boolean => !["", "---"].includes(line.trim()) && !line.trim().startsWith("#");
  return documents.filter((lines) => lines.some(isContent)).map((lines) => lines.join("\n").trim());
}

function formatFileName({ kind, metadata: { name, namespace } }: KubeObject): string {
  const parts = [namespace, kind.toLowerCase(), name].filter((part) => part !== undefined);
  return `${parts.map((part) => part.replaceAll(/[^a-zA-Z0-9.-]/g, "-")).join("-")}.yaml`;
}
