import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, FIELD_MANAGER, LABEL_OWNER_KIND, LABEL_OWNER_NAME, Reason } from "../../api/constants.ts";
import { type JsonObject, type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict } from "../../kube/errors.ts";
import { describeObject, getObjectKey, isCrd } from "../../release/identity.ts";
import { GO_FIELD_MANAGER, handOverFields } from "../../release/managedFields.ts";
import { determineOwnership, type Owner } from "../../release/ownership.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { formatFirst } from "../state/objectActions.ts";

/** An object that a release needs and another extension owns. */
export interface Need {
  /** The object in the form in which it will be applied. */
  readonly object: KubeObject;
  /** Name of the extension that owns it. */
  readonly owner: string;
}

/**
 * The progress of the target release of an extension:
 *
 * | blocked | it is still being checked, or something other than objects of other extensions prevents the apply |
 * | ready   | it waits only for objects of other extensions                                                       |
 * | writing | the apply has begun                                                                                 |
 * | settled | it is deployed                                                                                      |
 */
type Progress = "blocked" | "ready" | "writing" | "settled";

interface HandoverTarget {
  readonly uid: string;
  /** Keys of the objects of the target release. */
  readonly keys: ReadonlySet<string>;
  /** Keys of the objects of the deployed release. */
  readonly deployed: ReadonlySet<string>;
  progress: Progress;
  /** Owners of the needed objects, by object key. */
  needs: ReadonlyMap<string, string>;
}

const NO_KEYS: ReadonlySet<string> = new Set();

/**
 * Decides from the target release of each extension which objects an extension may take over from another extension. An owner agrees to give up an
 * object if its target release does not contain the object, and waits only for other owners to agree. Extensions that exchange objects in a cycle
 * therefore all agree, and any of them may begin. In-memory only. Safe to lose on restart: an owner with an unknown target does not agree.
 */
export class Handovers {
  readonly #existing: () => readonly Readonly<ClusterExtension>[];
  readonly #targets = new Map<string, HandoverTarget>();
  /** Uids of the extensions whose target is known, including extensions without a target, by name. */
  readonly #seen = new Map<string, string>();

  /** @param existing lists the extensions of the cluster from a cache. */
  constructor(existing: () => readonly Readonly<ClusterExtension>[]) {
    this.#existing = existing;
  }

  /** Records the target release that a reconcile determined, before it is checked. */
  setTarget(
    { metadata: { name, uid = "" } }: Readonly<ClusterExtension>,
    desired: readonly KubeObject[],
    deployed: readonly KubeObject[],
  ): void {
    const keys = new Set(desired.map(getObjectKey));
    const before = this.#targets.get(name);
    const isSame = before?.uid === uid && before.keys.size === keys.size && [...keys].every((key) => before.keys.has(key));
    const isReady = isSame && before.progress === "ready";
    const needs = isReady ? before.needs : new Map<string, string>();
    this.#targets.set(name, { uid, keys, deployed: new Set(deployed.map(getObjectKey)), progress: isReady ? "ready" : "blocked", needs });
    this.#seen.set(name, uid);
  }

