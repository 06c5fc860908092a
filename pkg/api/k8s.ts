/** Plain JSON as it stands on the wire. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A JSON object whose members are not known to us; unknown fields must survive. */
export type JsonObject = { [key: string]: unknown };

/** Owner reference as metav1 has it. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The members of metav1.ObjectMeta that this project reads or writes. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: JsonObject[];
}

/** Any Kubernetes object as wire JSON: what came in goes out, unknown members included. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [member: string]: unknown;
}

/** Names one kind: `apiVersion` is "v1" or "group/version". */
export interface GroupVersionKind {
  apiVersion: string;
  kind: string;
}

/** Names one object. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectRef extends GroupVersionKind {
  name: string;
  namespace?: string | undefined;
}

/** metav1.Condition. */
export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  observedGeneration?: number;
  lastTransitionTime: string;
}

/** "group" of an apiVersion; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** "version" of an apiVersion. */
export function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}

/** The reference that names `object`. */
export function refOf(object: KubeObject): ObjectRef {
  const { apiVersion, kind, metadata } = object;
  return metadata.namespace
    ? { apiVersion, kind, name: metadata.name, namespace: metadata.namespace }
    : { apiVersion, kind, name: metadata.name };
}
