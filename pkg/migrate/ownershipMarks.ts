import { ANNOTATION_OWNER_UID, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../api/constants.ts";
import { getGroup, type JsonObject, type KubeObject, type ObjectRef, type OwnerReference, toObjectRef } from "../api/k8s.ts";
import { CLASSIC_GROUP, getComponentLabel, LABEL_LEFTOVER } from "../api/migration.ts";
import { getObjectAt } from "../golang/members.ts";
import { isCrd } from "../release/identity.ts";
import { type ObjectOwner, withOwner } from "../release/labels.ts";
import type { InstalledCsv } from "./clusterServiceVersion.ts";

/** The ClusterServiceVersion whose marks to find, with its package. */
export type MarkedBy = Pick<InstalledCsv, "namespace" | "name" | "definitions"> & { readonly packageName: string };

/** The marks that a conversion removes from an object, for a rollback. */
export interface RemovedMarks {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Owner references to the ClusterServiceVersion. */
  readonly ownerReferences: readonly OwnerReference[];
  /** `spec.conversion` of a CRD with a conversion webhook, which OLM v0 disables when the ClusterServiceVersion is deleted. */
  readonly conversion?: JsonObject;
  /** Whether the extension adopted the object; otherwise it is a leftover. */
  readonly adopted: boolean;
}

const OWNER_LABELS: readonly string[] = ["olm.owner", "olm.owner.kind", "olm.owner.namespace", "olm.managed", "olm.deployment-spec-hash"];
const WEBHOOK = "Webhook";
const LABEL_PACKAGE = "olm.operatorframework.io/package-name";
const LABEL_VERSION = "olm.operatorframework.io/bundle-version";

/**
 * Reports whether OLM v0 created an object for a ClusterServiceVersion: by an owner reference, by owner labels, or because the ClusterServiceVersion
 * owns this CRD. CRDs are cluster-scoped and have at most a label with the package. A user who can forge these marks can already write the object.
 */
export function belongsToCsv(object: KubeObject, csv: MarkedBy): boolean {
  const { labels = {}, ownerReferences = [], namespace } = object.metadata;
  const controller = ownerReferences.find((reference) => reference.controller);
  if (controller && !names(controller, csv)) return false;
  if (namespace === csv.namespace && ownerReferences.some((reference) => names(reference, csv))) return true;
  if (labels["olm.owner"] !== undefined) return labels["olm.owner"] === csv.name && labels["olm.owner.namespace"] === csv.namespace;
  return isCrd(object) && csv.definitions.includes(object.metadata.name) && labels[LABEL_OWNER_NAME] === undefined;
}

/** Returns the OLM v0 marks on an object of a ClusterServiceVersion. */
export function readMarks(object: KubeObject, csv: MarkedBy, adopted: boolean): RemovedMarks {
  const { labels = {}, ownerReferences = [], uid = "" } = object.metadata;
  const component = getComponentLabel(csv);
  const conversion = getObjectAt(getObjectAt(object, "spec"), "conversion");
  const found = Object.entries(labels).filter(([key]) => OWNER_LABELS.includes(key) || key === component);
  return {
    ref: toObjectRef(object),
    uid,
    labels: Object.fromEntries(found),
    ownerReferences: ownerReferences.filter((reference) => names(reference, csv)),
    ...(isCrd(object) && conversion["strategy"] === WEBHOOK ? { conversion } : {}),
    adopted,
  };
}

/**
 * Returns the merge patch that removes the OLM v0 marks from a live object. The patch also adds the marks that operator-controller sets on objects of
 * an extension or, if the extension does not adopt the object, marks it as a leftover. Keeps other labels, annotations and references.
 * @param csv the owner whose references to remove
 * @param extension with its uid
 */
export function buildMarkingPatch(live: KubeObject, marks: RemovedMarks, csv: MarkedBy, extension: ObjectOwner): JsonObject {
  const { labels = {}, ownerReferences = [], resourceVersion } = live.metadata;
  const removed = Object.fromEntries(
    Object.keys(marks.labels)
      .filter((key) => key in labels)
      .map((key) => [key, null]),
  );
  const others = ownerReferences.filter((reference) => !names(reference, csv) && reference.uid !== extension.uid);
  if (!marks.adopted)
    return { metadata: { resourceVersion, labels: { ...removed, [LABEL_LEFTOVER]: extension.name }, ownerReferences: others } };
  const { metadata } = withOwner({ apiVersion: live.apiVersion, kind: live.kind, metadata: { name: live.metadata.name } }, extension);
  return {
    metadata: {
      resourceVersion,
      labels: { ...removed, ...metadata.labels },
      ...(metadata.annotations ? { annotations: metadata.annotations } : {}),
      ownerReferences: [...others, ...(metadata.ownerReferences ?? [])],
    },
  };
}

/**
 * Returns the merge patch that transfers a live object back to OLM v0; undefined if the object does not have the marks of the extension. Restores
 * only OLM v0 marks, regardless of what the backup contains.
 * @param csv with its current uid
 */
export function buildRestoringPatch(
  live: KubeObject,
  marks: RemovedMarks,
  csv: MarkedBy & { readonly uid: string },
  extension: Pick<ObjectOwner, "name" | "uid">,
): JsonObject | undefined {
  if (live.metadata.uid !== marks.uid || !hasExtensionMarks(live, extension)) return undefined;
  const { uid: csvUid } = csv;
  const { uid: extensionUid } = extension;
  const { ownerReferences = [], resourceVersion } = live.metadata;
  const component = getComponentLabel(csv);
  const labels = Object.entries(marks.labels).filter(([key]) => OWNER_LABELS.includes(key) || key === component);
  const kept = ownerReferences.filter(({ uid }) => uid !== extensionUid && uid !== csvUid);
  const ours = [LABEL_OWNER_KIND, LABEL_OWNER_NAME, LABEL_PACKAGE, LABEL_VERSION, LABEL_LEFTOVER];
  return {
    metadata: {
      resourceVersion,
      labels: { ...Object.fromEntries(ours.map((key) => [key, null])), ...Object.fromEntries(labels) },
      annotations: { [ANNOTATION_OWNER_UID]: null },
      ownerReferences: [
        ...kept,
        ...marks.ownerReferences.filter((reference) => names(reference, csv)).map((reference) => ({ ...reference, uid: csvUid })),
      ],
    },
  };
}

/** Returns the merge patch that restores the conversion webhook of a live CRD; undefined if the webhook is enabled, or if the CRD never had one. */
export function buildConversionPatch(
  live: KubeObject,
  { uid, conversion }: Pick<RemovedMarks, "uid" | "conversion">,
): JsonObject | undefined {
  if (!conversion || !isCrd(live) || live.metadata.uid !== uid) return undefined;
  if (getObjectAt(getObjectAt(live, "spec"), "conversion")["strategy"] === WEBHOOK) return undefined;
  return { metadata: { resourceVersion: live.metadata.resourceVersion }, spec: { conversion } };
}

/** Reports whether an object has no marks left, so that OLM v0 and the garbage collector ignore it when the ClusterServiceVersion is deleted. */
export function isDetached(object: KubeObject, csv: MarkedBy): boolean {
  const { labels = {}, ownerReferences = [] } = object.metadata;
  return labels["olm.owner"] === undefined && !ownerReferences.some((reference) => names(reference, csv));
}

/** Reports whether an object has the extension's marks, from a conversion or from operator-controller. */
export function hasExtensionMarks({ metadata }: KubeObject, { name, uid }: Pick<ObjectOwner, "name" | "uid">): boolean {
  return (
    (metadata.ownerReferences ?? []).some((reference) => reference.uid === uid) ||
    metadata.annotations?.[ANNOTATION_OWNER_UID] === uid ||
    metadata.labels?.[LABEL_LEFTOVER] === name
  );
}

function names({ apiVersion, kind, name }: OwnerReference, csv: Pick<MarkedBy, "name">): boolean {
  return getGroup(apiVersion) === CLASSIC_GROUP && kind === "ClusterServiceVersion" && name === csv.name;
}
