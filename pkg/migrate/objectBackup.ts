import { groupOf, type JsonObject, type KubeObject, type ObjectMeta } from "../api/k8s.ts";
import { BACKUP_MAX_BYTES, CLASSIC_GROUP } from "../api/migration.ts";
import { isObject } from "../golang/members.ts";

/** Members of metadata that make sense on another object of the same name. */
const KEPT: readonly (keyof ObjectMeta)[] = ["name", "namespace", "labels", "annotations"];
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** An object of OLM classic as it can be created again, with its status: without what the API server, finalizers and owners gave it. */
export function backupOf(object: KubeObject): KubeObject {
  const { metadata, ...rest } = object;
  const kept = Object.fromEntries(KEPT.flatMap((member) => (metadata[member] === undefined ? [] : [[member, metadata[member]]])));
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations ?? {};
  return { ...rest, metadata: { ...kept, ...(metadata.annotations ? { annotations } : {}) } as ObjectMeta };
}

/** A backup as what is created, and the status that is written behind it. */
export function splitBackup(backup: KubeObject): { object: KubeObject; status: JsonObject | undefined } {
  const { status, ...object } = backup;
  return { object, status: status as JsonObject | undefined };
}

/**
 * The text of an annotation that holds a backup.
 * @throws Error for one that is too large.
 */
export function backupText(object: KubeObject): string {
  const text = JSON.stringify(backupOf(object));
  if (Buffer.byteLength(text) > BACKUP_MAX_BYTES / 2)
    throw new Error(
      `${object.kind} "${object.metadata.namespace ?? ""}/${object.metadata.name}" is too large to be backed up in an annotation`,
    );
  return text;
}

/** What a backup must be to be restored. */
export interface ExpectedBackup {
  readonly kind: "Subscription" | "OperatorGroup" | "ClusterServiceVersion";
  readonly namespace: string;
  /** Any where it is not known. */
  readonly name?: string | undefined;
}

/**
 * The object in the text of an annotation; undefined where there is none. Whoever restores it may have more rights than who wrote the annotation.
 * @throws Error for anything but an object of OLM classic of that kind, in that namespace and of that name.
 */
export function backupFrom(text: string | undefined, expected: ExpectedBackup): KubeObject | undefined {
  return text === undefined ? undefined : asExpected(JSON.parse(text), expected);
}

/** The same for a value. */
export function asExpected(value: unknown, { kind, namespace, name }: ExpectedBackup): KubeObject {
  const object = (isObject(value) ? value : {}) as Partial<KubeObject>;
  const { metadata } = object;
  const isIt =
    object.kind === kind &&
    groupOf(object.apiVersion ?? "") === CLASSIC_GROUP &&
    metadata?.namespace === namespace &&
    (name === undefined ? typeof metadata.name === "string" : metadata.name === name);
  if (!isIt) throw new Error(`it holds no ${kind} ${name === undefined ? `of namespace "${namespace}"` : `"${namespace}/${name}"`}`);
  return backupOf(object as KubeObject);
}
