/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A JSON object with unknown members, which must be preserved. */
export type JsonObject = { [key: string]: unknown };

/** metav1.OwnerReference. */
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

/** Any Kubernetes object as JSON, with all its members. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [member: string]: unknown;
}

/** A kind; `apiVersion` is "v1" or "group/version". */
export interface GroupVersionKind {
  apiVersion: string;
  kind: string;
}

/** A reference to an object. `namespace` is absent for cluster-scoped kinds. */
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

/** Returns the group of an apiVersion; empty for the core group. */
export function getGroup(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

/** Returns the version of an apiVersion. */
export function getVersion(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}

/** Reports whether `owner` is in the owner references of `object`. Compares the UID, so an earlier object with the owner's name does not count. */
export function isOwnedBy({ metadata: { ownerReferences = [] } }: Readonly<KubeObject>, owner: Readonly<KubeObject>): boolean {
  return ownerReferences.some(({ uid }) => uid === owner.metadata.uid);
}

/** Returns the reference to `object`. */
export function toObjectRef(object: KubeObject): ObjectRef {
  const { apiVersion, kind, metadata } = object;
  return metadata.namespace
    ? { apiVersion, kind, name: metadata.name, namespace: metadata.namespace }
    : { apiVersion, kind, name: metadata.name };
}
