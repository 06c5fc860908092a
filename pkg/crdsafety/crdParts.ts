import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { isObject } from "../golang/members.ts";
import { compareText } from "../text/compare.ts";
import type { RawObject } from "./schema.ts";

/** A version of a CRD. `schema` is undefined if the version has none. */
export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  schema: unknown;
}

/** Returns the versions of a CRD in their order, or an empty list. */
export function readCrdVersions(crd: unknown): CrdVersion[] {
  const { versions } = readSpec(crd);
  if (!Array.isArray(versions)) return [];
  return versions.filter(isObject).map(({ name, served, storage, schema }) => ({
    name: readText(name),
    served: served === true,
    storage: storage === true,
    schema: isObject(schema) ? schema["openAPIV3Schema"] : undefined,
  }));
}

/** Returns the versions in which the API server may have stored objects. */
export function readCrdStoredVersions(crd: unknown): string[] {
  const status = isObject(crd) ? crd["status"] : undefined;
  const stored = isObject(status) ? status["storedVersions"] : undefined;
  return Array.isArray(stored) ? stored.filter((name) => typeof name === "string") : [];
}

/** Returns "Namespaced" or "Cluster", or an empty text if the CRD has no scope. */
export function readCrdScope(crd: unknown): string {
  return readText(readSpec(crd)["scope"]);
}

/** Returns group and kind of the custom resources of a CRD. */
export function readCrdKind(crd: unknown): { group: string; kind: string } {
  const { group, names } = readSpec(crd);
  return { group: readText(group), kind: isObject(names) ? readText(names["kind"]) : "" };
}

/** Returns whether a webhook converts objects between versions. */
export function hasWebhook(crd: unknown): boolean {
  const { conversion } = readSpec(crd);
  return isObject(conversion) && conversion["strategy"] === "Webhook";
}

function readSpec(crd: unknown): RawObject {
  const spec = isObject(crd) ? crd["spec"] : undefined;
  return isObject(spec) ? spec : {};
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

const KUBE_VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGES = ["alpha", "beta", ""];

/**
 * Compares API versions by maturity: `v1alpha1` < `v1beta1` < `v1beta2` < `v1` < `v2`. Other names come first, in reverse order.
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

/** Returns the Service of a CRD's conversion webhook; undefined if there is no webhook or it has a URL. */
export function readConversionService(crd: KubeObject): ObjectRef | undefined {
  if (!hasWebhook(crd)) return undefined;
  const { conversion } = crd["spec"] as { conversion: { webhook?: { clientConfig?: { service?: unknown } } } };
  const service = conversion.webhook?.clientConfig?.service;
  if (!isObject(service) || typeof service["name"] !== "string" || typeof service["namespace"] !== "string") return undefined;
  return { apiVersion: "v1", kind: "Service", namespace: service["namespace"], name: service["name"] };
}

/**
 * Returns whether conversion strategy None, which only changes the apiVersion, is sufficient: custom resources are stored in one version, and each
 * served version has the schema of that version.
 */
export function isConvertibleByName(crd: KubeObject): boolean {
  const [stored, ...others] = readCrdStoredVersions(crd);
  const versions = readCrdVersions(crd);
  const from = versions.find(({ name }) => name === stored);
  if (!from || others.length > 0) return false;
  const schema = encodeCanonicalJson(from.schema ?? null);
  return versions.every((version) => !version.served || encodeCanonicalJson(version.schema ?? null) === schema);
}
