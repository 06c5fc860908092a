import { setTimeout as sleep } from "node:timers/promises";
import { Reason } from "../../api/constants.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { readCrdStoredVersions, readCrdVersions } from "../../crdsafety/crdParts.ts";
import { getErrorMessage, RetryableError, TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import { type ListedObjects, listPages, parseList, type ReadPage } from "../../kube/listPages.ts";
import { type CustomResourceKind, getServedKind } from "./crdUse.ts";

/** What a storage migration of a CRD has to do. */
export interface StorageMigrationPlan {
  /** The version in which the API server stores objects. */
  readonly storage: string;
  /** Stored versions other than `storage`; empty if nothing has to be done. */
  readonly obsolete: readonly string[];
  /** The kind to read and write. */
  readonly gvk: CustomResourceKind;
}

/** The result of a storage migration. */
export interface StorageMigrationCount {
  /** Custom resources that the API server stored again, or that another client wrote meanwhile. */
  readonly migrated: number;
  /** Custom resources that the API server rejected. */
  readonly failed: number;
  /** The first errors, each with the name of the object. */
  readonly errors: readonly string[];
}

/** The progress of a storage migration. */
export interface StorageMigrationProgress extends StorageMigrationCount {
  /** Number of custom resources, if the API server reports it. */
  readonly total?: number;
}

/** Options of a storage migration. */
export interface StorageMigrationOptions {
  /** Maximum number of custom resources per second. */
  readonly rate: number;
  readonly signal: AbortSignal;
  /** Receives the progress after each page. */
  readonly report?: (progress: StorageMigrationProgress) => void;
}

/** Number of objects that one request lists. Only their metadata is read. */
const PAGE = 500;
const PAGE_BYTES = 64 * 1024 * 1024;
/** Concurrent writes. */
const PARALLEL = 4;
/** How often a list restarts after its position expired; it expires after five minutes by default. */
const RESTARTS = 20;
/** Attempts to write the status of the CRD. */
const ATTEMPTS = 5;
const ERRORS_NAMED = 10;

/**
 * Returns what a storage migration has to do.
 * @throws TerminalError Blocked if the CRD serves no version, so that its custom resources cannot be written
 */
export function planStorageMigration(crd: KubeObject): StorageMigrationPlan {
  const gvk = getServedKind(crd);
  if (!gvk) throw new TerminalError(Reason.Blocked, `CRD ${goQuote(crd.metadata.name)} serves no version`);
  const storage = readCrdVersions(crd).find((version) => version.storage)?.name ?? "";
  return { storage, obsolete: readCrdStoredVersions(crd).filter((name) => name !== storage), gvk };
}

/**
 * Stores all custom resources of a CRD in its storage version, and then removes all other versions from status.storedVersions. A patch without changes
 * is enough: the API server writes an object if its stored form differs. An object that changes meanwhile needs no patch, because each write uses the
 * storage version. Safe to repeat after an interruption: objects that are migrated already are not written again.
 * @returns the count; status.storedVersions is unchanged if an object was rejected
 * @throws TerminalError Blocked as `planStorageMigration`; RetryableError Retrying if the CRD has another storage version afterwards; KubeError
 */
export async function migrateStorage(
  client: Pick<Client, "get" | "listPage" | "patch">,
  crd: KubeObject,
  { rate, signal, report }: StorageMigrationOptions,
): Promise<StorageMigrationCount> {
  const plan = planStorageMigration(crd);
  let count: StorageMigrationCount = { migrated: 0, failed: 0, errors: [] };
  if (plan.obsolete.length === 0) return count;
  const started = performance.now();
  for await (const { objects, remaining } of listMetadata(client, plan.gvk, signal)) {
    const errors = await mapInParallel(objects, PARALLEL, (object) => storeAgain(client, { ...object, ...plan.gvk }, signal));
    const rejected = errors.filter((error) => error !== undefined);
    count = {
      migrated: count.migrated + objects.length - rejected.length,
      failed: count.failed + rejected.length,
      errors: [...count.errors, ...rejected].slice(0, ERRORS_NAMED),
    };
    report?.({ ...count, ...(remaining === undefined ? {} : { total: count.migrated + count.failed + remaining }) });
    const earliest = ((count.migrated + count.failed) / rate) * 1_000;
    await sleep(Math.max(0, earliest - (performance.now() - started)), undefined, { signal });
  }
  if (count.failed === 0) await dropObsoleteVersions(client, crd, plan, signal);
  return count;
}

/** Yields the metadata of all objects, page by page. Restarts if the list expired, so that an object can be yielded again. */
function listMetadata(client: Pick<Client, "listPage">, gvk: CustomResourceKind, signal: AbortSignal): AsyncGenerator<ListedObjects> {
  const read = (bytes: Uint8Array): ReadPage<ListedObjects> => {
    const { objects, next, remaining } = parseList(bytes);
    return { content: { objects, next, remaining: next === undefined ? 0 : remaining }, next };
  };
  return listPages(client, gvk, {
    read,
    first: PAGE,
    most: PAGE,
    maxBytes: PAGE_BYTES,
    metadataOnly: true,
    restarts: RESTARTS,
    signal,
  });
}

/** Makes the API server store an object again. @returns the error if the API server rejects that */
async function storeAgain(client: Pick<Client, "patch">, object: KubeObject, signal: AbortSignal): Promise<string | undefined> {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  try {
    await client.patch(toObjectRef(object), { metadata: { uid, resourceVersion } }, { type: "merge", signal });
  } catch (err) {
    signal.throwIfAborted();
    if (isNotFound(err) || isConflict(err)) return undefined;
    return `${namespace === undefined ? "" : `${namespace}/`}${name}: ${getErrorMessage(err)}`;
  }
  return undefined;
}

async function dropObsoleteVersions(
  client: Pick<Client, "get" | "patch">,
  crd: KubeObject,
  { storage }: StorageMigrationPlan,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const live = await client.get(toObjectRef(crd), { signal });
    if (!live || live.metadata.uid !== crd.metadata.uid || planStorageMigration(live).storage !== storage)
      throw new RetryableError(
        Reason.Retrying,
        `CRD ${goQuote(crd.metadata.name)} changed during the storage migration. Repeat the migration`,
      );
    try {
      await patchStoredVersions(client, live, [storage], { signal });
      return;
    } catch (err) {
      if (!isConflict(err) || attempt === ATTEMPTS) throw err;
    }
  }
}

/** Sets status.storedVersions of a CRD. @throws KubeError 409 if the CRD has changed since it was read */
export async function patchStoredVersions(
  client: Pick<Client, "patch">,
  crd: KubeObject,
  storedVersions: readonly string[],
  { signal, dryRun = false }: { signal: AbortSignal; dryRun?: boolean },
): Promise<void> {
  const body = { metadata: { resourceVersion: crd.metadata.resourceVersion }, status: { storedVersions } };
  await client.patch(toObjectRef(crd), body, { type: "merge", subresource: "status", dryRun, signal });
}
