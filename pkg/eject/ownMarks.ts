import { CERTIFICATES_FIELD_MANAGER, FIELD_MANAGER, GROUP } from "../api/constants.ts";
import type { JsonObject, KubeObject, ObjectMeta } from "../api/k8s.ts";

/** A Helm release. */
export interface HelmRelease {
  readonly name: string;
  readonly namespace: string;
}

const PREFIX = `${GROUP}/`;
const MANAGED_BY = "app.kubernetes.io/managed-by";
/** Managers of this project. Without them, other clients can change the fields without a conflict. */
const MANAGERS: readonly unknown[] = [FIELD_MANAGER, CERTIFICATES_FIELD_MANAGER];
/** An empty list would restore the stored managers. @see https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields */
const NO_MANAGERS: readonly JsonObject[] = [{}];

/** Returns a released object without owner reference, and without labels and annotations of this project. Does not change Pod templates. */
export function withoutMarks(object: KubeObject): KubeObject {
  const { ownerReferences: _, labels, annotations, ...rest } = object.metadata;
  const metadata: ObjectMeta = rest;
  const [otherLabels, otherAnnotations] = [omitOwn(labels), omitOwn(annotations)];
  if (otherLabels) metadata.labels = otherLabels;
  if (otherAnnotations) metadata.annotations = otherAnnotations;
  return { ...object, metadata };
}

function omitOwn(map: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined {
  const left = Object.entries(map ?? {}).filter(([key]) => !key.startsWith(PREFIX));
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}

/**
 * Returns the merge patch that removes all marks of this project from a live object: the owner reference, labels, annotations, and field managers. It
 * changes only metadata, so no controller replaces Pods. The resourceVersion makes the API server reject it if the object changed.
 * @param ownerUid uid of the extension
 * @param helm the release that owns the object afterwards; adds the label and annotations that let Helm adopt it
 * @see https://helm.sh/docs/helm/helm_upgrade/ and pkg/action/validate.go of helm/helm v3.18.4
 */
export function buildDetachPatch({ metadata }: KubeObject, ownerUid: string, helm: HelmRelease | undefined): { metadata: JsonObject } {
  const { uid, resourceVersion, labels, annotations, ownerReferences = [], managedFields = [] } = metadata;
  const managers = managedFields.filter(({ manager }) => !MANAGERS.includes(manager));
  const marks = helm
    ? {
        labels: { [MANAGED_BY]: "Helm" },
        annotations: { "meta.helm.sh/release-name": helm.name, "meta.helm.sh/release-namespace": helm.namespace },
      }
    : { labels: {}, annotations: {} };
  return {
    metadata: {
      uid,
      resourceVersion,
      labels: { ...removeOwn(labels), ...marks.labels },
      annotations: { ...removeOwn(annotations), ...marks.annotations },
      ownerReferences: ownerReferences.filter((reference) => reference.uid !== ownerUid),
      managedFields: managers.length > 0 ? managers : NO_MANAGERS,
    },
  };
}

/** Returns null for each label or annotation of this project, which removes it. */
function removeOwn(map: Readonly<Record<string, string>> = {}): Record<string, null> {
  return Object.fromEntries(Object.keys(map).flatMap((key) => (key.startsWith(PREFIX) ? [[key, null]] : [])));
}
