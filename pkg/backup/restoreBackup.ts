import { setTimeout as sleep } from "node:timers/promises";
import { CLI_MANAGER } from "../api/constants.ts";
import { type GroupVersionKind, type KubeObject, type ObjectMeta, type ObjectRef, type OwnerReference, toObjectRef } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { isObject } from "../golang/members.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { getRetryAfterMs, isAlreadyExists, isForbidden, isNotFound, isPassing, KindNotServed } from "../kube/errors.ts";
import { listServedKinds } from "../operatorcontroller/crds/crdUse.ts";
import { describeObject, isCrd } from "../release/identity.ts";
import { type BackupEnd, type BackupHead, readBackupFile, verifyBackup } from "./backupFile.ts";
import { computeLevels } from "./ownerLevels.ts";

/** Options of a restore. */
export interface RestoreOptions {
  readonly path: string;
  /** Sends all requests as a dry run. References to restored owners then cannot be checked. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  /** Receives the count after each batch. */
  readonly report?: (count: RestoreCount) => void;
}

/** The progress and the result of a restore. */
export interface RestoreCount {
  readonly created: number;
  /** Custom resources that exist; they are unchanged, unless they had no status. */
  readonly existing: number;
  /** Custom resources that were not created, or whose status was not restored. */
  readonly failed: number;
  /** References to owners that are neither in the backup nor on the cluster, or that are not readable. */
  readonly removedOwners: number;
  /** The first errors, each with its object. */
  readonly errors: readonly string[];
}

type Restored = Partial<Record<"created" | "existing" | "failed" | "removedOwners", number>> & { readonly error?: string };
type RestoreClient = Pick<Client, "create" | "get" | "patch">;

const BATCH = 100;
const PARALLEL = 4;
const ERRORS_NAMED = 10;
/** Attempts to create an object that exists at first, but then no longer. */
const CREATE_ATTEMPTS = 2;
const REPEAT = "Run the command again when it is gone";
/** Attempts to write a status, and the time between them in milliseconds. */
const STATUS_ATTEMPTS = 4;
const STATUS_WAIT_MS = 500;

/**
 * Creates the custom resources of a backup: owners first, each with its status, and with references to the new uids of its owners. Does not change
 * custom resources that exist, but writes the status if an interrupted restore has not written it. Reads the file once to verify it, and once for each
 * level of owners, so that memory holds one batch of objects.
 * @throws TerminalError as `readBackupFile`, before anything is created; Error if a CRD does not exist or does not serve the version of the backup
 */
export async function restoreBackup(
  client: RestoreClient,
  { path, dryRun, signal, report = () => undefined }: RestoreOptions,
): Promise<{ readonly backup: BackupHead & BackupEnd; readonly count: RestoreCount }> {
  const owners = new Map<string, readonly string[]>();
  const crds: KubeObject[] = [];
  const kinds = new Set<string>();
  const backup = await verifyBackup(path, (object) => {
    if (isCrd(object)) return void crds.push(object);
    owners.set(
      object.metadata.uid ?? "",
      (object.metadata.ownerReferences ?? []).map(({ uid }) => uid),
    );
    return void kinds.add(getKindKey(object));
  });
  const subresources = await readStatusKinds(client, crds, kinds, signal);
  const levels = computeLevels(owners);
  const uids = new Map<string, string>();
  let count: RestoreCount = { created: 0, existing: 0, failed: 0, removedOwners: 0, errors: [] };
  const restore = (object: KubeObject): Promise<Restored> =>
    restoreObject(client, object, { uids, levels, hasStatus: subresources.has(getKindKey(object)), dryRun, signal });
  let last = 0;
  for (const level of levels.values()) last = Math.max(last, level);
  for (let level = 0; level <= last; level++) {
    for await (const batch of readBatches(path, (object) => levels.get(object.metadata.uid ?? "") === level)) {
      count = addUp(count, await mapInParallel(batch, PARALLEL, restore));
      report(count);
    }
  }
  return { backup, count };
}

