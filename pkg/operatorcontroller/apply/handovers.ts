import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, FIELD_MANAGER, LABEL_OWNER_KIND, LABEL_OWNER_NAME, Reason } from "../../api/constants.ts";
import { type JsonObject, type KubeObject, refOf } from "../../api/k8s.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isConflict } from "../../kube/errors.ts";
import { describeObject, isCrd, objectKey } from "../../release/identity.ts";
import { GO_FIELD_MANAGER, handOverFields } from "../../release/managedFields.ts";
import { type Owner, ownershipOf } from "../../release/ownership.ts";
import { formatFirst } from "../state/objectActions.ts";
import { WaitingError } from "../state/waiting.ts";

/** An object that a release needs and another extension owns. */
export interface Need {
  /** As it is to be applied. */
  readonly object: KubeObject;
  /** Name of the extension that owns it. */
  readonly owner: string;
}

/**
 * How far the release is that an extension aims at:
 * blocked: something else than the objects of other extensions keeps it from being applied, or it is still being checked;
 * ready: only objects of other extensions are missing; writing: it has begun; settled: it is deployed.
 */
type Progress = "blocked" | "ready" | "writing" | "settled";

interface Aim {
  readonly uid: string;
  /** What the release holds that the extension aims at. */
  readonly keys: ReadonlySet<string>;
  /** What its deployed release holds. */
  readonly deployed: ReadonlySet<string>;
  progress: Progress;
  /** Owners of what it needs, by key of the object. */
  needs: ReadonlyMap<string, string>;
}

const NO_KEYS: ReadonlySet<string> = new Set();

/**
 * Decides which object an extension may take from another one, from what each extension aims at. An owner agrees to give an object up when the
 * release that it aims at does not contain the object, and nothing but such agreements keeps that release from being applied. Extensions
 * that exchange objects in a ring therefore all agree, and any of them may begin.
 * In-memory only. Safe to lose on restart: an owner whose aim is not known does not agree.
 */
export class Handovers {
  readonly #existing: () => readonly Readonly<ClusterExtension>[];
  readonly #aims = new Map<string, Aim>();
  /** Uids of the extensions whose aim is known, or that have none, by name. */
  readonly #seen = new Map<string, string>();

  /** @param existing the extensions of the cluster as they are known now. */
  constructor(existing: () => readonly Readonly<ClusterExtension>[]) {
    this.#existing = existing;
  }

