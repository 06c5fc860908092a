import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { compareText } from "../text/compare.ts";
import type { RawObject } from "./schema.ts";

/** A version of a CRD; a schema that is not there is undefined. */
export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema: unknown;
}

/** The versions of a CRD in its order; none where there are none. */
export function readCrdVersions(crd: unknown): CrdVersion[] {
  const { versions } = specOf(crd);
  if (!Array.isArray(versions)) return [];
  return versions.filter(isObject).map(({ name, served, storage, schema }) => ({
    name: textOf(name),
    served: served === true,
    storage: storage === true,
    schema: isObject(schema) ? schema["openAPIV3Schema"] : undefined,
  }));
}

/** Versions that the API server has stored objects in, or may have. */
export function readCrdStoredVersions(crd: unknown): string[] {
  const status = isObject(crd) ? crd["status"] : undefined;
  const stored = isObject(status) ? status["storedVersions"] : undefined;
  return Array.isArray(stored) ? stored.filter((name) => typeof name === "string") : [];
}

/** "Namespaced" or "Cluster"; empty where a CRD does not say. */
export function readCrdScope(crd: unknown): string {
  return textOf(specOf(crd)["scope"]);
}

/** Group and kind of the custom resources of a CRD. */
export function readCrdKind(crd: unknown): { group: string; kind: string } {
  const { group, names } = specOf(crd);
  return { group: textOf(group), kind: isObject(names) ? textOf(names["kind"]) : "" };
}

/** Whether objects are converted between versions by a webhook, instead of by another apiVersion alone. */
export function hasWebhook(crd: unknown): boolean {
  const { conversion } = specOf(crd);
  return isObject(conversion) && conversion["strategy"] === "Webhook";
}

function specOf(crd: unknown): RawObject {
  const spec = isObject(crd) ? crd["spec"] : undefined;
  return isObject(spec) ? spec : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const KUBE_VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGES = ["alpha", "beta", ""];

/**
 * The order of API versions by how far they are: `v1alpha1` < `v1beta1` < `v1beta2` < `v1` < `v2`. Names of another form come first,
 * among themselves backwards.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/version#CompareKubeAwareVersionStrings
 */
export function compareKubeVersions(a: string, b: string): number {
  const [one, other] = [parse(a), parse(b)];
  if (!one || !other) {
    if (one) return 1;
    if (other) return -1;
    return compareText(b, a);
  }
  for (const [index, part] of one.entries()) {
    const difference = part - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function parse(name: string): number[] | undefined {
  const [whole, major, stage = "", minor = "0"] = KUBE_VERSION.exec(name) ?? [];
  return whole === undefined ? undefined : [STAGES.indexOf(stage), Number(major), Number(minor)];
}

/** The Service that converts the custom resources of a CRD; undefined without a conversion webhook, and for one that is called by URL. */
export function readConversionService(crd: KubeObject): ObjectRef | undefined {
  if (!hasWebhook(crd)) return undefined;
  const { conversion } = crd["spec"] as { conversion: { webhook?: { clientConfig?: { service?: unknown } } } };
  const service = conversion.webhook?.clientConfig?.service;
  if (!isObject(service) || typeof service["name"] !== "string" || typeof service["namespace"] !== "string") return undefined;
  return { apiVersion: "v1", kind: "Service", namespace: service["namespace"], name: service["name"] };
}

/**
 * Whether custom resources of a CRD stay what they are when their conversion only changes the apiVersion (strategy None): they are stored in one
 * version, and every served version has the schema of that one.
 */
export function isConvertibleByName(crd: KubeObject): boolean {
  const [stored, ...others] = readCrdStoredVersions(crd);
  const versions = readCrdVersions(crd);
  const from = versions.find(({ name }) => name === stored);
  if (!from || others.length > 0) return false;
  const schema = encodeCanonicalJson(from.schema ?? null);
  return versions.every((version) => !version.served || encodeCanonicalJson(version.schema ?? null) === schema);
}
