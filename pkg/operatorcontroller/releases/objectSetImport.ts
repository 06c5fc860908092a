import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { FINALIZER_UNINSTALL } from "../../api/constants.ts";
import type { EventSink } from "../../api/events.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { writeFinalizers } from "../../controller/finalizers.ts";
import { RetryableError, wrapError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import type { CallOptions } from "../../kube/request.ts";
import { describeObject } from "../../release/identity.ts";
import { OBJECT_DATA_TYPE, parseObjectSet, TEARDOWN_FINALIZER } from "../../release/objectSet.ts";
import { isReplaced, toKnownSet } from "../../release/objectSetReleases.ts";
import { findLastDeployed, type ReleaseRecord } from "../../release/record.ts";
import { readObjectSetReleases, toReleaseOwner } from "./objectSetReader.ts";
import type { ObjectSets } from "./objectSets.ts";
import type { ReleaseHistory, ReleaseStore } from "./releaseStore.ts";

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
   * Stores the releases in the object sets of an extension if they are newer than its releases. Adds the finalizer of the extension first, so that a
   * deletion between the two does not leave its sets. Writes the deployed release last. Skips archived sets that cannot be read, because only a
   * rollback needs them.
   * @returns whether the history has changed
   * @throws ObjectSetUnreadable if an active set cannot be read; RetryableError while it is unknown whether object sets exist, or if the extension
   * changes at the same time; KubeError
   */
  async store(extension: Readonly<ClusterExtension>, history: ReleaseHistory, signal: AbortSignal): Promise<boolean> {
    const { client, sets, events, systemNamespace } = this.#options;
    const found = sets.find(toReleaseOwner(extension));
    if (!found) {
      if (findLastDeployed(history.current)) return false;
      throw new RetryableError("Retrying", "cannot determine yet whether the Go operator-controller stored releases in ClusterObjectSets");
    }
    const onSkipped = (why: string): void => events.record(extension, "Warning", "ReleaseSkipped", `not available for a rollback: ${why}`);
    const releases = await readObjectSetReleases(extension, found, history, { client, systemNamespace, signal, onSkipped });
    if (!releases) return false;
    await this.#requireFinalizer(extension, signal);
    await this.#storeReleases(releases, extension, history, { signal });
    return true;
  }

  /**
   * Removes the object sets of an extension whose releases are replaced, and the Secrets with their objects. Their objects stay.
   * @param deployed the deployed release; undefined to remove all sets, after an uninstall
   * @throws RetryableError Retrying with the set that cannot be removed
   */
  async remove(extension: Readonly<ClusterExtension>, deployed: ReleaseRecord | undefined, signal: AbortSignal): Promise<void> {
    for (const set of this.#options.sets.find(toReleaseOwner(extension)) ?? []) {
      if (deployed && !isReplaced(toKnownSet(set), deployed)) continue;
      try {
        await this.#remove(set, { signal });
      } catch (err) {
        throw wrapError(`cannot remove ${describeObject(set)}, whose objects now belong to the extension: `, err);
      }
    }
  }

  /** Adds the finalizer that uninstalls the extension. Nothing to do for an extension that is being deleted: it has a finalizer. */
  async #requireFinalizer(extension: Readonly<ClusterExtension>, signal: AbortSignal): Promise<void> {
    const { finalizers = [], deletionTimestamp } = extension.metadata;
    if (deletionTimestamp !== undefined || finalizers.includes(FINALIZER_UNINSTALL)) return;
    const outcome = await writeFinalizers(this.#options.client, extension, [...finalizers, FINALIZER_UNINSTALL], signal);
    if (outcome !== "written") throw new RetryableError("Retrying", "the extension was changed or deleted at the same time");
  }

  async #storeReleases(
    releases: readonly ReleaseRecord[],
    extension: Readonly<ClusterExtension>,
    { current, unfinished }: ReleaseHistory,
    calls: CallOptions,
  ): Promise<void> {
    const { store } = this.#options;
    const owner = toReleaseOwner(extension);
    for (const version of unfinished) await store.remove(owner.name, version, calls);
    for (const record of releases) {
      const known = current.find(({ objectSet }) => objectSet === record.objectSet);
      if (known && known.status === record.status) continue;
      // If the controller stops before the content is stored, only a pending release counts as unfinished.
      if (!known) await store.create({ ...record, status: "pending-install" }, owner, calls);
      if (record.status !== "deployed") await store.update(record, owner, calls);
    }
    const last = releases.find(({ status }) => status === "deployed");
    if (last) await store.update(last, owner, calls);
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

function getUid({ metadata: { uid } }: KubeObject): { uid?: string } {
  return uid === undefined ? {} : { uid };
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