  /** Notes the release that a pass aims at, before anything of it is checked. */
  aim({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, desired: readonly KubeObject[], deployed: readonly KubeObject[]): void {
    const keys = new Set(desired.map(objectKey));
    const before = this.#aims.get(name);
    const isSame = before?.uid === uid && before.keys.size === keys.size && [...keys].every((key) => before.keys.has(key));
    const isReady = isSame && before.progress === "ready";
    const needs = isReady ? before.needs : new Map<string, string>();
    this.#aims.set(name, { uid, keys, deployed: new Set(deployed.map(objectKey)), progress: isReady ? "ready" : "blocked", needs });
    this.#seen.set(name, uid);
  }

  /** Notes that the deployed release is the one that the extension aims at. */
  settle({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, deployed: readonly KubeObject[]): void {
    const keys = new Set(deployed.map(objectKey));
    this.#aims.set(name, { uid, keys, deployed: keys, progress: "settled", needs: new Map() });
    this.#seen.set(name, uid);
  }

  /** Notes what is deployed where nothing better is known, such as after a restart without catalogs. */
  assume(extension: Readonly<ClusterExtension>, deployed: readonly KubeObject[]): void {
    const { name, uid = "" } = extension.metadata;
    if (this.#aims.get(name)?.uid !== uid) this.settle(extension, deployed);
  }

  /** Notes that a release can be applied except for what it needs of other extensions. */
  ready(name: string, needs: readonly Need[]): void {
    const aim = this.#aims.get(name);
    if (!aim) return;
    aim.progress = "ready";
    aim.needs = new Map(needs.map(({ object, owner }) => [objectKey(object), owner]));
  }

  /** Notes that a release begins. */
  writing(name: string): void {
    this.#progress(name, "writing");
  }

  /** Notes that a release cannot be applied now. */
  blocked(name: string): void {
    this.#progress(name, "blocked");
  }

  /**
   * Notes that a pass has ended.
   * @param isAimed whether it came as far as the release that the extension aims at; what was ready before is not, otherwise.
   * @param isKnown whether it came far enough to tell that there is none.
   */
  passed({ metadata: { name, uid = "" } }: Readonly<ClusterExtension>, isAimed: boolean, isKnown: boolean): void {
    if (isKnown) this.#seen.set(name, uid);
    if (!isAimed && this.#aims.get(name)?.progress === "ready") this.blocked(name);
  }

  /** Drops what is known of an extension that is gone. */
  forget(name: string): void {
    this.#aims.delete(name);
    this.#seen.delete(name);
  }

  /** Whether the owner aims at a release without that object. */
  excludes(owner: string, object: KubeObject): boolean {
    const aim = this.#aims.get(owner);
    return aim !== undefined && !aim.keys.has(objectKey(object));
  }

  /** Whether the owner has left that object behind: its release without the object has begun or is deployed. */
  hasLeft(owner: string, object: KubeObject): boolean {
    const progress = this.#aims.get(owner)?.progress;
    return this.excludes(owner, object) && (progress === "settled" || progress === "writing");
  }

  /** Whether every owner of what the extension needs agrees to give it up: the largest set of ready extensions that need one another only. */
  agreed(name: string): boolean {
    const able = new Set([...this.#aims].flatMap(([one, { progress }]) => (progress === "ready" ? [one] : [])));
    for (let before = -1; before !== able.size; ) {
      before = able.size;
      for (const one of able) {
        const needs = this.#aims.get(one)?.needs ?? [];
        if (![...needs].every(([key, owner]) => this.#gives(owner, key, able))) able.delete(one);
      }
    }
    return able.has(name);
  }

  /**
   * Whether an object that its owner no longer contains stays for another extension: one that aims at it or has it deployed. While not every extension
   * is known after a restart, an object of the cluster stays as well.
   */
  isWanted(owner: string, object: KubeObject): boolean {
    const key = objectKey(object);
    for (const [name, { keys, deployed }] of this.#aims) if (name !== owner && (keys.has(key) || deployed.has(key))) return true;
    return refOf(object).namespace === undefined && !this.#isComplete();
  }

  /** Whether another extension has deployed a release that contains that object. */
  isSettledOn(owner: string, object: KubeObject): boolean {
    const key = objectKey(object);
    return [...this.#aims].some(([name, { keys, progress }]) => name !== owner && progress === "settled" && keys.has(key));
  }

  #gives(owner: string, key: string, able: ReadonlySet<string>): boolean {
    const { keys = NO_KEYS, progress } = this.#aims.get(owner) ?? {};
    return progress !== undefined && progress !== "blocked" && !keys.has(key) && (progress !== "ready" || able.has(owner));
  }

  #isComplete(): boolean {
    return this.#existing().every(({ metadata: { name, uid } }) => this.#seen.get(name) === uid);
  }

  #progress(name: string, progress: Progress): void {
    const aim = this.#aims.get(name);
    if (aim) aim.progress = progress;
  }
}

/** Milliseconds between two looks whether the other extensions are ready; they cost no request. */
const HANDOVER_LOOK_MS = 1_000;

/** A release needs objects of other extensions, which give them up with releases of their own that cannot be applied yet. */
export class HandoverPending extends WaitingError {
  constructor(needs: readonly Need[], agreed: () => boolean) {
    const objects = needs.map(({ object, owner }) => `${describeObject(object)} of ${CLUSTER_EXTENSION} "${owner}"`);
    const text = `waiting for ${formatFirst(objects)}, whose next release no longer contains it and cannot be applied yet; nothing was changed, and the controller retries automatically`;
    super(Reason.Retrying, text, { isOver: () => Promise.resolve(agreed()), everyMs: HANDOVER_LOOK_MS });
  }
}

/** Another extension is writing one of the objects. */
export class ObjectsClaimed extends RetryableError {}

/**
 * Which extension is writing which object just now. Two extensions that hold the same object may be worked on side by side: both would see
 * that it does not exist yet, and the second would take from the first what that has just created.
 */
export class ObjectClaims {
  readonly #held = new Map<string, string>();

  /**
   * Claims objects until the returned function is called.
   * @param keys of `objectKey`, once each.
   * @throws ObjectsClaimed Retrying when another extension holds one of them; then none is claimed.
   */
  claim(extension: string, keys: readonly string[]): () => void {
    for (const key of keys) {
      const holder = this.#held.get(key);
      if (holder === undefined) continue;
      throw new ObjectsClaimed("Retrying", `ClusterExtension "${holder}" is just writing ${key}, which this bundle holds too`);
    }
    for (const key of keys) this.#held.set(key, extension);
    return () => {
      for (const key of keys) this.#held.delete(key);
    };
  }
}

/** How often an object is read again because another writer changed it in between. */
const MAX_TAKE_WRITES = 5;

/**
 * Makes the live object of another extension ours with one write, if it still is that extension's: at each moment it has one owner, and it is never
 * deleted. What it says stays as it is; the apply that follows changes that.
 * @returns the object as it is now; undefined if it does not exist any more.
 * @throws RetryableError Retrying if it has become someone else's.
 */
export async function takeFrom(
  client: Pick<Client, "get" | "patch">,
  { object, owner: from }: Need,
  owner: Owner,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  for (let writes = 1; ; writes++) {
    const live = await client.get(refOf(object), { signal });
    const ownership = ownershipOf(live, owner);
    if (!live || ownership.kind === "ours") return live;
    if (ownership.kind === "foreign" && ownership.owner !== from) throw new RetryableError(Reason.Retrying, ownership.message);
    const { uid, resourceVersion } = live.metadata;
    const metadata = { ...ownerMarks(object, live), uid, resourceVersion };
    try {
      return await client.patch(refOf(object), { metadata }, { type: "merge", fieldManager: FIELD_MANAGER, signal });
    } catch (err) {
      if (!isConflict(err) || writes === MAX_TAKE_WRITES) throw err;
    }
  }
}

/** The metadata that makes `live` belong to the owner of `object`, in a merge patch. */
export function ownerMarks({ metadata, ...object }: KubeObject, live: KubeObject): JsonObject {
  const { labels = {}, annotations = {}, ownerReferences: ours = [] } = metadata;
  const others = (live.metadata.ownerReferences ?? []).filter(({ controller, kind }) => controller !== true && kind !== CLUSTER_EXTENSION);
  const marks = { [LABEL_OWNER_KIND]: labels[LABEL_OWNER_KIND], [LABEL_OWNER_NAME]: labels[LABEL_OWNER_NAME] };
  const uid = isCrd(object) ? { annotations: { [ANNOTATION_OWNER_UID]: annotations[ANNOTATION_OWNER_UID] } } : {};
  return { labels: marks, ownerReferences: [...others, ...ours], ...uid };
}

/**
 * Makes live objects that others wrote, such as the Go operator-controller, ours in every respect, without a change of what they say:
 *
 * | on the object                         | becomes                                                                         |
 * | fields of its field manager           | fields of our applies: what a later version of the bundle leaves out really goes |
 * | on a CRD, a reference to the extension | the annotation with its uid: the garbage collector cannot take the CRD, and every custom resource with it |
 *
 * One request for each object that has either, none for the others.
 * @param managers field managers whose fields become ours.
 * @returns the objects as they are now, in the same order.
 * @throws KubeError 409 when somebody wrote an object at the same time.
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
    const metadata = { ...takenFields(object, managers), ...(isCrd(object) ? ownerAsAnnotation(object, ownerUid) : {}) };
    if (Object.keys(metadata).length === 0) {
      taken.push(object);
      continue;
    }
    const { resourceVersion } = object.metadata;
    const body = { metadata: { ...metadata, resourceVersion } };
    taken.push(await client.patch(refOf(object), body, { type: "merge", fieldManager: FIELD_MANAGER, signal }));
  }
  return taken;
}

function takenFields({ metadata: { managedFields = [] } }: KubeObject, managers: readonly string[]): JsonObject {
  const ours = managers.reduce((entries, manager) => handOverFields(entries, manager, FIELD_MANAGER) ?? entries, managedFields);
  return ours === managedFields ? {} : { managedFields: ours };
}

function ownerAsAnnotation({ metadata: { ownerReferences = [] } }: KubeObject, ownerUid: string): JsonObject {
  const others = ownerReferences.filter(({ uid }) => uid !== ownerUid);
  if (others.length === ownerReferences.length) return {};
  return { ownerReferences: others, annotations: { [ANNOTATION_OWNER_UID]: ownerUid } };
}
