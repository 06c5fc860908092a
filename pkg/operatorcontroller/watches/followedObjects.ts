import { createHash } from "node:crypto";
import type { ObjectMeta, ObjectRef } from "../../api/k8s.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { getObjectKey } from "../../release/identity.ts";
import { getAppliedFields } from "../../release/managedFields.ts";
import type { WatchIdentity } from "./streamPool.ts";

/** State of an object when it was last found correct. Used to detect drift from the object's metadata. */
interface CorrectState {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  /** Digest of the fields that the controller's apply owns; undefined if the API server has recorded none. */
  readonly fields: string | undefined;
}

/** Metadata of an object from a watch, or its absence at a resourceVersion. */
export type Observation =
  | { readonly kind: "exists"; readonly metadata: ObjectMeta }
  | { readonly kind: "gone"; readonly resourceVersion: string };

/** Returns the mark of a correct object. */
export function createMark(metadata: ObjectMeta): CorrectState {
  const { uid = "", resourceVersion = "", generation } = metadata;
  const fields = getAppliedFields(metadata);
  const digest = fields && createHash("sha256").update(encodeCanonicalJson(fields)).digest("base64url").slice(0, 22);
  return { uid, resourceVersion, generation, fields: digest };
}

/**
 * Reports whether an observation may be drift. The first matching row decides:
 *
 * | observation                                                 | may be drift         |
 * | the object should not exist, or its desired state is unknown | yes                  |
 * | not newer than the mark: the controller's own write          | no                   |
 * | deleted                                                      | yes                  |
 * | being deleted, so it cannot be recreated yet                 | no                   |
 * | another object with the same name                            | yes                  |
 * | our apply's fields are recorded                              | if they differ       |
 * | the kind has a generation                                    | if it differs        |
 * | any other                                                    | yes                  |
 */
export function mayBeDrift(seen: Observation, mark: CorrectState | undefined): boolean {
  if (!mark) return true;
  const at = seen.kind === "gone" ? seen.resourceVersion : (seen.metadata.resourceVersion ?? "");
  if (!isNewer(at, mark.resourceVersion)) return false;
  if (seen.kind === "gone") return true;
  if (seen.metadata.deletionTimestamp !== undefined) return false;
  const now = createMark(seen.metadata);
  if (now.uid !== mark.uid) return true;
  if (mark.fields !== undefined) return now.fields !== mark.fields;
  return now.generation === undefined || now.generation !== mark.generation;
}

/**
 * Compares resourceVersions: decimal numbers by value, which the API server has guaranteed since 1.35 and already
 * supported before. A resourceVersion in another format counts as newer if it differs.
 */
export function isNewer(a: string, b: string): boolean {
  if (!isDecimal(a) || !isDecimal(b)) return a !== b;
  return a.length === b.length ? a > b : a.length > b.length;
}

function isDecimal(text: string): boolean {
  return /^[1-9]\d*$/.test(text);
}

/** Result of comparing one object with the cluster. */
export interface Compared {
  readonly ref: ObjectRef;
  /** The object as found or applied; undefined if unknown. */
  readonly mark: CorrectState | undefined;
  /** same: correct; corrected: restored; drifted: left unchanged; failed: not compared or not restored. */
  readonly outcome: "same" | "corrected" | "drifted" | "failed";
}

/** A change that another client made to an object. */
export interface ObjectChange {
  readonly type: "deleted" | "changed";
  /** False for kinds without generation, and if only status or metadata changed. */
  readonly generationChanged: boolean;
}

/** Minimum time between two comparisons of an object that was found changed. */
const CHECK_MS = 5_000;
/** Number of consecutive corrections without delay. Later ones are delayed, up to the maximum. */
const IMMEDIATE_CORRECTIONS = 3;
const MAX_CHECK_MS = 300_000;
/** Time without drift after which the count starts again. */
const CALM_MS = 600_000;

/** Drift-check state of one object: last result, corrections and next check. */
export class FollowedObject {
  readonly ref: ObjectRef;
  /** Key of its stream; undefined if it has none. */
  stream: string | undefined;
  #mark: CorrectState | undefined;
  #outcome: Compared["outcome"] = "same";
  /** The last observation, if it was not evaluated yet because the object was being written. */
  #pending: Observation | undefined;
  #dueAt: number | undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  #corrections = 0;
  #correctedAt = Number.NEGATIVE_INFINITY;
  #lastSeen: { resourceVersion: string; generation: number | undefined } | undefined;

  constructor(ref: ObjectRef) {
    this.ref = ref;
  }

  /** Time of the next comparison, on the clock of the observations; undefined if none is needed. */
  get dueAt(): number | undefined {
    return this.#dueAt;
  }

  /** Whether the last comparison failed. Each reconcile retries it. */
  get isFailed(): boolean {
    return this.#outcome === "failed";
  }

  /** Records an observation; `evaluate` processes it. */
  observe(seen: Observation): void {
    this.#pending = seen;
  }

