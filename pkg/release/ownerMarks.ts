import { ANNOTATION_OWNER_UID, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../api/constants.ts";
import type { KubeObject, ObjectMeta } from "../api/k8s.ts";
import { isCrd } from "./identity.ts";

/** The extension that objects are marked with. */
export interface ObjectOwner {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
}

/**
 * `object` marked as the owner's: two labels on everything; a CRD gets the uid as an annotation, everything else a controller
 * reference that does not block the owner's deletion. Other ownerReferences go: a manifest cannot know a uid.
 */
export function withOwner(object: KubeObject, owner: ObjectOwner): KubeObject {
  const { ownerReferences: _, ...rest } = object.metadata;
  const metadata: ObjectMeta = { ...rest, labels: { ...rest.labels, [LABEL_OWNER_KIND]: owner.kind, [LABEL_OWNER_NAME]: owner.name } };
  if (isCrd(object)) {
    metadata.annotations = { ...rest.annotations, [ANNOTATION_OWNER_UID]: owner.uid };
  } else {
    const { apiVersion, kind, name, uid } = owner;
    metadata.ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: false }];
  }
  return { ...object, metadata };
}

/** `object` without the marks of `withOwner`. */
export function withoutOwner(object: KubeObject): KubeObject {
  const { ownerReferences: _, labels, annotations, ...rest } = object.metadata;
  const metadata: ObjectMeta = rest;
  const otherLabels = without(labels, [LABEL_OWNER_KIND, LABEL_OWNER_NAME]);
  if (otherLabels) metadata.labels = otherLabels;
  const otherAnnotations = without(annotations, [ANNOTATION_OWNER_UID]);
  if (otherAnnotations) metadata.annotations = otherAnnotations;
  return { ...object, metadata };
}

function without(map: Readonly<Record<string, string>> | undefined, keys: readonly string[]): Record<string, string> | undefined {
  const left = Object.entries(map ?? {}).filter(([key]) => !keys.includes(key));
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}
