import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { LABEL_MIGRATION, MIGRATION_FIELD_MANAGER } from "../api/migration.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { toYaml } from "../golang/yaml.ts";
import type { Client } from "../kube/client.ts";
import { describeObject } from "../release/identity.ts";
import { createBackup, type ExpectedBackup, formatBackup, validateBackup } from "./objectBackup.ts";
import type { RemovedMarks } from "./ownershipMarks.ts";

/** The part of a backup that does not fit into annotations: the ClusterServiceVersion, and the marks removed from objects. */
export interface Backup {
  readonly csv: KubeObject;
  readonly marks: readonly RemovedMarks[];
}

/** Maximum size of an uncompressed backup in bytes. The API server limits the size of the compressed backup. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Maximum size of the compressed ClusterServiceVersion in bytes: the size limit of a Secret minus space for the removed marks. */
const SECRET_MAX_BYTES = 1_000_000;

/** Returns the reasons why the objects that a conversion deletes cannot be backed up: one sentence for each object that is too large. */
export function findBackupFaults({
  csv,
  subscription,
  group,
}: {
  csv: KubeObject;
  subscription: KubeObject;
  group: KubeObject | undefined;
}): string[] {
  const bytes = gzipSync(JSON.stringify(createBackup(csv))).length;
  const faults = bytes > SECRET_MAX_BYTES ? [`${describeObject(csv)} is too large for a Secret: ${bytes} bytes after compression`] : [];
  for (const object of [subscription, group]) {
    try {
      if (object) formatBackup(object);
    } catch (err) {
      faults.push(getErrorMessage(err));
    }
  }
  return faults;
}

/** Returns the Secret with the backup of an extension's conversion. */
export function getBackupRef(extension: string, namespace: string): ObjectRef {
  return { apiVersion: "v1", kind: "Secret", namespace, name: `${extension}-migration-backup` };
}

/**
 * Stores a backup. Replaces the backup of a conversion that was interrupted before it removed marks.
 * @returns the digest of the backup, for `readBackup`
 */
export async function keepBackup(client: Client, extension: string, namespace: string, { csv, marks }: Backup): Promise<string> {
  const { name } = getBackupRef(extension, namespace);
  const data = { csv: packed(createBackup(csv)), marks: packed(marks) };
  await client.apply(
    { apiVersion: "v1", kind: "Secret", metadata: { name, namespace, labels: { [LABEL_MIGRATION]: extension } }, type: "Opaque", data },
    { fieldManager: MIGRATION_FIELD_MANAGER, force: true },
  );
  return getDigest(data);
}

/**
 * Reads the backup with this digest.
 * @param expected identity of the ClusterServiceVersion
 * @returns undefined if the backup does not exist
 * @throws Error if the backup is invalid or was changed
 */
export async function readBackup(
  client: Pick<Client, "get">,
  ref: ObjectRef,
  digest: string,
  expected: Omit<ExpectedBackup, "kind">,
): Promise<Backup | undefined> {
  const secret = await client.get(ref);
  if (!secret) return undefined;
  const { csv = "", marks = "" } = (secret["data"] ?? {}) as Partial<Record<"csv" | "marks", string>>;
  if (getDigest({ csv, marks }) !== digest) throw new Error(`${describeObject(ref)} was changed after the conversion wrote it`);
  return { csv: validateBackup(unpacked(csv), { ...expected, kind: "ClusterServiceVersion" }), marks: unpacked(marks) as RemovedMarks[] };
}

/** Formats OLM v0 objects as YAML documents for `kubectl create`. */
export function formatBackupFile(objects: readonly (KubeObject | undefined)[]): string {
  return objects.flatMap((object) => (object ? [`---\n${toYaml(createBackup(object))}`] : [])).join("");
}

function getDigest({ csv, marks }: { csv: string; marks: string }): string {
  return `sha256:${createHash("sha256")
    .update(JSON.stringify([csv, marks]))
    .digest("hex")}`;
}

function packed(value: unknown): string {
  return gzipSync(JSON.stringify(value)).toString("base64");
}

function unpacked(text: string): unknown {
  return JSON.parse(gunzipSync(Buffer.from(text, "base64"), { maxOutputLength: MAX_BYTES }).toString("utf8"));
}
