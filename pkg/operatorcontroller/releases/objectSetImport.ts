import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import { type JsonObject, type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { BUNDLE_LIMITS } from "../../bundle/limits.ts";
import { writeFinalizers } from "../../controller/finalizers.ts";
import { getErrorMessage, RetryableError, wrapError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import type { CallOptions } from "../../kube/request.ts";
import { describeObject } from "../../release/identity.ts";
import { withOwner } from "../../release/labels.ts";
import {
  decodeObjectData,
  isArchivedSet,
  isObjectSetOf,
  OBJECT_DATA_TYPE,
  type ObjectDataRef,
  type ObjectSet,
  ObjectSetUnreadable,
  parseObjectSet,
  TEARDOWN_FINALIZER,
} from "../../release/objectSet.ts";
import { isReplaced, needsImport, type ObjectSetRelease, planObjectSetReleases } from "../../release/objectSetReleases.ts";
import { findLastDeployed, type ReleaseRecord } from "../../release/record.ts";
import type { ObjectSets } from "./objectSets.ts";
import type { ReleaseHistory, ReleaseOwner, ReleaseStore } from "./releaseStore.ts";

/** The options of ObjectSetImport. */
export interface ObjectSetImportOptions {
  /** The identity of the controller. */
  client: Pick<Client, "get" | "patch" | "delete">;
  sets: Pick<ObjectSets, "find">;
  store: Pick<ReleaseStore, "create" | "update" | "remove">;
  events: EventSink;
  systemNamespace: string;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
/** Maximum number of object sets of an extension. The Go operator-controller keeps five archived ones. */
const MAX_SETS = 50;
/** Maximum number of attempts to remove a finalizer of a set that other clients change at the same time. */
const MAX_FINALIZER_WRITES = 5;

/**
 * Takes over the releases of the Go operator-controller in object sets: stores them as releases, and removes the sets when a release of ours has
 * replaced the owner references of the objects. Both can be interrupted at any time and then continue.
 */
export class ObjectSetImport {
  readonly #options: ObjectSetImportOptions;

  constructor(options: ObjectSetImportOptions) {
    this.#options = options;
  }

  /**
   * Stores the releases in the object sets of an extension if they are newer than its releases. Writes the deployed release last. Skips archived
   * sets that cannot be read, because only a rollback needs them.
   * @returns whether the history has changed
   * @throws ObjectSetUnreadable if an active set cannot be read; RetryableError while it is unknown whether object sets exist; KubeError
   */
  async store(extension: Readonly<ClusterExtension>, history: ReleaseHistory, signal: AbortSignal): Promise<boolean> {
    const owner = toOwner(extension);
    const found = this.#options.sets.find(owner);
    if (!found) {
      if (findLastDeployed(history.current)) return false;
      throw new RetryableError("Retrying", "cannot determine yet whether the Go operator-controller stored releases in ClusterObjectSets");
    }
    if (!needsImport(found.filter((set) => !isArchivedSet(set)).map(toKnown), history.current)) return false;
    if (found.length > MAX_SETS)
      throw new RetryableError("Retrying", `${CLUSTER_EXTENSION} ${goQuote(owner.name)} has more than ${MAX_SETS} ClusterObjectSets`);
    const read = await Promise.all(found.map((set) => this.#read(extension, set, { signal })));
    const plan = planObjectSetReleases(read.flat(), history);
    await this.#storeReleases(plan, extension, history, { signal });
    return true;
  }

  /**
   * Removes the object sets of an extension whose releases are replaced, and the Secrets with their objects. Their objects stay.
   * @param deployed the deployed release; undefined to remove all sets, after an uninstall
   * @throws RetryableError Retrying with the set that cannot be removed
   */
  async remove(extension: Readonly<ClusterExtension>, deployed: ReleaseRecord | undefined, signal: AbortSignal): Promise<void> {
    for (const set of this.#options.sets.find(toOwner(extension)) ?? []) {
      if (deployed && !isReplaced(toKnown(set), deployed)) continue;
      try {
        await this.#remove(set, { signal });
      } catch (err) {
        throw wrapError(`cannot remove ${describeObject(set)}, whose objects now belong to the extension: `, err);
      }
    }
  }

  /** Returns the set with all of its objects; empty if it no longer exists or cannot be read and is not needed. */
  async #read(extension: Readonly<ClusterExtension>, known: KubeObject, calls: CallOptions): Promise<LoadedSet[]> {
    const live = await this.#options.client.get(toObjectRef(known), calls);
    if (!live || !isObjectSetOf(live, toOwner(extension))) return [];
    try {
      const set = parseObjectSet(live);
      return [{ ...set, objects: await this.#readObjects(set, calls) }];
    } catch (err) {
      const { finalizers = [] } = live.metadata;
      if (!(err instanceof ObjectSetUnreadable) || !isArchivedSet(live) || finalizers.includes(TEARDOWN_FINALIZER)) throw err;
      this.#options.events.record(extension, "Warning", "ReleaseSkipped", `not available for a rollback: ${getErrorMessage(err)}`);
      return [];
    }
  }

  async #readObjects(set: ObjectSet, calls: CallOptions): Promise<KubeObject[]> {
    const secrets = new Map<string, JsonObject>();
    const objects: KubeObject[] = [];
    let bytes = 0;
    for (const entry of set.entries) {
      const { place } = entry;
      if ("object" in entry) objects.push(entry.object);
      else {
        const data = secrets.get(entry.ref.name) ?? (await this.#readSecret(entry.ref, set, calls));
        secrets.set(entry.ref.name, data);
        objects.push(decodeObjectData(data[entry.ref.key], place, set));
      }
      bytes += JSON.stringify(objects.at(-1)).length;
      if (bytes > BUNDLE_LIMITS.renderedBytes)
        throw new ObjectSetUnreadable(set, `its objects exceed the maximum of ${BUNDLE_LIMITS.renderedBytes} bytes`);
    }
    return objects;
  }

  /** Reads only Secrets that an object set may use: an object set must not disclose others. @returns the data of the Secret */
  async #readSecret({ name, namespace }: ObjectDataRef, set: ObjectSet, calls: CallOptions): Promise<JsonObject> {
    const { client, systemNamespace } = this.#options;
    if (namespace !== "" && namespace !== systemNamespace) {
      const next = "pass the namespace of the Go operator-controller as --system-namespace";
      throw new ObjectSetUnreadable(
        set,
        `Secret ${namespace}/${name} is not in namespace ${goQuote(systemNamespace)}. To read it, ${next}`,
      );
    }
    const secret = await client.get({ ...SECRET, name, namespace: systemNamespace }, calls);
    if (!secret) throw new ObjectSetUnreadable(set, `Secret ${systemNamespace}/${name} does not exist. Restore this Secret`);
    if (secret["type"] !== OBJECT_DATA_TYPE)
      throw new ObjectSetUnreadable(set, `Secret ${systemNamespace}/${name} is not of type ${OBJECT_DATA_TYPE}`);
    return (secret["data"] ?? {}) as JsonObject;
  }

  async #storeReleases(
    plan: readonly ObjectSetRelease<LoadedSet>[],
    extension: Readonly<ClusterExtension>,
    { current, unfinished }: ReleaseHistory,
    calls: CallOptions,
  ): Promise<void> {
    const { store } = this.#options;
    const owner = toOwner(extension);
    for (const version of unfinished) await store.remove(owner.name, version, calls);
    for (const { set, status, version } of plan) {
      const known = current.find(({ objectSet }) => objectSet === set.uid);
      if (known && known.status === status) continue;
      const record = buildRelease(set, extension, version);
      // If the controller stops before the content is stored, only a pending release counts as unfinished.
      if (!known) await store.create({ ...record, status: "pending-install" }, owner, calls);
      if (status !== "deployed") await store.update({ ...record, status }, owner, calls);
    }
    const last = plan.find(({ status }) => status === "deployed");
    if (last) await store.update({ ...buildRelease(last.set, extension, last.version), status: "deployed" }, owner, calls);
  }

  /** Deletes the set last, so that an interrupted removal continues. */
  async #remove(known: KubeObject, calls: { signal: AbortSignal }): Promise<void> {
    const { client, systemNamespace } = this.#options;
    const live = await client.get(toObjectRef(known), calls);
    if (!live || live.metadata.uid !== known.metadata.uid) return;
    for (const name of listSecrets(live, systemNamespace)) {
      const ref = { ...SECRET, name, namespace: systemNamespace };
      const secret = await client.get(ref, calls);
      if (secret?.["type"] === OBJECT_DATA_TYPE) await client.delete(ref, { ...calls, ...getUid(secret) });
    }
    // Otherwise the garbage collector would delete objects that still have an owner reference to the set, such as kept CustomResourceDefinitions.
    await client.delete(toObjectRef(live), { ...calls, ...getUid(live), propagationPolicy: "Orphan" });
    for (let writes = 1; ; writes++) {
      const deleting = await client.get(toObjectRef(live), calls);
      const { uid, finalizers = [] } = deleting?.metadata ?? {};
      if (!deleting || uid !== live.metadata.uid || !finalizers.includes(TEARDOWN_FINALIZER)) return;
      const kept = finalizers.filter((finalizer) => finalizer !== TEARDOWN_FINALIZER);
      // The garbage collector removes its own finalizer at the same time.
      if ((await writeFinalizers(client, deleting, kept, calls.signal)) !== "changed") return;
      if (writes === MAX_FINALIZER_WRITES) throw new RetryableError("Retrying", "it keeps changing at the same time");
    }
  }
}

/** An object set with all of its objects. */
interface LoadedSet extends ObjectSet {
  readonly objects: readonly KubeObject[];
}

function toOwner({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>): ReleaseOwner {
  return { name, uid };
}

function toKnown({ metadata: { uid = "", creationTimestamp } }: KubeObject): { uid: string; createdAt: string } {
  return { uid, createdAt: creationTimestamp ?? "" };
}

function getUid({ metadata: { uid } }: KubeObject): { uid?: string } {
  return uid === undefined ? {} : { uid };
}

function buildRelease(set: LoadedSet, extension: Readonly<ClusterExtension>, version: number): Omit<ReleaseRecord, "status"> {
  const { name, uid } = toOwner(extension);
  const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
  return {
    name,
    namespace: getNamespace(extension),
    version,
    description: `imported from ${set.kind} ${set.name}`,
    firstDeployed: set.createdAt,
    lastDeployed: set.createdAt,
    labels: { ...set.labels },
    annotations: { ...set.annotations },
    objects: set.objects.map((object) => withOwner(object, owner)),
    objectSet: set.uid,
  };
}

/** Returns the names of the Secrets in the system namespace that an object set refers to; none if it cannot be parsed. */
function listSecrets(set: KubeObject, systemNamespace: string): string[] {
  try {
    const refs = parseObjectSet(set).entries.flatMap((entry) => ("ref" in entry ? [entry.ref] : []));
    const own = refs.filter(({ namespace }) => namespace === "" || namespace === systemNamespace);
    return [...new Set(own.map(({ name }) => name))];
  } catch {
    return []; // the set was not imported, so its Secrets may be needed
  }
}
