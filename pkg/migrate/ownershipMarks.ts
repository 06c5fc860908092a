import { ANNOTATION_OWNER_UID, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../api/constants.ts";
import { getGroup, type JsonObject, type KubeObject, type ObjectRef, type OwnerReference, toObjectRef } from "../api/k8s.ts";
import { CLASSIC_GROUP, getComponentLabel, LABEL_LEFTOVER } from "../api/migration.ts";
import { OPERATOR_CONDITION } from "../api/operatorCondition.ts";
import { getObjectAt } from "../golang/members.ts";
import { getObjectKey, isCrd, isSecret } from "../release/identity.ts";
import { type ObjectOwner, withOwner } from "../release/labels.ts";
import type { InstalledCsv } from "./clusterServiceVersion.ts";

/** Keys of the objects that InstallPlans created, see `getPlannedKey`. */
export interface PlannedObjects {
  /** For the ClusterServiceVersion. */
  readonly own: ReadonlySet<string>;
  /** For other ClusterServiceVersions that exist in the namespace, with their names. */
  readonly others: ReadonlyMap<string, string>;
}

/** The ClusterServiceVersion whose marks to find, with its package. */
export type MarkedBy = Pick<InstalledCsv, "namespace" | "name" | "definitions"> & {
  readonly packageName: string;
  /** The objects that InstallPlans created; absent if they are not needed, such as after the objects were found. */
  readonly planned?: PlannedObjects;
};

/** The marks that a conversion removes from an object, for a rollback. */
export interface RemovedMarks {
  readonly ref: ObjectRef;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Owner references to the ClusterServiceVersion. */
  readonly ownerReferences: readonly OwnerReference[];
  /** `spec.conversion` of a CRD with a conversion webhook, which OLM v0 disables when the ClusterServiceVersion is deleted. */
  readonly conversion?: JsonObject;
  /**
   * Content of a Secret with a serving certificate of OLM v0, and its annotations. OLM v0 recreates the certificate, and restarts the Pods, if the Secret
   * has lost its key of the authority. Backups of earlier versions contain every Secret; a rollback ignores the others.
   */
  readonly secret?: SecretContent;
  /** Whether the extension adopted the object; otherwise it is a leftover. */
  readonly adopted: boolean;
}

/** The parts of a Secret that a rollback restores. */
interface SecretContent {
  readonly data: JsonObject;
  readonly annotations: Readonly<Record<string, string>>;
}

const OWNER_LABELS: readonly string[] = [
  "olm.owner",
  "olm.owner.kind",
  "olm.owner.namespace",
  "olm.managed",
  "olm.deployment-spec-hash",
  "olm.permissions.hash",
];
const WEBHOOK = "Webhook";
const LABEL_PACKAGE = "olm.operatorframework.io/package-name";
const LABEL_VERSION = "olm.operatorframework.io/bundle-version";

const LABEL_MANAGED = "olm.managed";
const CSV_KIND = "ClusterServiceVersion";

/**
 * Reports whether OLM v0 created an object for a ClusterServiceVersion: by an owner reference, by owner labels, because an InstallPlan created it, or
 * because the ClusterServiceVersion owns this CRD. CRDs are cluster-scoped and have at most a label with the package. A user who can forge these marks
 * can already write the object.
 */
export function belongsToCsv(object: KubeObject, csv: MarkedBy): boolean {
  const { labels = {}, ownerReferences = [], namespace } = object.metadata;
  const controller = ownerReferences.find((reference) => reference.controller);
  if (controller && !names(controller, csv)) return false;
  if (namespace === csv.namespace && ownerReferences.some((reference) => names(reference, csv))) return true;
  const { "olm.owner": owner, "olm.owner.namespace": ownerNamespace } = labels;
  if (owner !== undefined && (owner !== csv.name || ownerNamespace !== undefined))
    return owner === csv.name && ownerNamespace === csv.namespace;
  if (labels[LABEL_OWNER_NAME] !== undefined || ownerReferences.some(isCsv)) return false;
  if (isCrd(object) && csv.definitions.includes(object.metadata.name)) return true;
  return isPlanned(object, csv) && isWrittenByOlmV0(object);
}

/**
 * Reports whether an object of the bundle belongs to a ClusterServiceVersion although InstallPlans no longer exist: only OLM v0 wrote it, and no
 * other owner is known.
 */
export function isManifestOfCsv(object: KubeObject, csv: MarkedBy): boolean {
  if (belongsToCsv(object, csv)) return true;
  const { labels = {}, ownerReferences = [], namespace } = object.metadata;
  const isOthers = labels["olm.owner"] !== undefined && labels["olm.owner"] !== csv.name;
  if (ownerReferences.length > 0 || isOthers || labels[LABEL_OWNER_NAME] !== undefined) return false;
  if (namespace !== undefined && namespace !== csv.namespace) return false;
  const components = Object.keys(labels).filter((key) => key.startsWith(`${CLASSIC_GROUP}/`));
  if (components.some((key) => key !== getComponentLabel(csv))) return false;
  return isWrittenByOlmV0(object) && !csv.planned?.others.has(getPlannedKey(object));
}

/** An InstallPlan does not name namespaces: a namespaced object is in the namespace of its ClusterServiceVersion. */
function isPlanned(object: KubeObject, { namespace, planned }: MarkedBy): boolean {
  const key = getPlannedKey(object);
  if (!planned?.own.has(key) || planned.others.has(key)) return false;
  return object.metadata.namespace === undefined || object.metadata.namespace === namespace;
}

/** Reports whether OLM v0 labelled an object, or wrote fields of it. Older versions do not set the label. */
function isWrittenByOlmV0({ metadata: { labels, managedFields = [] } }: KubeObject): boolean {
  return labels?.[LABEL_MANAGED] === "true" || managedFields.some(({ manager }) => manager === "catalog" || manager === "olm");
}

function isCsv({ apiVersion, kind }: OwnerReference): boolean {
  return getGroup(apiVersion) === CLASSIC_GROUP && kind === CSV_KIND;
}

/**
 * Returns the key by which InstallPlans name an object: they do not contain a namespace, because it is that of the InstallPlan unless the object is
 * cluster-scoped.
 */
export function getPlannedKey(object: KubeObject | ObjectRef): string {
  const { apiVersion, kind, name } = "metadata" in object ? { ...object, name: object.metadata.name } : object;
  return getObjectKey({ apiVersion, kind, name });
}

/**
 * Reports whether a backup contains a serving certificate that OLM v0 issued. Users may have changed the content of all other Secrets since.
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/install/certresources.go
 */
export function hasServingCertificate({ secret }: Pick<RemovedMarks, "secret">): boolean {
  return secret?.data["olmCAKey"] !== undefined || secret?.annotations["olmcahash"] !== undefined;
}

/** Returns the OLM v0 marks on an object of a ClusterServiceVersion. */
export function readMarks(object: KubeObject, csv: MarkedBy, adopted: boolean): RemovedMarks {
  const { labels = {}, annotations = {}, ownerReferences = [], uid = "" } = object.metadata;
  const secret = { data: getObjectAt(object, "data"), annotations };
  const component = getComponentLabel(csv);
  const conversion = getObjectAt(getObjectAt(object, "spec"), "conversion");
  const found = Object.entries(labels).filter(([key]) => OWNER_LABELS.includes(key) || key === component);
  return {
    ref: toObjectRef(object),
    uid,
    labels: Object.fromEntries(found),
    ownerReferences: ownerReferences.filter((reference) => names(reference, csv)),
    ...(isCrd(object) && conversion["strategy"] === WEBHOOK ? { conversion } : {}),
    ...(isSecret(object) && hasServingCertificate({ secret }) ? { secret } : {}),
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
  if (!marks.adopted) {
    const leftover = { ...removed, [LABEL_LEFTOVER]: extension.name };
    // Stays while the Pods use it, also after a cleanup. The garbage collector deletes it with the extension.
    const dependent = live.kind === OPERATOR_CONDITION.kind ? [buildDependency(extension)] : [];
    return { metadata: { resourceVersion, labels: leftover, ownerReferences: [...others, ...dependent] } };
  }
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

/** Returns an owner reference that does not make the extension the controller of the object, so that operator-controller does not manage it. */
function buildDependency({ apiVersion, kind, name, uid }: ObjectOwner): OwnerReference {
  return { apiVersion, kind, name, uid };
}

/**
 * Returns the merge patch that transfers a live object back to OLM v0; undefined if the object does not have the marks of the extension. Restores
 * only OLM v0 marks, regardless of what the backup contains.
 * @param csv with its current uid; without uid if it does not exist, because the garbage collector deletes objects of missing owners
 */
export function buildRestoringPatch(
  live: KubeObject,
  marks: RemovedMarks,
  csv: MarkedBy & { readonly uid: string | undefined },
  extension: Pick<ObjectOwner, "name" | "uid">,
): JsonObject | undefined {
  if (live.metadata.uid !== marks.uid || !hasExtensionMarks(live, extension)) return undefined;
  const { uid: csvUid } = csv;
  const { uid: extensionUid } = extension;
  const { ownerReferences = [], labels: current = {}, resourceVersion } = live.metadata;
  const component = getComponentLabel(csv);
  const isOurs = (key: string): boolean => OWNER_LABELS.includes(key) || key === component;
  // A label that exists again is from OLM v0, such as from another version of the operator.
  const labels = Object.entries(marks.labels).filter(([key]) => isOurs(key) && !(key in current));
  const kept = ownerReferences.filter(({ uid }) => uid !== extensionUid && uid !== csvUid);
  const returned = csvUid === undefined ? [] : marks.ownerReferences.flatMap((one) => (names(one, csv) ? [{ ...one, uid: csvUid }] : []));
  const ours = [LABEL_OWNER_KIND, LABEL_OWNER_NAME, LABEL_PACKAGE, LABEL_VERSION, LABEL_LEFTOVER];
  return {
    metadata: {
      resourceVersion,
      labels: { ...Object.fromEntries(ours.map((key) => [key, null])), ...Object.fromEntries(labels) },
      annotations: { [ANNOTATION_OWNER_UID]: null },
      ownerReferences: [...kept, ...returned],
    },
  };
}

/**
 * Returns the merge patch that restores the serving certificate of OLM v0 in a live Secret; undefined if it did not contain one, or if the Secret is
 * another one. Rolling back without it makes OLM v0 create another certificate authority, which restarts the Pods.
 */
export function buildSecretPatch(live: KubeObject, { uid, secret }: Pick<RemovedMarks, "uid" | "secret">): JsonObject | undefined {
  if (!secret || !hasServingCertificate({ secret }) || !isSecret(live) || live.metadata.uid !== uid) return undefined;
  const data = { ...Object.fromEntries(Object.keys(getObjectAt(live, "data")).map((key) => [key, null])), ...secret.data };
  return { metadata: { resourceVersion: live.metadata.resourceVersion, annotations: secret.annotations }, data };
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
  return getGroup(apiVersion) === CLASSIC_GROUP && kind === CSV_KIND && name === csv.name;
}