  /** Records that the deployed release is the target of the extension. */
  settle({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, deployed: readonly KubeObject[]): void {
    const keys = new Set(deployed.map(getObjectKey));
    this.#targets.set(name, { uid, keys, deployed: keys, progress: "settled", needs: new Map() });
    this.#seen.set(name, uid);
  }

  /** Records the deployed release as the target if no target is known, such as after a restart without catalogs. */
  assume(extension: Readonly<ClusterExtension>, deployed: readonly KubeObject[]): void {
    const { name, uid = "" } = extension.metadata;
    if (this.#targets.get(name)?.uid !== uid) this.settle(extension, deployed);
  }

  /** Records that a release waits only for objects of other extensions. */
  ready(name: string, needs: readonly Need[]): void {
    const target = this.#targets.get(name);
    if (!target) return;
    target.progress = "ready";
    target.needs = new Map(needs.map(({ object, owner }) => [getObjectKey(object), owner]));
  }

  /** Records that the apply of a release has begun. */
  writing(name: string): void {
    this.#progress(name, "writing");
  }

  /** Records that a release cannot be applied now. */
  blocked(name: string): void {
    this.#progress(name, "blocked");
  }

  /**
   * Records that a reconcile has ended.
   * @param hasTarget whether the reconcile determined the target release. If not, a ready target becomes blocked.
   * @param isKnown whether the reconcile determined if there is a target.
   */
  endReconcile({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, hasTarget: boolean, isKnown: boolean): void {
    if (isKnown) this.#seen.set(name, uid);
    if (!hasTarget && this.#targets.get(name)?.progress === "ready") this.blocked(name);
  }

  /** Drops a deleted extension. */
  forget(name: string): void {
    this.#targets.delete(name);
    this.#seen.delete(name);
  }

  /** Reports whether the target release of the owner does not contain the object. */
  excludes(owner: string, object: KubeObject): boolean {
    const target = this.#targets.get(owner);
    return target !== undefined && !target.keys.has(getObjectKey(object));
  }

  /** Reports whether the owner has given up the object: the apply of its release without the object has begun, or the release is deployed. */
  hasLeft(owner: string, object: KubeObject): boolean {
    const progress = this.#targets.get(owner)?.progress;
    return this.excludes(owner, object) && (progress === "settled" || progress === "writing");
  }

  /**
   * Reports whether the owners of all needed objects agree: the extension is in the largest set of ready extensions that need only objects of one
   * another.
   */
  isAgreed(name: string): boolean {
    const able = new Set([...this.#targets].flatMap(([one, { progress }]) => (progress === "ready" ? [one] : [])));
    for (let before = -1; before !== able.size; ) {
      before = able.size;
      for (const one of able) {
        const needs = this.#targets.get(one)?.needs ?? [];
        if (![...needs].every(([key, owner]) => this.#gives(owner, key, able))) able.delete(one);
      }
    }
    return able.has(name);
  }

  /**
   * Reports whether an object that its owner's release no longer contains must be kept, because the target or deployed release of another extension
   * contains it. After a restart, cluster-scoped objects are kept until the targets of all extensions are known.
   */
  isWanted(owner: string, object: KubeObject): boolean {
    const key = getObjectKey(object);
    for (const [name, { keys, deployed }] of this.#targets) if (name !== owner && (keys.has(key) || deployed.has(key))) return true;
    return toObjectRef(object).namespace === undefined && !this.#isComplete();
  }

  /** Reports whether another extension has deployed a target release that contains the object. */
  isSettledOn(owner: string, object: KubeObject): boolean {
    const key = getObjectKey(object);
    return [...this.#targets].some(([name, { keys, progress }]) => name !== owner && progress === "settled" && keys.has(key));
  }

  #gives(owner: string, key: string, able: ReadonlySet<string>): boolean {
    const { keys = NO_KEYS, progress } = this.#targets.get(owner) ?? {};
    return progress !== undefined && progress !== "blocked" && !keys.has(key) && (progress !== "ready" || able.has(owner));
  }

  #isComplete(): boolean {
    return this.#existing().every(({ metadata: { name, uid } }) => this.#seen.get(name) === uid);
  }

  #progress(name: string, progress: Progress): void {
    const target = this.#targets.get(name);
    if (target) target.progress = progress;
  }
}

/** Interval in milliseconds of the check whether the other extensions are ready. The check sends no request. */
const HANDOVER_LOOK_MS = 1_000;

/** Thrown if a release needs objects of other extensions, and the next releases of these cannot be applied yet. */
export class HandoverPending extends WaitingError {
  constructor(needs: readonly Need[], isAgreed: () => boolean) {
    const objects = needs.map(({ object, owner }) => `${describeObject(object)} from ${CLUSTER_EXTENSION} "${owner}"`);
    const text = `waiting to take over ${formatFirst(objects)}: the next release of the owner does not contain the object, but cannot be applied yet; no objects were changed, and the controller retries automatically`;
    super(Reason.Retrying, text, { isOver: () => Promise.resolve(isAgreed()), everyMs: HANDOVER_LOOK_MS });
  }
}

/** Thrown while another extension is writing one of the objects. */
export class ObjectsLocked extends RetryableError {}

/**
 * Locks objects while an extension writes them. Without locks, two extensions that are reconciled in parallel could both find that an object does not
 * exist, and the second extension would take over the object that the first extension has just created.
 */
export class ObjectLocks {
  readonly #held = new Map<string, string>();

  /**
   * Locks objects until the returned function is called.
   * @param keys distinct keys of `getObjectKey`.
   * @throws ObjectsLocked Retrying if another extension has locked one of them. In this case, no object is locked.
   */
  lock(extension: string, keys: readonly string[]): () => void {
    for (const key of keys) {
      const holder = this.#held.get(key);
      if (holder === undefined) continue;
      throw new ObjectsLocked("Retrying", `ClusterExtension "${holder}" is currently writing ${key}, which this bundle also contains`);
    }
    for (const key of keys) this.#held.set(key, extension);
    return () => {
      for (const key of keys) this.#held.delete(key);
    };
  }
}

/** Maximum number of attempts to write an object that other clients change at the same time. */
const MAX_TAKE_WRITES = 5;

/**
 * Takes over the live object of another extension with one write, if that extension still owns it. The object therefore always has exactly one owner
 * and is never deleted. Its content does not change until the following apply.
 * @returns the updated object; undefined if it no longer exists.
 * @throws RetryableError Retrying if the object now has a different owner.
 */
export async function takeOverFrom(
  client: Pick<Client, "get" | "patch">,
  { object, owner: from }: Need,
  owner: Owner,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  for (let writes = 1; ; writes++) {
    const live = await client.get(toObjectRef(object), { signal });
    const ownership = determineOwnership(live, owner);
    if (!live || ownership.kind === "ours") return live;
    if (ownership.kind === "foreign" && ownership.owner !== from) throw new RetryableError(Reason.Retrying, ownership.message);
    const { uid, resourceVersion } = live.metadata;
    const metadata = { ...buildOwnerMarks(object, live), uid, resourceVersion };
    try {
      return await client.patch(toObjectRef(object), { metadata }, { type: "merge", fieldManager: FIELD_MANAGER, signal });
    } catch (err) {
      if (!isConflict(err) || writes === MAX_TAKE_WRITES) throw err;
    }
  }
}

/** Returns the metadata of a merge patch that makes the owner of `object` the owner of `live`. */
export function buildOwnerMarks({ metadata, ...object }: KubeObject, live: KubeObject): JsonObject {
  const { labels = {}, annotations = {}, ownerReferences: ours = [] } = metadata;
  const others = (live.metadata.ownerReferences ?? []).filter(({ controller, kind }) => controller !== true && kind !== CLUSTER_EXTENSION);
  const marks = { [LABEL_OWNER_KIND]: labels[LABEL_OWNER_KIND], [LABEL_OWNER_NAME]: labels[LABEL_OWNER_NAME] };
  const uid = isCrd(object) ? { annotations: { [ANNOTATION_OWNER_UID]: annotations[ANNOTATION_OWNER_UID] } } : {};
  return { labels: marks, ownerReferences: [...others, ...ours], ...uid };
}

/**
 * Takes over live objects that another program wrote, such as the Go operator-controller, without changing their content:
 *
 * | on the object                    | becomes                     | reason                                                        |
 * | fields of its field manager      | fields of our field manager | an apply removes fields that a later bundle no longer sets    |
 * | owner reference of a CRD to the extension | the annotation with its uid | the garbage collector cannot delete the CRD and its custom resources |
 *
 * Sends one request for each object with such metadata.
 * @param managers field managers whose fields become ours.
 * @returns the updated objects, in the same order.
 * @throws KubeError 409 if another writer changed an object at the same time.
 */
export async function takeOver(
  client: Pick<Client, "patch">,
  objects: readonly KubeObject[],
  ownerUid: string,
  signal: AbortSignal,
  managers: readonly string[] = [GO_FIELD_MANAGER],
): Promise<KubeObject[]> {
  const taken: KubeObject[] = [];
  for (const object of objects) {
    const metadata = { ...buildAdoptedFields(object, managers), ...(isCrd(object) ? moveOwnerToAnnotation(object, ownerUid) : {}) };
    if (Object.keys(metadata).length === 0) {
      taken.push(object);
      continue;
    }
    const { resourceVersion } = object.metadata;
    const body = { metadata: { ...metadata, resourceVersion } };
    taken.push(await client.patch(toObjectRef(object), body, { type: "merge", fieldManager: FIELD_MANAGER, signal }));
  }
  return taken;
}

function buildAdoptedFields({ metadata: { managedFields = [] } }: KubeObject, managers: readonly string[]): JsonObject {
  const ours = managers.reduce((entries, manager) => handOverFields(entries, manager, FIELD_MANAGER) ?? entries, managedFields);
  return ours === managedFields ? {} : { managedFields: ours };
}

function moveOwnerToAnnotation({ metadata: { ownerReferences = [] } }: KubeObject, ownerUid: string): JsonObject {
  const others = ownerReferences.filter(({ uid }) => uid !== ownerUid);
  if (others.length === ownerReferences.length) return {};
  return { ownerReferences: others, annotations: { [ANNOTATION_OWNER_UID]: ownerUid } };
}
