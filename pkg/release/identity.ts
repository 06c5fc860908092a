import { createHash } from "node:crypto";
import { groupOf, type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { TerminalError } from "../errors/errors.ts";
import { canonicalJson } from "../golang/json.ts";

/** The kind whose deletion takes user data along. */
export const CRD_KIND = "CustomResourceDefinition";

/**
 * One text for one object of the cluster: group, kind, namespace and name.
 * The version is no part of it, an object read in another version is the same object.
 */
export function objectKey(object: KubeObject | ObjectRef): string {
  const { apiVersion, kind, namespace, name } = "metadata" in object ? refOf(object) : object;
  return `${groupOf(apiVersion)}/${kind}/${namespace ?? ""}/${name}`;
}

/** "Kind ns/name", or "Kind name" without a namespace, for messages. */
export function describeObject(object: KubeObject | ObjectRef): string {
  const { kind, namespace, name } = "metadata" in object ? refOf(object) : object;
  return namespace ? `${kind} ${namespace}/${name}` : `${kind} ${name}`;
}

/** True for a CustomResourceDefinition of the API server's own group. */
export function isCrd(object: { apiVersion: string; kind: string }): boolean {
  return object.kind === CRD_KIND && groupOf(object.apiVersion) === "apiextensions.k8s.io";
}

/**
 * Real bundles hold manifests without an apiVersion, which no API server takes; everything that looks at kinds calls this first.
 * @throws TerminalError Blocked that names every object without apiVersion, kind or name, and what it lacks.
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
  if (nameless.length > 0) throw new UnidentifiedObjectsError(`the bundle holds objects that cannot be applied: ${nameless.join(", ")}`);
}

/** Objects without apiVersion, kind or name. */
export class UnidentifiedObjectsError extends TerminalError {
  constructor(message: string) {
    super("Blocked", message, { problems: [newProblem("BundleInvalid", { message })] });
  }
}

/** SHA-256 (hex) of one object, whatever the order of its members. */
export function objectDigest(object: KubeObject): string {
  return createHash("sha256").update(canonicalJson(object)).digest("hex");
}

/** SHA-256 (hex) of a set of objects, whatever their order and that of their members. */
export function objectsDigest(objects: readonly KubeObject[]): string {
  const lines = objects.map((object) => `${objectKey(object)} ${objectDigest(object)}\n`);
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}
