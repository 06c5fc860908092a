import type { KubeObject } from "../api/k8s.ts";
import { isObject } from "../golang/members.ts";
import { truncate } from "../text/truncate.ts";
import { isCrd, objectKey } from "./identity.ts";

/** What was given up for an earlier release, and is not tried again for a while. */
export interface RolledBack {
  /** Number of the release that was given up. */
  release: number;
  /** Its bundle, and that one's version. */
  bundle: string;
  version: string;
  /** Identity of everything its objects were rendered from. */
  inputDigest: string;
  /** The extension's `metadata.generation` at that time. */
  generation: number;
  /** Content of the catalog that the bundle came from, by digest; empty where that is not known. */
  catalog: string;
  /** Reason and message of condition Progressing, until it is tried again. */
  reason: "ProgressDeadlineExceeded" | "Retrying";
  message: string;
  /** How often the very same was given up in a row, this time included. */
  attempts: number;
  /** RFC 3339. */
  at: string;
}

/** What would be tried now. */
export type Attempt = Pick<RolledBack, "inputDigest" | "generation" | "catalog">;

/** The first wait; it doubles with every attempt, up to the longest. */
const FIRST_WAIT_MS = 10 * 60_000;
const LONGEST_WAIT_MS = 24 * 60 * 60_000;
/** By how much the clocks of two replicas may differ. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
const MAX_MESSAGE = 4_096;

/**
 * Until when the attempt must wait, in milliseconds since the epoch.
 * @returns undefined when it need not: it is another one, spec or catalog changed, the wait is over, or it begins in the future because a clock was
 * put back since.
 */
export function heldUntil(given: RolledBack, attempt: Attempt, now: number): number | undefined {
  const same = given.inputDigest === attempt.inputDigest && given.generation === attempt.generation && given.catalog === attempt.catalog;
  const until = waitEnds(given);
  const isOfOtherClock = Date.parse(given.at) > now + CLOCKS_DIFFER_MS;
  return same && now < until && !isOfOtherClock ? until : undefined;
}

/** When what was given up is tried again although nothing changed, in milliseconds since the epoch. */
export function waitEnds({ at, attempts }: RolledBack): number {
  const began = Date.parse(at) || 0;
  return began + Math.min(FIRST_WAIT_MS * 2 ** (Math.max(attempts, 1) - 1), LONGEST_WAIT_MS);
}

/** How often `attempt` was given up in a row, this time included, when the release before says what was given up then. */
export function attemptsOf(attempt: Pick<Attempt, "inputDigest">, before: RolledBack | undefined): number {
  return before?.inputDigest === attempt.inputDigest ? before.attempts + 1 : 1;
}

/**
 * The objects that a rollback applies: those of `target`, but definitions of custom resources as they are on the cluster, since going back
 * with one can lose data: those that `given` holds and has applied, and of `target` those that it does not.
 * @param applied tells by `objectKey` which objects of `given` got onto the cluster.
 */
export function rollbackObjects(
  target: readonly KubeObject[],
  given: readonly KubeObject[],
  applied: (key: string) => boolean = () => true,
): KubeObject[] {
  const newer = given.filter((object) => isCrd(object) && applied(objectKey(object)));
  const replaced = new Set(newer.map(objectKey));
  return [...newer, ...target.filter((object) => !replaced.has(objectKey(object)))];
}

/** What a stored release says about it; undefined where it says nothing, or nothing that makes sense. */
export function rolledBackFrom(value: unknown): RolledBack | undefined {
  if (!isObject(value)) return undefined;
  const { release, bundle, version, inputDigest, generation, catalog, reason, message, attempts, at } = value;
  const texts = [bundle, version, inputDigest, catalog, message, at];
  const numbers = [release, generation, attempts];
  if (!texts.every((text) => typeof text === "string") || !numbers.every(Number.isSafeInteger)) return undefined;
  if (reason !== "ProgressDeadlineExceeded" && reason !== "Retrying") return undefined;
  return { release, bundle, version, inputDigest, generation, catalog, reason, message, attempts, at } as RolledBack;
}

/** `message` cut to what a record holds of it. */
export function shortMessage(message: string): string {
  return truncate(message, MAX_MESSAGE);
}
