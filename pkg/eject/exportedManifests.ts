import type { KubeObject } from "../api/k8s.ts";
import { toYaml } from "../golang/yaml.ts";
import { isCrd } from "../release/identity.ts";
import { quoteShellWord } from "../text/shell.ts";
import { type HelmRelease, withoutMarks } from "./ownMarks.ts";

/** The forms of exported manifests. */
export const EXPORT_FORMATS = ["kustomize", "helm"] as const;

/** One of `EXPORT_FORMATS`. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The bundle of exported manifests. */
export interface ExportedBundle {
  readonly packageName: string;
  readonly version: string;
}

/** Files by path relative to the output folder. */
export type ExportedFiles = ReadonlyMap<string, string>;

/** Letters of a kind in a file name. Other kinds get the name "object", because manifests of bundles are untrusted. */
const FILE_KIND = /^[A-Za-z][A-Za-z0-9]{0,62}$/;

/**
 * Returns the manifests of released objects, without the marks of this project, as a kustomization.
 * @param objects in apply order
 */
export function buildKustomization(objects: readonly KubeObject[]): ExportedFiles {
  const files = objects.map((object, at): [string, string] => [`objects/${fileName(object, at)}`, toYaml(withoutMarks(object))]);
  const resources = files.map(([path]) => path);
  const kustomization = { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources };
  return new Map([["kustomization.yaml", toYaml(kustomization)], ...files]);
}

/** Annotation that makes `helm uninstall` keep an object. */
const KEEP = { "helm.sh/resource-policy": "keep" };
const CHART_NAME = /^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$/;

/**
 * Returns the manifests of released objects, without the marks of this project, as a Helm chart. CustomResourceDefinitions are templates, because Helm
 * never upgrades those in crds/; `helm uninstall` keeps them and their custom resources.
 * @param objects in apply order
 */
export function buildHelmChart(objects: readonly KubeObject[], { packageName, version }: ExportedBundle): ExportedFiles {
  const chart = {
    apiVersion: "v2",
    name: CHART_NAME.test(packageName) ? packageName : "operator",
    description: "An operator that was ejected from olmv1",
    type: "application",
    version,
    appVersion: version,
  };
  const files = objects.map((object, at): [string, string] => {
    const plain = withoutMarks(object);
    const { metadata } = plain;
    const kept = isCrd(plain) ? { ...plain, metadata: { ...metadata, annotations: { ...metadata.annotations, ...KEEP } } } : plain;
    return [`templates/${fileName(object, at)}`, escapeTemplate(toYaml(kept))];
  });
  return new Map([["Chart.yaml", toYaml(chart)], ["values.yaml", "{}\n"], ...files]);
}

/**
 * Returns the command that manages the objects from a folder afterwards, for a POSIX shell.
 * @param helm the release that adopts the objects; undefined for a kustomization
 */
export function formatNextCommand(helm: HelmRelease | undefined, folder: string): string {
  const words = helm
    ? ["helm", "upgrade", "--install", helm.name, folder, "--namespace", helm.namespace]
    : ["kubectl", "apply", "--server-side", "-k", folder];
  return words.map(quoteShellWord).join(" ");
}

/** Helm treats text between two braces as a template. */
function escapeTemplate(text: string): string {
  return text.replaceAll("{{", '{{ "{{" }}');
}

function fileName({ kind }: KubeObject, at: number): string {
  const word = FILE_KIND.test(kind) ? kind.toLowerCase() : "object";
  return `${String(at + 1).padStart(3, "0")}-${word}.yaml`;
}
