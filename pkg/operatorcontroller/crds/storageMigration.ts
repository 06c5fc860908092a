import { setTimeout as sleep } from "node:timers/promises";
import { Reason } from "../../api/constants.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { readCrdStoredVersions, readCrdVersions } from "../../crdsafety/crdParts.ts";
import { getErrorMessage, RetryableError, TerminalError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict, isExpired, isNotFound } from "../../kube/errors.ts";
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
/** How often a list restarts without progress after its position expired; it expires after five minutes by default. */
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
  // Uids of the objects that were stored or rejected, so that a list that restarts does not store them again.
  const done = new Set<string>();
  for await (const { objects, total } of listMetadata(client, plan.gvk, done, signal)) {
    const pending = objects.filter(({ metadata: { uid } }) => uid === undefined || !done.has(uid));
    const errors = await mapInParallel(pending, PARALLEL, (object) => storeAgain(client, { ...object, ...plan.gvk }, signal));
    for (const { metadata } of pending) done.add(metadata.uid ?? "");
    const rejected = errors.filter((error) => error !== undefined);
    count = {
      migrated: count.migrated + pending.length - rejected.length,
      failed: count.failed + rejected.length,
      errors: [...count.errors, ...rejected].slice(0, ERRORS_NAMED),
    };
    report?.({ ...count, ...(total === undefined ? {} : { total }) });
    const earliest = ((count.migrated + count.failed) / rate) * 1_000;
    await sleep(Math.max(0, earliest - (performance.now() - started)), undefined, { signal });
  }
  if (count.failed === 0) await dropObsoleteVersions(client, crd, plan, signal);
  return count;
}

/** Metadata of objects. `total` is the number of all objects, if the API server reports it. */
interface MetadataPage {
  readonly objects: readonly KubeObject[];
  readonly total: number | undefined;
}

/**
 * Yields the metadata of all objects, page by page. Restarts if the list expired, so that an object can be yielded again.
 * @param done grows while the objects of a page are stored
 * @throws KubeError 410 if the list expires again and again, although `done` does not grow
 */
async function* listMetadata(
  client: Pick<Client, "listPage">,
  gvk: CustomResourceKind,
  done: ReadonlySet<string>,
  signal: AbortSignal,
): AsyncGenerator<MetadataPage> {
  const read = (bytes: Uint8Array): ReadPage<ListedObjects> => {
    const { objects, next, remaining } = parseList(bytes);
    return { content: { objects, next, remaining: next === undefined ? 0 : remaining }, next };
  };
  const options = { read, first: PAGE, most: PAGE, maxBytes: PAGE_BYTES, metadataOnly: true, signal };
  for (let restarts = 0; ; ) {
    const doneBefore = done.size;
    let listed = 0;
    try {
      for await (const { objects, remaining } of listPages(client, gvk, options)) {
        listed += objects.length;
        yield { objects, total: remaining === undefined ? undefined : listed + remaining };
      }
      return;
    } catch (err) {
      restarts = done.size > doneBefore ? 0 : restarts + 1;
      if (!isExpired(err) || restarts > RESTARTS) throw err;
    }
  }
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
