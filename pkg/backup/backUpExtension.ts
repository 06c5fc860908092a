import { LABEL_OWNER_NAME } from "../api/constants.ts";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { parseExactJson } from "../golang/json.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { listPages, readObjectPage } from "../kube/listPages.ts";
import { readServerInfo } from "../kube/servedResources.ts";
import { type BackupRecord, hashCrd } from "../operatorcontroller/crds/backupRecord.ts";
import { type CustomResourceKind, getServedKind } from "../operatorcontroller/crds/crdUse.ts";
import { CRD_KIND } from "../release/identity.ts";
import { writeBackupFile } from "./backupFile.ts";

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: CRD_KIND } as const;
const PAGE_BYTES = 32 * 1024 * 1024;

/** What to back up, and where to. */
export interface BackupRequest {
  /** Name of the ClusterExtension. It may be uninstalled already, if its CRDs were kept. */
  readonly extension: string;
  readonly path: string;
  readonly signal: AbortSignal;
  /** Receives the number of custom resources after each page. */
  readonly report?: (objects: number) => void;
}

/**
 * Writes the CRDs of an extension and all their custom resources to a file. Each list is consistent at one point in time; the lists of different CRDs
 * are not. Takes the time of the backup from the API server, because it is compared with the times of custom resources, and the clock of this machine may
 * differ.
 * @returns the record of the backup
 * @throws Error if the extension has no CRDs, a CRD serves no version, or the file exists; KubeError, also if a list takes longer than the API server
 * keeps its position
 */
export async function backUpExtension(
  client: Pick<Client, "list" | "listPage" | "request">,
  { extension, path, signal, report = () => undefined }: BackupRequest,
): Promise<BackupRecord> {
  const createdAt = new Date((await readServerInfo(client, signal)).now).toISOString(); // before the first list
  const { items } = await client.list(CRD, { labelSelector: `${LABEL_OWNER_NAME}=${extension}`, signal });
  if (items.length === 0)
    throw new Error(`cannot back up ClusterExtension ${goQuote(extension)}: no CustomResourceDefinition belongs to it`);
  const crds = items.map((crd) => ({ crd: withoutManagers({ ...crd, ...CRD }), kind: requireServedKind(crd) }));
  async function* all(): AsyncGenerator<KubeObject> {
    for (const { crd } of crds) yield crd;
    let objects = 0;
    for (const { kind } of crds) {
      for await (const page of listPages(client, kind, { read: readObjectPage(parseExactJson), maxBytes: PAGE_BYTES, signal })) {
        yield* page.map((object) => withoutManagers({ ...object, ...kind }));
        objects += page.length;
        report(objects);
      }
    }
  }
  const end = await writeBackupFile(path, { extension, createdAt }, all());
  return { createdAt, ...end, crdHashes: crds.flatMap(({ crd }) => hashCrd(crd) ?? []) };
}

function requireServedKind(crd: KubeObject): CustomResourceKind {
  const kind = getServedKind(crd);
  if (!kind) throw new Error(`cannot back up CRD ${goQuote(toObjectRef(crd).name)}: it serves no version`);
  return kind;
}

/** managedFields are not restored, and would double the size of many objects. */
function withoutManagers(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
