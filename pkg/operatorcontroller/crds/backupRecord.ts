import { createHash } from "node:crypto";
import * as z from "zod";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_LAST_BACKUP } from "../../api/constants.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { formatCount } from "../../text/lists.ts";

/** Maximum length of the annotation, enough for 5,000 CRDs. Users can change it. */
const MAX_LENGTH = 65_536;
/** Length of the hash of a CRD: 48 bits. */
const HASH_LENGTH = 8;

const Record = z.object({
  createdAt: z.iso.datetime(),
  crds: z.number().int().nonnegative(),
  objects: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[\da-f]{64}$/),
  /** Hashes of the contained CRDs, see `hashCrd`. Earlier versions of olmv1 did not record them. */
  crdHashes: z.array(z.string()).optional(),
});

/** The last backup of an extension, as its annotation records it. Nothing proves that the file still exists. */
export type BackupRecord = z.infer<typeof Record>;

/** Returns the last backup of an extension; undefined without a valid annotation. */
export function readBackupRecord({ metadata }: Pick<ClusterExtension, "metadata">): BackupRecord | undefined {
  const text = metadata.annotations?.[ANNOTATION_LAST_BACKUP] ?? "";
  if (text === "" || text.length > MAX_LENGTH) return undefined;
  try {
    return Record.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Returns a short hash of the uid of a CRD; undefined without a uid. A CRD that is created again has another uid. */
export function hashCrd({ metadata: { uid } }: KubeObject): string | undefined {
  if (uid === undefined) return undefined;
  return createHash("sha256").update(uid).digest("base64url").slice(0, HASH_LENGTH);
}

/** Records a backup in an annotation of the extension. @throws KubeError, 404 if the extension does not exist */
export async function recordBackup(
  client: Pick<Client, "patch">,
  extension: ClusterExtension,
  record: BackupRecord,
  signal: AbortSignal,
): Promise<void> {
  const annotations = { [ANNOTATION_LAST_BACKUP]: JSON.stringify(record) };
  await client.patch(toObjectRef(extension), { metadata: { uid: extension.metadata.uid, annotations } }, { type: "merge", signal });
}

/** Describes the last backup of an extension whose custom resources will be deleted, how to make one, and whether it is required. */
export function describeBackup(extension: Pick<ClusterExtension, "metadata" | "spec">): string {
  const { name } = extension.metadata;
  const required = extension.spec.uninstall?.backup === "Required" ? "spec.uninstall.backup is Required. " : "";
  const record = readBackupRecord(extension);
  if (!record) return `${required}No backup is recorded. To make one: olmv1 backup ${name}`;
  const { createdAt, objects } = record;
  return `${required}The last backup is from ${createdAt}, with ${formatCount(objects, "custom resource")}. To make another one: olmv1 backup ${name}`;
}
