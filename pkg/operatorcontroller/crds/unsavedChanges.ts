import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { isObject } from "../../golang/members.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { listPages, readObjectPage } from "../../kube/listPages.ts";
import { describeObject } from "../../release/identity.ts";
import { getCrdPolicy } from "../../release/plan.ts";
import { type BackupRecord, hashCrd, readBackupRecord } from "./backupRecord.ts";
import { findOtherServer, listServedKinds } from "./crdUse.ts";

const PAGE_BYTES = 32 * 1024 * 1024;
/** Times in metadata have no milliseconds. */
const SECOND_MS = 1_000;

/** Reports whether custom resources of an extension may only be deleted after a backup: with crdPolicy Delete and backup Required. */
export function requiresBackup({ spec }: Pick<ClusterExtension, "spec">): boolean {
  return getCrdPolicy(spec) === "Delete" && spec.uninstall?.backup === "Required";
}

/**
 * Finds a custom resource that the recorded backup of an extension cannot contain in its current form. Without a record that the backup contains the CRD,
 * this is any custom resource, because the extension may have adopted the CRD after the backup. Ignores custom resources that are being deleted.
 * @returns a sentence about the first one, or about why the custom resources cannot be read; undefined if the backup contains all
 * @throws KubeError if a request fails
 */
export async function findUnsavedChange(
  client: Pick<Client, "get" | "raw" | "listPage">,
  extension: Pick<ClusterExtension, "metadata">,
  crd: KubeObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const record = readBackupRecord(extension);
  const gap = describeGap(crd, record);
  let problem = `${describeObject(crd)} serves no version, so its custom resources cannot be read`;
  for (const kind of listServedKinds(crd)) {
    const other = await findOtherServer(client, crd, kind, signal);
    if (other !== undefined) {
      problem = `custom resources of ${describeObject(crd)} cannot be read: ${other}`;
      continue;
    }
    try {
      for await (const page of listPages(client, kind, {
        read: readObjectPage(),
        maxBytes: PAGE_BYTES,
        metadataOnly: true,
        restarts: 1,
        signal,
      })) {
        const change = page.map((object) => describeUnsaved({ ...object, ...kind }, record, gap)).find((text) => text !== undefined);
        if (change !== undefined) return change;
      }
      return undefined;
    } catch (err) {
      if (!(err instanceof KindNotServed)) throw err;
      problem = `custom resources of ${describeObject(crd)} cannot be read: the API server does not currently serve them`;
    }
  }
  return problem;
}

/** Describes why a backup does not contain a CRD; undefined if it does. */
function describeGap(crd: KubeObject, record: BackupRecord | undefined): string | undefined {
  if (!record) return "no backup is recorded";
  const { createdAt, crdHashes } = record;
  if (!crdHashes) return `the last backup, from ${createdAt}, does not record its CRDs`;
  const hash = hashCrd(crd);
  const isContained = hash !== undefined && crdHashes.includes(hash);
  return isContained ? undefined : `the last backup, from ${createdAt}, does not contain ${describeObject(crd)}`;
}

/** A change in the second of the backup counts as unsaved, because times in metadata have no milliseconds. */
function describeUnsaved(object: KubeObject, record: BackupRecord | undefined, gap: string | undefined): string | undefined {
  if (object.metadata.deletionTimestamp !== undefined) return undefined;
  const text = describeObject(toObjectRef(object));
  if (!record || gap !== undefined) return `${gap}, and ${text} exists`;
  const changedAt = findLastChange(object);
  if (changedAt !== undefined && changedAt + SECOND_MS <= Date.parse(record.createdAt)) return undefined;
  const when = changedAt === undefined ? "at an unknown time" : `at ${new Date(changedAt).toISOString()}`;
  return `the last backup is from ${record.createdAt}, and ${text} was changed ${when}`;
}

/** Returns the time of the last change outside of subresource status, in milliseconds since 1970; undefined without any time. */
function findLastChange({ metadata }: KubeObject): number | undefined {
  const { creationTimestamp, managedFields = [] } = metadata as { creationTimestamp?: string; managedFields?: unknown[] };
  const times = managedFields.flatMap((one) => (isObject(one) && one["subresource"] !== "status" ? [one["time"]] : []));
  const parsed = [creationTimestamp, ...times].flatMap((time) => (typeof time === "string" ? [Date.parse(time)] : []));
  const valid = parsed.filter((time) => !Number.isNaN(time));
  return valid.length === 0 ? undefined : Math.max(...valid);
}