/** Returns the kinds with a status subresource. @throws Error if the cluster does not serve a kind of the backup */
async function readStatusKinds(
  client: Pick<Client, "get">,
  crds: readonly KubeObject[],
  kinds: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Set<string>> {
  const found = new Set<string>();
  for (const crd of crds) {
    const { name } = crd.metadata;
    const live = await client.get(toObjectRef(crd), { signal });
    if (!live) throw new Error(`cannot restore: CRD ${goQuote(name)} does not exist. Install the extension first`);
    const served = new Set(listServedKinds(live).map(getKindKey));
    for (const kind of listServedKinds(crd).map(getKindKey)) {
      if (!kinds.has(kind)) continue;
      if (!served.has(kind))
        throw new Error(
          `cannot restore: CRD ${goQuote(name)} does not serve ${kind}, which the backup contains. Install the version of the backup`,
        );
      if (hasStatusSubresource(live, kind)) found.add(kind);
    }
  }
  return found;
}

/** Returns a kind such as `example.com/v1/Greeting`. */
function getKindKey({ apiVersion, kind }: GroupVersionKind): string {
  return `${apiVersion}/${kind}`;
}

function hasStatusSubresource(crd: KubeObject, kind: string): boolean {
  const { group, names, versions } = crd["spec"] as {
    group: string;
    names: { kind: string };
    versions: { name: string; subresources?: { status?: object } }[];
  };
  return versions.some(({ name, subresources }) => subresources?.status !== undefined && `${group}/${name}/${names.kind}` === kind);
}

async function* readBatches(path: string, isChosen: (object: KubeObject) => boolean): AsyncGenerator<KubeObject[]> {
  let batch: KubeObject[] = [];
  for await (const object of readBackupFile(path)) {
    if (isCrd(object) || !isChosen(object)) continue;
    batch.push(object);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

interface ObjectRestore {
  /** New uids by those of the backup; gets that of the object. */
  readonly uids: Map<string, string>;
  /** Levels of the objects in the backup by their uids. Objects of lower levels are restored before. */
  readonly levels: ReadonlyMap<string, number>;
  readonly hasStatus: boolean;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

async function restoreObject(client: RestoreClient, object: KubeObject, restore: ObjectRestore): Promise<Restored> {
  try {
    return await createOrKeep(client, object, restore);
  } catch (err) {
    restore.signal.throwIfAborted();
    return { failed: 1, error: `${describeObject(object)}: ${getErrorMessage(err)}` };
  }
}

/** @throws Error if the object or one of its owners is being deleted, or an owner is not restored; KubeError if a request fails */
async function createOrKeep(client: RestoreClient, object: KubeObject, restore: ObjectRestore): Promise<Restored> {
  const { uids, hasStatus, dryRun, signal } = restore;
  const { status: _, ...rest } = object;
  const missing = findMissingOwner(object, restore);
  if (missing) {
    const live = await client.get(toObjectRef(object), { signal });
    if (live) return keepExisting(client, object, live, restore);
    throw new Error(`not created, because its owner ${describeObject(missing)} is not restored`);
  }
  const { references, removed } = await linkOwners(client, object, uids, signal);
  const create = { ...(hasStatus ? rest : object), metadata: toNewMetadata(object.metadata, references) } as KubeObject;
  for (let attempt = 1; ; attempt++) {
    try {
      const created = await client.create(create, { fieldManager: CLI_MANAGER, dryRun, signal });
      if (created.metadata.uid !== undefined) uids.set(object.metadata.uid ?? "", created.metadata.uid);
      return { ...(await restoreStatus(client, object, restore, { created: 1 })), removedOwners: removed };
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      const live = await client.get(toObjectRef(object), { signal });
      if (live) return keepExisting(client, object, live, restore);
      if (attempt === CREATE_ATTEMPTS) throw err; // it vanished again
    }
  }
}

/**
 * Returns the first owner in the backup that was not restored, because it failed. Without its reference, the object would lose this owner forever, because a
 * repeated restore does not change it. Ignores owners of the same level, which may be restored later.
 */
function findMissingOwner(object: KubeObject, { uids, levels }: ObjectRestore): ObjectRef | undefined {
  const { namespace, uid: own = "", ownerReferences = [] } = object.metadata;
  const level = levels.get(own) ?? 0;
  const missing = ownerReferences.find(({ uid }) => !uids.has(uid) && (levels.get(uid) ?? level) < level);
  return missing && toOwnerRef(missing, namespace);
}

/** Remembers the uid of an object that exists, for the references of its dependents. Writes its status if it has none. */
function keepExisting(client: RestoreClient, object: KubeObject, live: KubeObject, restore: ObjectRestore): Restored | Promise<Restored> {
  if (live.metadata.deletionTimestamp !== undefined) throw new Error(`it is being deleted. ${REPEAT}`);
  if (live.metadata.uid !== undefined) restore.uids.set(object.metadata.uid ?? "", live.metadata.uid);
  const isComplete = isObject(live["status"]) && Object.keys(live["status"]).length > 0;
  return isComplete ? { existing: 1 } : restoreStatus(client, object, restore, { existing: 1 });
}

/** Writes the status of an object, and retries. @returns `done`, or the error if the status is not restored */
async function restoreStatus(
  client: Pick<Client, "patch">,
  object: KubeObject,
  { hasStatus, dryRun, signal }: ObjectRestore,
  done: Restored,
): Promise<Restored> {
  const { status } = object;
  if (!hasStatus || status === undefined || dryRun) return done;
  for (let attempt = 1; ; attempt++) {
    try {
      await client.patch(toObjectRef(object), { status }, { fieldManager: CLI_MANAGER, type: "merge", subresource: "status", signal });
      return done;
    } catch (err) {
      signal.throwIfAborted();
      if (attempt === STATUS_ATTEMPTS || !isPassing(err))
        return { failed: 1, error: `${describeObject(object)}: status not restored: ${getErrorMessage(err)}` };
      await sleep(getRetryAfterMs(err) ?? STATUS_WAIT_MS, undefined, { signal });
    }
  }
}

/** Returns the references to owners that exist. The garbage collector would delete an object whose owners do not exist. */
async function linkOwners(
  client: Pick<Client, "get">,
  { metadata: { namespace, ownerReferences = [] } }: KubeObject,
  uids: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<{ references: OwnerReference[]; removed: number }> {
  const references: OwnerReference[] = [];
  for (const reference of ownerReferences) {
    const found = uids.get(reference.uid) ?? (await readUid(client, toOwnerRef(reference, namespace), signal));
    if (found !== undefined) references.push({ ...reference, uid: found });
  }
  return { references, removed: ownerReferences.length - references.length };
}

/** @param namespace of the dependent */
function toOwnerRef({ apiVersion, kind, name }: OwnerReference, namespace: string | undefined): ObjectRef {
  return { apiVersion, kind, name, ...(namespace ? { namespace } : {}) };
}

/**
 * Returns the uid of an owner; undefined if it does not exist, or its kind is not served or not readable.
 * @throws Error if it cannot be read now, or is being deleted, because the garbage collector would also delete its dependents
 */
async function readUid(client: Pick<Client, "get">, ref: ObjectRef, signal: AbortSignal): Promise<string | undefined> {
  const live = await client.get(ref, { metadataOnly: true, signal }).catch((cause: unknown) => {
    signal.throwIfAborted();
    if (isNotFound(cause) || isForbidden(cause) || cause instanceof KindNotServed) return undefined;
    throw new Error(`cannot read owner ${describeObject(ref)}: ${getErrorMessage(cause)}`, { cause });
  });
  if (live?.metadata.deletionTimestamp !== undefined) throw new Error(`owner ${describeObject(ref)} is being deleted. ${REPEAT}`);
  return live?.metadata.uid;
}

function toNewMetadata({ name, namespace, labels, annotations, finalizers }: ObjectMeta, ownerReferences: OwnerReference[]): ObjectMeta {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels ? { labels } : {}),
    ...(annotations ? { annotations } : {}),
    ...(finalizers ? { finalizers } : {}),
    ...(ownerReferences.length > 0 ? { ownerReferences } : {}),
  };
}

function addUp(before: RestoreCount, restored: readonly Restored[]): RestoreCount {
  const sum = (key: "created" | "existing" | "failed" | "removedOwners"): number =>
    restored.reduce((total, one) => total + (one[key] ?? 0), before[key]);
  return {
    created: sum("created"),
    existing: sum("existing"),
    failed: sum("failed"),
    removedOwners: sum("removedOwners"),
    errors: [...before.errors, ...restored.flatMap(({ error }) => error ?? [])].slice(0, ERRORS_NAMED),
  };
}
