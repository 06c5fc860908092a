import { createHash } from "node:crypto";
import { getGroup, type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { TerminalError } from "../errors/errors.ts";
import { encodeCanonicalJson } from "../golang/json.ts";

/** The kind CustomResourceDefinition, whose deletion also deletes custom resources. */
export const CRD_KIND = "CustomResourceDefinition";
/** The API version and kind of CustomResourceDefinitions. */
export const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: CRD_KIND } as const;

/**
 * Returns a key for an object of the cluster: group, kind, namespace and name. The version is omitted, because all versions represent the same
 * object.
 */
export function getObjectKey(object: KubeObject | ObjectRef): string {
  const { apiVersion, kind, namespace, name } = "metadata" in object ? toObjectRef(object) : object;
  return `${getGroup(apiVersion)}/${kind}/${namespace ?? ""}/${name}`;
}

/** Formats an object for messages: "Kind ns/name", or "Kind name" without a namespace. */
export function describeObject(object: KubeObject | ObjectRef): string {
  const { kind, namespace, name } = "metadata" in object ? toObjectRef(object) : object;
  return namespace ? `${kind} ${namespace}/${name}` : `${kind} ${name}`;
}

/** Reports whether an object is a CustomResourceDefinition of the API server's own group. */
export function isCrd(object: { apiVersion: string; kind: string }): boolean {
  return object.kind === CRD_KIND && getGroup(object.apiVersion) === "apiextensions.k8s.io";
}

/** Reports whether an object is a Secret of the core group. */
export function isSecret({ apiVersion, kind }: { apiVersion: string; kind: string }): boolean {
  return kind === "Secret" && getGroup(apiVersion) === "";
}

/**
 * Checks that all objects have an identity. Real bundles contain manifests without an apiVersion, which no API server accepts; call this before code
 * that uses kinds.
 * @throws TerminalError Blocked with every object that lacks apiVersion, kind or name, and the missing fields
 */
export function requireIdentities(objects: readonly KubeObject[]): void {
  const nameless = objects.flatMap((object: Partial<KubeObject>, i) => {
    const { apiVersion, kind, metadata } = object;
    const lacks = [apiVersion ? "" : "apiVersion", kind ? "" : "kind", metadata?.name ? "" : "metadata.name"].filter(
      (member) => member !== "",
    );
    const label = [kind || "object", metadata?.name ? `"${metadata.name}"` : `number ${i + 1}`].join(" ");
    return lacks.length === 0 ? [] : [`${label} has no ${lacks.join(" and no ")}`];
  });
  if (nameless.length > 0) throw new UnidentifiedObjectsError(`the bundle contains objects that cannot be applied: ${nameless.join(", ")}`);
}

/** Thrown for objects without apiVersion, kind or name. */
export class UnidentifiedObjectsError extends TerminalError {
  constructor(message: string) {
    super("Blocked", message, { problems: [newProblem("BundleInvalid", { message })] });
  }
}

/** Returns the SHA-256 (hex) of one object, independent of the order of its fields. */
export function digestObject(object: KubeObject): string {
  return createHash("sha256").update(encodeCanonicalJson(object)).digest("hex");
}

/** Returns the SHA-256 (hex) of a set of objects, independent of their order and that of their fields. */
export function digestObjects(objects: readonly KubeObject[]): string {
  const lines = objects.map((object) => `${getObjectKey(object)} ${digestObject(object)}\n`);
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}
