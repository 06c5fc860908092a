import { groupOf, type KubeObject, type ObjectRef, refOf } from "../api/k8s.ts";

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
