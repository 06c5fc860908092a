import type { ObjectRef } from "../../api/k8s.ts";
import { objectKey } from "../../release/identity.ts";
import { type Compared, FollowedObject, type News } from "./followedObject.ts";
import type { Sighting } from "./mark.ts";
import type { WatchIdentity } from "./streamPool.ts";

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
