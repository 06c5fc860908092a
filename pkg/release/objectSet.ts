import { gunzipSync } from "node:zlib";
import {
  ANNOTATION_PROPERTIES,
  API_VERSION,
  CLUSTER_EXTENSION,
  GROUP,
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_REFERENCE,
  LABEL_BUNDLE_RELEASE,
  LABEL_BUNDLE_VERSION,
  LABEL_OWNER_NAME,
  LABEL_PACKAGE_NAME,
} from "../api/constants.ts";
import { getGroup, type JsonObject, type KubeObject } from "../api/k8s.ts";
import { BUNDLE_LIMITS, countSeparators } from "../bundle/limits.ts";
import { RetryableError } from "../errors/errors.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";

/** The kinds in which the Go operator-controller stores releases with feature gate BoxcutterRuntime. The second is the earlier name of the first. */
export const OBJECT_SET_KINDS = [
  { apiVersion: API_VERSION, kind: "ClusterObjectSet" },
  { apiVersion: API_VERSION, kind: "ClusterExtensionRevision" },
] as const;
/** Finalizer of an object set whose objects the Go operator-controller still has to delete or to leave to a later set. */
export const TEARDOWN_FINALIZER = `${GROUP}/teardown`;
/** Type of the Secrets that contain objects of object sets. */
export const OBJECT_DATA_TYPE = `${GROUP}/object-data`;

const RELEASE_LABELS = [LABEL_PACKAGE_NAME, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION, LABEL_BUNDLE_REFERENCE, LABEL_BUNDLE_RELEASE];
/** Maximum length of a quoted name of a phase. */
const MAX_NAME = 63;

/** The key of a Secret that contains one object. */
export interface ObjectDataRef {
  readonly name: string;
  /** Empty: the system namespace. */
  readonly namespace: string;
  readonly key: string;
}

/** One object of an object set: its manifest, or where to find it. `place` describes the position, such as `object 3 of phase "deploy"`. */
type ObjectSetEntry = { readonly place: string } & ({ readonly object: KubeObject } | { readonly ref: ObjectDataRef });

/** One release of the Go operator-controller with feature gate BoxcutterRuntime. */
export interface ObjectSet {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly revision: number;
  readonly isArchived: boolean;
  /** Whether all of its objects were once available. */
  readonly isComplete: boolean;
  /** Whether the Go operator-controller may still have to delete objects of an archived set. */
  readonly isTearingDown: boolean;
  /** RFC 3339. */
  readonly createdAt: string;
  /** The bundle, as labels of a release. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** In the order in which the phases are applied. */
  readonly entries: readonly ObjectSetEntry[];
}

/** Thrown if an object set cannot be read. A retry succeeds when the set or its Secret has been restored. */
export class ObjectSetUnreadable extends RetryableError {
  constructor({ kind, name }: Pick<ObjectSet, "kind" | "name">, reason: string, options?: ErrorOptions) {
    super("Retrying", `${kind} ${goQuote(name)} cannot be read: ${reason}`, options);
  }
}

/** Reports whether an object set contains a release of this extension, and not of an earlier extension with this name. */
export function isObjectSetOf({ metadata }: KubeObject, extension: { readonly name: string; readonly uid: string }): boolean {
  const { labels = {}, ownerReferences = [] } = metadata;
  const controller = ownerReferences.find((reference) => reference.controller);
  if (labels[LABEL_OWNER_NAME] !== extension.name) return false;
  return controller === undefined || (controller.kind === CLUSTER_EXTENSION && controller.uid === extension.uid);
}

/** Reports whether the Go operator-controller no longer installs the objects of an object set. */
export function isArchivedSet({ spec }: KubeObject): boolean {
  return isObject(spec) && spec["lifecycleState"] === "Archived";
}

