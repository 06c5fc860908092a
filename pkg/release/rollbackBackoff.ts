import type { KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { truncate } from "../text/truncate.ts";
import { getObjectKey, isCrd } from "./identity.ts";

/** A release that was rolled back, and whose input is not retried until a backoff has passed. */
export interface RolledBack {
  /** Number of the release that was rolled back. */
  release: number;
  /** Its bundle and the bundle's version. */
  bundle: string;
  version: string;
  /** Digest of all inputs of its rendering. */
  inputDigest: string;
  /** The extension's `metadata.generation` at that time. */
  generation: number;
  /** Digest of the content of the catalog that the bundle came from; empty if unknown. */
  catalog: string;
  /** Reason and message of condition Progressing until the retry. */
  reason: "ProgressDeadlineExceeded" | "Retrying";
  message: string;
  /** Number of consecutive rollbacks of the same input, including this one. */
  attempts: number;
  /** RFC 3339. */
  at: string;
}

/** The inputs of the next attempt. */
export type Attempt = Pick<RolledBack, "inputDigest" | "generation" | "catalog">;

/** The first backoff. It doubles with every attempt, up to the maximum. */
const FIRST_WAIT_MS = 10 * 60_000;
const LONGEST_WAIT_MS = 24 * 60 * 60_000;
/** Maximum clock difference between two replicas. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
const MAX_MESSAGE = 4_096;

/**
 * Returns the time when the attempt may start, in milliseconds since the epoch.
 * @returns undefined if the attempt does not have to wait: its input, spec or catalog changed, the backoff has passed, or the rollback is in the
 * future because a clock was adjusted
 */
export function getHoldEnd(given: RolledBack, attempt: Attempt, now: number): number | undefined {
  const same = given.inputDigest === attempt.inputDigest && given.generation === attempt.generation && given.catalog === attempt.catalog;
  const until = getRetryTime(given);
  const isOfOtherClock = Date.parse(given.at) > now + CLOCKS_DIFFER_MS;
  return same && now < until && !isOfOtherClock ? until : undefined;
}

/** Returns the time when an unchanged attempt is retried, in milliseconds since the epoch. */
export function getRetryTime({ at, attempts }: Pick<RolledBack, "at" | "attempts">): number {
  const began = Date.parse(at) || 0;
  return began + Math.min(FIRST_WAIT_MS * 2 ** (Math.max(attempts, 1) - 1), LONGEST_WAIT_MS);
}

/** Returns the number of consecutive rollbacks of `attempt`, including this one. `before` is the rollback that the previous release records. */
export function countAttempts(attempt: Pick<Attempt, "inputDigest">, before: RolledBack | undefined): number {
  return before?.inputDigest === attempt.inputDigest ? before.attempts + 1 : 1;
}

/**
 * Returns the objects that a rollback to `target` applies. Does not revert CustomResourceDefinitions, because that can lose data: uses those of
 * `given` that were applied, and takes only the other ones from `target`.
 * @param given objects of the release that is rolled back
 * @param applied reports whether the object with this key (see `getObjectKey`) was applied
 */
export function computeRollbackObjects(
  target: readonly KubeObject[],
  given: readonly KubeObject[],
  applied: (key: string) => boolean = () => true,
): KubeObject[] {
  const newer = given.filter((object) => isCrd(object) && applied(getObjectKey(object)));
  const replaced = new Set(newer.map(getObjectKey));
  return [...newer, ...target.filter((object) => !replaced.has(getObjectKey(object)))];
}

/** Parses the rollback in a stored release; undefined if it is missing or invalid. */
export function parseRolledBack(value: unknown): RolledBack | undefined {
  if (!isObject(value)) return undefined;
  const { release, bundle, version, inputDigest, generation, catalog, reason, message, attempts, at } = value;
  const texts = [bundle, version, inputDigest, catalog, message, at];
  const numbers = [release, generation, attempts];
  if (!texts.every((text) => typeof text === "string") || !numbers.every(Number.isSafeInteger)) return undefined;
  if (reason !== "ProgressDeadlineExceeded" && reason !== "Retrying") return undefined;
  return { release, bundle, version, inputDigest, generation, catalog, reason, message, attempts, at } as RolledBack;
}

/** Truncates `message` for the record. */
export function truncateRollbackMessage(message: string): string {
  return truncate(message, MAX_MESSAGE);
}
