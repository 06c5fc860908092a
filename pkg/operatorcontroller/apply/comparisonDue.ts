import { objectKey } from "../../release/identity.ts";
import { reconcileRequestOf } from "../reconcileRequest.ts";
import { watchIdentityOf } from "../rights/identity.ts";
import type { PassObjects } from "./passObjects.ts";

/** Watched objects are compared this seldom nevertheless, in drift intervals; with the default interval that is once an hour. */
export const FULL_EVERY = 12;

/** Which objects of a deployed release are to be compared with the cluster. */
export interface ComparisonDue {
  /** Everything is; otherwise `keys`. */
  readonly isFull: boolean;
  /** The drift interval is up, so what cannot be watched is in `keys`. */
  readonly isIntervalUp: boolean;
  /** Of `objectKey`. */
  readonly keys: ReadonlySet<string>;
}

/**
 * What is to be compared in a pass:
 *
 * | objects                                       | are compared                         |
 * | any                                           | first of all, on request, once in 12 intervals, and when another identity acts |
 * | seen by a watch to be other than applied      | at once                              |
 * | whose last comparison failed                  | in every pass                        |
 * | reported before the policy became Correct     | at once                              |
 * | that cannot be watched                        | once an interval                     |
 *
 * Without watches everything is compared on request and once an interval.
 * @param reported keys of what was reported under another policy and is to be put back now.
 */
export function comparisonDue(
  { deps, facts, scoped }: Pick<PassObjects, "deps" | "facts" | "scoped">,
  reported: readonly string[],
): ComparisonDue {
  const { extension } = facts;
  const { name, uid = "" } = extension.metadata;
  const { watches, memory, now, driftIntervalMs } = deps;
  const { checkedAt, comparedAt } = memory.of(extension);
  const isUp = (since: number | undefined, ms: number): boolean => {
    const sinceMs = since === undefined ? Number.POSITIVE_INFINITY : now() - since;
    return sinceMs < 0 || sinceMs >= ms;
  };
  const isIntervalUp = isUp(checkedAt, driftIntervalMs);
  const request = reconcileRequestOf(extension);
  const isRequested = request !== undefined && request !== extension.status?.lastHandledReconcileAt;
  if (!watches) return { isFull: isRequested || isIntervalUp, isIntervalUp, keys: new Set(reported) };
  const isUnknown = !watches.isFollowing(name, uid, watchIdentityOf(extension, scoped).key);
  const isFull = isRequested || isUnknown || isUp(comparedAt, driftIntervalMs * FULL_EVERY);
  const unwatched = isIntervalUp ? watches.unwatched(name).map(({ ref }) => ref) : [];
  return { isFull, isIntervalUp, keys: new Set([...reported, ...[...watches.suspects(name), ...unwatched].map(objectKey)]) };
}
