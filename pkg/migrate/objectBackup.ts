import { getGroup, type JsonObject, type KubeObject, type ObjectMeta } from "../api/k8s.ts";
import { BACKUP_MAX_BYTES, CLASSIC_GROUP } from "../api/migration.ts";
import { isObject } from "../golang/members.ts";

/** Metadata fields that remain valid if the object is created again. */
const KEPT: readonly (keyof ObjectMeta)[] = ["name", "namespace", "labels"];
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Returns an OLM v0 object, with its status, in a form that can be created again: without fields that the API server sets, finalizers and owners. */
export function createBackup(object: KubeObject): KubeObject {
  const { metadata, ...rest } = object;
  const kept = Object.fromEntries(KEPT.flatMap((member) => (metadata[member] === undefined ? [] : [[member, metadata[member]]])));
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations ?? {};
  return { ...rest, metadata: { ...kept, ...(Object.keys(annotations).length > 0 ? { annotations } : {}) } as ObjectMeta };
}

/** Splits a backup into the object to create and the status to write afterwards. */
export function splitBackup(backup: KubeObject): { object: KubeObject; status: JsonObject | undefined } {
  const { status, ...object } = backup;
  return { object, status: status as JsonObject | undefined };
}

/** Formats a backup for an annotation. @throws Error if the backup is too large */
export function formatBackup(object: KubeObject): string {
  const text = JSON.stringify(createBackup(object));
  if (Buffer.byteLength(text) > BACKUP_MAX_BYTES / 2)
    throw new Error(
      `${object.kind} "${object.metadata.namespace ?? ""}/${object.metadata.name}" is too large for a backup in an annotation`,
    );
  return text;
}

/** The required identity of a backup. */
export interface ExpectedBackup {
  readonly kind: "Subscription" | "OperatorGroup" | "ClusterServiceVersion";
  readonly namespace: string;
  /** Any name if undefined. */
  readonly name?: string | undefined;
}

/**
 * Parses a backup from an annotation; undefined if there is none. Validates it, because the user who restores it may have more permissions than the
 * user who wrote the annotation.
 * @throws Error unless it is an OLM v0 object with the expected kind, namespace and name
 */
export function parseBackup(text: string | undefined, expected: ExpectedBackup): KubeObject | undefined {
  return text === undefined ? undefined : validateBackup(JSON.parse(text), expected);
}

/** Validates a parsed backup like `parseBackup`. */
export function validateBackup(value: unknown, { kind, namespace, name }: ExpectedBackup): KubeObject {
  const object = (isObject(value) ? value : {}) as Partial<KubeObject>;
  const { metadata } = object;
  const isIt =
    object.kind === kind &&
    getGroup(object.apiVersion ?? "") === CLASSIC_GROUP &&
    metadata?.namespace === namespace &&
    (name === undefined ? typeof metadata.name === "string" : metadata.name === name);
  if (!isIt)
    throw new Error(`backup does not contain ${kind} ${name === undefined ? `in namespace "${namespace}"` : `"${namespace}/${name}"`}`);
  return createBackup(object as KubeObject);
}
