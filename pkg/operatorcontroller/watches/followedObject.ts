import type { ObjectRef } from "../../api/k8s.ts";
import { isNewer, type Mark, mayBeDrift, type Sighting } from "./mark.ts";

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
