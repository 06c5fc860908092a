import { createHash } from "node:crypto";
import type { ObjectMeta, ObjectRef } from "../../api/k8s.ts";
import { canonicalJson } from "../../golang/json.ts";
import { objectKey } from "../../release/identity.ts";
import { appliedFields } from "../../release/managedFields.ts";
import type { WatchIdentity } from "./streamPool.ts";

/** How an object was when it was last found to be as it should: enough to tell from metadata alone whether it still is. */
interface Mark {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  /** Digest of the fields that our apply owns; undefined where the API server notes none. */
  readonly fields: string | undefined;
}

/** Metadata of an object as a watch tells it, or that there was none at a resourceVersion. */
export type Sighting =
  | { readonly kind: "there"; readonly metadata: ObjectMeta }
  | { readonly kind: "gone"; readonly resourceVersion: string };

/** The mark of an object that is as it should be. */
export function markOf(metadata: ObjectMeta): Mark {
  const { uid = "", resourceVersion = "", generation } = metadata;
  const fields = appliedFields(metadata);
  const digest = fields && createHash("sha256").update(canonicalJson(fields)).digest("base64url").slice(0, 22);
  return { uid, resourceVersion, generation, fields: digest };
}

/**
 * Whether what was seen may be drift, given how the object should be; the first row that matches decides:
 *
 * | seen                                                           | may be drift |
 * | it should not be there, or nobody knows how it should be       | yes          |
 * | something as old as the mark, or older: our own write          | no           |
 * | it is gone                                                     | yes          |
 * | it is on its way out: it cannot be put back before it is gone  | no           |
 * | another object under its name                                  | yes          |
 * | fields that our apply owns are noted                           | those differ |
 * | the kind has a generation                                      | it differs   |
 * | anything else                                                  | yes          |
 */
export function mayBeDrift(seen: Sighting, mark: Mark | undefined): boolean {
  if (!mark) return true;
  const at = seen.kind === "gone" ? seen.resourceVersion : (seen.metadata.resourceVersion ?? "");
  if (!isNewer(at, mark.resourceVersion)) return false;
  if (seen.kind === "gone") return true;
  if (seen.metadata.deletionTimestamp !== undefined) return false;
  const now = markOf(seen.metadata);
  if (now.uid !== mark.uid) return true;
  if (mark.fields !== undefined) return now.fields !== mark.fields;
  return now.generation === undefined || now.generation !== mark.generation;
}

/** Decimal numbers are compared as such, which the API server has promised since 1.35 and kept before; others by being different. */
export function isNewer(a: string, b: string): boolean {
  if (!isDecimal(a) || !isDecimal(b)) return a !== b;
  return a.length === b.length ? a > b : a.length > b.length;
}

function isDecimal(text: string): boolean {
  return /^[1-9]\d*$/.test(text);
}

/** What a comparison of one object with the cluster came to. */
export interface Compared {
  readonly ref: ObjectRef;
  /** The object as it was found, or left by an apply; undefined where that is not known. */
  readonly mark: Mark | undefined;
  /** same: as it should be; corrected: put back; drifted: left as it is; failed: it could not be told or not be put back. */
  readonly outcome: "same" | "corrected" | "drifted" | "failed";
}

/** What others did to an object. */
export interface News {
  readonly type: "deleted" | "changed";
  /** False for kinds without one, and where only status or metadata changed. */
  readonly generationChanged: boolean;
}

/** Least time between two checks of one object that was found changed. */
const CHECK_MS = 5_000;
/** So often in a row an object is put back at once; then ever more seldom, down to once in this time. */
const AT_ONCE = 3;
const MAX_CHECK_MS = 300_000;
/** After this time without drift it counts as the first time. */
const CALM_MS = 600_000;

/** What is known of one object between comparisons, and when it may be looked at again. */
export class FollowedObject {
  readonly ref: ObjectRef;
  /** Key of its stream; undefined where it has none. */
  stream: string | undefined;
  #mark: Mark | undefined;
  #outcome: Compared["outcome"] = "same";
  /** The last sighting that was not judged because the object was being written. */
  #unjudged: Sighting | undefined;
  #dueAt: number | undefined;
  #notBefore = Number.NEGATIVE_INFINITY;
  #corrections = 0;
  #correctedAt = Number.NEGATIVE_INFINITY;
  #lastSeen: { resourceVersion: string; generation: number | undefined } | undefined;

  constructor(ref: ObjectRef) {
    this.ref = ref;
  }

  /** When a comparison is due, on the clock of the sightings; undefined while nothing is suspected. */
  get dueAt(): number | undefined {
    return this.#dueAt;
  }

  /** The last comparison failed: every pass tries again. */
  get isFailed(): boolean {
    return this.#outcome === "failed";
  }