/** Reports whether an owner reference is to an object set. */
export function isObjectSetReference({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): boolean {
  return getGroup(apiVersion) === GROUP && OBJECT_SET_KINDS.some((one) => one.kind === kind);
}

/**
 * Parses an object set. Accepts the two forms of its objects: inline, and as references to Secrets.
 * @throws ObjectSetUnreadable with the place of the mistake, or if the set has more objects than a bundle may have.
 * @see operator-controller 08bf9ea4 api/v1/clusterobjectset_types.go
 * @see operator-controller 0df77e07 internal/operator-controller/controllers/boxcutter_reconcile_steps.go, for `status.completedAt`
 */
export function parseObjectSet(set: KubeObject): ObjectSet {
  const { kind, metadata } = set;
  const { name, uid = "", annotations = {}, finalizers = [], creationTimestamp } = metadata;
  const spec = isObject(set["spec"]) ? set["spec"] : {};
  const { revision } = spec;
  if (typeof revision !== "number" || !Number.isSafeInteger(revision) || revision < 1)
    throw new ObjectSetUnreadable({ kind, name }, "spec.revision is not a positive integer");
  const isArchived = isArchivedSet(set);
  const { [ANNOTATION_PROPERTIES]: properties } = annotations;
  return {
    kind,
    name,
    uid,
    revision,
    isArchived,
    isComplete: hasCompleted(set["status"]),
    isTearingDown: isArchived && finalizers.includes(TEARDOWN_FINALIZER),
    createdAt: typeof creationTimestamp === "string" ? creationTimestamp : "",
    labels: Object.fromEntries(RELEASE_LABELS.flatMap((key) => (annotations[key] === undefined ? [] : [[key, annotations[key]]]))),
    annotations: properties === undefined ? {} : { [ANNOTATION_PROPERTIES]: properties },
    entries: parsePhases(spec["phases"], { kind, name }),
  };
}

function hasCompleted(status: unknown): boolean {
  if (!isObject(status)) return false;
  const { completedAt, conditions } = status;
  if (typeof completedAt === "string" && completedAt !== "") return true;
  const isSuccess = (condition: unknown): boolean =>
    isObject(condition) && condition["type"] === "Succeeded" && condition["status"] === "True";
  return Array.isArray(conditions) && conditions.some(isSuccess);
}

function parsePhases(phases: unknown, set: Pick<ObjectSet, "kind" | "name">): ObjectSetEntry[] {
  if (phases === undefined || phases === null) return [];
  if (!Array.isArray(phases)) throw new ObjectSetUnreadable(set, "spec.phases is not a list");
  const entries: ObjectSetEntry[] = [];
  for (const [i, phase] of phases.entries()) {
    const title = isObject(phase) && typeof phase["name"] === "string" ? goQuote(phase["name"].slice(0, MAX_NAME)) : String(i + 1);
    const objects: unknown = isObject(phase) ? phase["objects"] : undefined;
    if (!Array.isArray(objects)) throw new ObjectSetUnreadable(set, `phase ${title} has no list of objects`);
    if (entries.length + objects.length > BUNDLE_LIMITS.renderedObjects)
      throw new ObjectSetUnreadable(set, `it contains more than ${BUNDLE_LIMITS.renderedObjects} objects`);
    entries.push(...objects.map((entry, at) => parseEntry(entry, `object ${at + 1} of phase ${title}`, set)));
  }
  return entries;
}

function parseEntry(entry: unknown, place: string, set: Pick<ObjectSet, "kind" | "name">): ObjectSetEntry {
  const { object, ref } = isObject(entry) ? entry : ({} as JsonObject);
  if (isKubeObject(object)) return { place, object };
  if (object !== undefined) throw new ObjectSetUnreadable(set, `${place} has no apiVersion, kind or name`);
  if (!isObject(ref)) throw new ObjectSetUnreadable(set, `${place} is neither inline nor a reference`);
  const { name, namespace = "", key } = ref;
  if (typeof name !== "string" || typeof key !== "string" || typeof namespace !== "string" || name === "" || key === "")
    throw new ObjectSetUnreadable(set, `the reference of ${place} has no name or key`);
  return { place, ref: { name, namespace, key } };
}

function isKubeObject(value: unknown): value is KubeObject {
  if (!isObject(value)) return false;
  const { apiVersion, kind, metadata } = value;
  const name = isObject(metadata) ? metadata["name"] : undefined;
  return [apiVersion, kind, name].every((text) => typeof text === "string" && text !== "");
}

/**
 * Decodes the object in the data of a Secret: JSON, possibly compressed with gzip.
 * @param data in base64; undefined if the Secret has no such key
 * @throws ObjectSetUnreadable without values of the object, which may be secret.
 * @see operator-controller 11c80b81 internal/operator-controller/controllers/clusterobjectset_controller.go resolveObjectRef
 */
export function decodeObjectData(data: unknown, place: string, set: Pick<ObjectSet, "kind" | "name">): KubeObject {
  if (typeof data !== "string") throw new ObjectSetUnreadable(set, `the Secret of ${place} does not have the key of its reference`);
  const bytes = decompress(Buffer.from(data, "base64"), place, set);
  const { renderedObjectBytes: most, fileSeparators } = BUNDLE_LIMITS;
  if (bytes.byteLength > most || countSeparators(bytes, fileSeparators) > fileSeparators)
    throw new ObjectSetUnreadable(set, `${place} is larger than ${most} bytes or has more than ${fileSeparators} separators`);
  let object: unknown;
  try {
    object = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new ObjectSetUnreadable(set, `${place} is not JSON`);
  }
  if (!isKubeObject(object)) throw new ObjectSetUnreadable(set, `${place} has no apiVersion, kind or name`);
  return object;
}

function decompress(data: Buffer, place: string, set: Pick<ObjectSet, "kind" | "name">): Buffer {
  if (data[0] !== 0x1f || data[1] !== 0x8b) return data;
  try {
    return gunzipSync(data, { maxOutputLength: BUNDLE_LIMITS.renderedObjectBytes });
  } catch (cause) {
    throw new ObjectSetUnreadable(set, `${place} cannot be decompressed to at most ${BUNDLE_LIMITS.renderedObjectBytes} bytes`, { cause });
  }
}