  /** Evaluates the last observation. @returns the change if it is new, else undefined. */
  evaluate(now: number): ObjectChange | undefined {
    const seen = this.#pending;
    this.#pending = undefined;
    if (!seen) return undefined;
    const isSuspect =
      mayBeDrift(seen, this.#mark) || (this.#outcome !== "same" && this.#outcome !== "corrected" && this.#isAfterMark(seen));
    if (isSuspect) this.#dueAt ??= Math.max(now, this.#notBefore);
    const resourceVersion = getResourceVersion(seen);
    if (!this.#isAfterMark(seen) || (this.#lastSeen && !isNewer(resourceVersion, this.#lastSeen.resourceVersion))) return undefined;
    const before = this.#lastSeen ?? this.#mark;
    const generation = seen.kind === "exists" ? seen.metadata.generation : undefined;
    this.#lastSeen = { resourceVersion, generation };
    return { type: seen.kind === "gone" ? "deleted" : "changed", generationChanged: generation !== before?.generation };
  }

  /** Records a comparison. */
  recordComparison({ mark, outcome }: Compared, now: number): void {
    const wasSuspected = this.#dueAt !== undefined;
    this.#mark = mark ?? this.#mark;
    this.#outcome = outcome;
    this.#dueAt = undefined;
    if (outcome === "corrected") {
      this.#corrections = now - this.#correctedAt > CALM_MS ? 1 : this.#corrections + 1;
      this.#correctedAt = now;
      const repeated = this.#corrections - IMMEDIATE_CORRECTIONS;
      if (repeated >= 0) this.#notBefore = now + Math.min(CHECK_MS * 2 ** repeated, MAX_CHECK_MS);
    } else if (wasSuspected || outcome === "failed") {
      this.#notBefore = Math.max(this.#notBefore, now + CHECK_MS);
    }
  }

  #isAfterMark(seen: Observation): boolean {
    return this.#mark === undefined || isNewer(getResourceVersion(seen), this.#mark.resourceVersion);
  }
}

function getResourceVersion(seen: Observation): string {
  return seen.kind === "exists" ? (seen.metadata.resourceVersion ?? "") : seen.resourceVersion;
}

/** One extension with its objects, and observations since their last comparison. */
export class FollowedExtension {
  readonly uid: string;
  readonly identity: WatchIdentity;
  /** Whether its objects are being written. Observations are evaluated afterwards. */
  isBeingWritten = false;
  readonly #objects = new Map<string, FollowedObject>();

  constructor(uid: string, identity: WatchIdentity) {
    this.uid = uid;
    this.identity = identity;
  }

  /** By getObjectKey. */
  get objects(): ReadonlyMap<string, FollowedObject> {
    return this.#objects;
  }

  /** Keys of the streams that watch its objects. */
  get streams(): Set<string> {
    return new Set([...this.#objects.values()].flatMap(({ stream }) => stream ?? []));
  }

  /** Time of the next comparison; undefined if none is needed. */
  get dueAt(): number | undefined {
    const due = [...this.#objects.values()].flatMap(({ dueAt }) => dueAt ?? []);
    return due.length > 0 ? Math.min(...due) : undefined;
  }

  /** Returns the objects that must be compared until `until`. */
  suspects(until: number): ObjectRef[] {
    const suspected = [...this.#objects.values()].filter(({ dueAt, isFailed }) => isFailed || (dueAt !== undefined && dueAt <= until));
    return suspected.map(({ ref }) => ref);
  }

  /**
   * Adds an object with its comparison, and with its state in `before`.
   * @returns whether `before` did not contain it.
   */
  add(compared: Compared, before: FollowedExtension | undefined, now: number): boolean {
    const key = getObjectKey(compared.ref);
    const known = before?.objects.get(key);
    const object = known ?? new FollowedObject(compared.ref);
    object.recordComparison(compared, now);
    this.#objects.set(key, object);
    return known === undefined;
  }

  /** Records comparisons of some of its objects. */
  recordComparisons(compared: readonly Compared[], now: number): void {
    for (const one of compared) this.#objects.get(getObjectKey(one.ref))?.recordComparison(one, now);
  }

  /**
   * Records what a stream reported about its objects. @param find returns undefined for objects that the stream did not
   * report.
   */
  observe(stream: string, find: (key: string) => Observation | undefined): void {
    for (const [key, object] of this.#objects) {
      const seen = object.stream === stream ? find(key) : undefined;
      if (seen) object.observe(seen);
    }
  }

  /** Evaluates all observations, unless objects are being written. @returns the new changes. */
  evaluate(now: number): (ObjectChange & { readonly ref: ObjectRef })[] {
    if (this.isBeingWritten) return [];
    return [...this.#objects.values()].flatMap((object) => {
      const change = object.evaluate(now);
      return change ? [{ ...change, ref: object.ref }] : [];
    });
  }
}