  /** Takes in what a watch told; `judge` decides about it. */
  see(seen: Sighting): void {
    this.#unjudged = seen;
  }

  /** Decides about the last sighting. @returns what it tells that was not known; undefined where that is nothing. */
  judge(now: number): News | undefined {
    const seen = this.#unjudged;
    this.#unjudged = undefined;
    if (!seen) return undefined;
    const doubted = mayBeDrift(seen, this.#mark) || (this.#outcome !== "same" && this.#outcome !== "corrected" && this.#isAfterMark(seen));
    if (doubted) this.#dueAt ??= Math.max(now, this.#notBefore);
    const resourceVersion = resourceVersionOf(seen);
    if (!this.#isAfterMark(seen) || (this.#lastSeen && !isNewer(resourceVersion, this.#lastSeen.resourceVersion))) return undefined;
    const before = this.#lastSeen ?? this.#mark;
    const generation = seen.kind === "there" ? seen.metadata.generation : undefined;
    this.#lastSeen = { resourceVersion, generation };
    return { type: seen.kind === "gone" ? "deleted" : "changed", generationChanged: generation !== before?.generation };
  }

  /** Takes in a comparison. */
  take({ mark, outcome }: Compared, now: number): void {
    const wasSuspected = this.#dueAt !== undefined;
    this.#mark = mark ?? this.#mark;
    this.#outcome = outcome;
    this.#dueAt = undefined;
    if (outcome === "corrected") {
      this.#corrections = now - this.#correctedAt > CALM_MS ? 1 : this.#corrections + 1;
      this.#correctedAt = now;
      const repeated = this.#corrections - AT_ONCE;
      if (repeated >= 0) this.#notBefore = now + Math.min(CHECK_MS * 2 ** repeated, MAX_CHECK_MS);
    } else if (wasSuspected || outcome === "failed") {
      this.#notBefore = Math.max(this.#notBefore, now + CHECK_MS);
    }
  }

  #isAfterMark(seen: Sighting): boolean {
    return this.#mark === undefined || isNewer(resourceVersionOf(seen), this.#mark.resourceVersion);
  }
}

function resourceVersionOf(seen: Sighting): string {
  return seen.kind === "there" ? (seen.metadata.resourceVersion ?? "") : seen.resourceVersion;
}

/** One extension and its objects, and what was seen of them since they were last compared. */
export class Following {
  readonly uid: string;
  readonly identity: WatchIdentity;
  /** Its objects are being written: what is seen is judged afterwards. */
  isWritten = false;
  readonly #objects = new Map<string, FollowedObject>();

  constructor(uid: string, identity: WatchIdentity) {
    this.uid = uid;
    this.identity = identity;
  }

  /** By objectKey. */
  get objects(): ReadonlyMap<string, FollowedObject> {
    return this.#objects;
  }

  /** Keys of the streams that tell of its objects. */
  get streams(): Set<string> {
    return new Set([...this.#objects.values()].flatMap(({ stream }) => stream ?? []));
  }

  /** When the next comparison is due; undefined while nothing is suspected. */
  get dueAt(): number | undefined {
    const due = [...this.#objects.values()].flatMap(({ dueAt }) => dueAt ?? []);
    return due.length > 0 ? Math.min(...due) : undefined;
  }

  /** Objects that are to be compared at `until` at the latest. */
  suspects(until: number): ObjectRef[] {
    const suspected = [...this.#objects.values()].filter(({ dueAt, isFailed }) => isFailed || (dueAt !== undefined && dueAt <= until));
    return suspected.map(({ ref }) => ref);
  }

  /**
   * Adds an object as it was compared, with what `before` knows of it.
   * @returns whether nothing was known of it.
   */
  add(compared: Compared, before: Following | undefined, now: number): boolean {
    const key = objectKey(compared.ref);
    const known = before?.objects.get(key);
    const object = known ?? new FollowedObject(compared.ref);
    object.take(compared, now);
    this.#objects.set(key, object);
    return known === undefined;
  }

  /** Takes in comparisons of some of its objects. */
  take(compared: readonly Compared[], now: number): void {
    for (const one of compared) this.#objects.get(objectKey(one.ref))?.take(one, now);
  }

  /** Takes in what a stream told of its objects; undefined of those of which it told nothing. */
  see(stream: string, sightingOf: (key: string) => Sighting | undefined): void {
    for (const [key, object] of this.#objects) {
      const seen = object.stream === stream ? sightingOf(key) : undefined;
      if (seen) object.see(seen);
    }
  }

  /** Decides about everything that was seen, unless objects are being written. @returns what is new. */
  judge(now: number): (News & { readonly ref: ObjectRef })[] {
    if (this.isWritten) return [];
    return [...this.#objects.values()].flatMap((object) => {
      const news = object.judge(now);
      return news ? [{ ...news, ref: object.ref }] : [];
    });
  }
}
