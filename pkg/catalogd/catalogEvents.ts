import type { ClusterCatalogStatus } from "../api/clusterCatalog.ts";
import { changedConditions } from "../api/conditions.ts";
import { ConditionType, Reason } from "../api/constants.ts";
import { type EventReason, warningReason } from "../api/events.ts";
import type { Condition } from "../api/k8s.ts";

/** One Event about a catalog. */
export interface CatalogEvent {
  readonly reason: EventReason;
  readonly message: string;
}

/**
 * The Events that tell how a catalog's conditions changed. Pure. New content is told by the step that stores it.
 *
 * | condition   | became                        | Event                             |
 * | Progressing | Retrying or False, each text  | Warning, its reason               |
 * | Progressing | Succeeded after one of those  | Normal Recovered                  |
 * | Serving     | False, catalog deleted        | Normal ContentRemoved             |
 * | Serving     | False, switched off           | Normal UserSpecifiedUnavailable   |
 * | Serving     | False for another reason      | Warning Unavailable               |
 */
export function catalogEvents(
  before: ClusterCatalogStatus | undefined,
  after: ClusterCatalogStatus,
  { deleted }: { deleted: boolean },
): CatalogEvent[] {
  return changedConditions(before?.conditions, after.conditions).flatMap(({ condition, before: old }) => {
    if (condition.type === ConditionType.Progressing) return progressEvents(condition, old);
    const lost = condition.type === ConditionType.Serving && old?.status === "True" && condition.status === "False";
    return lost ? [lossEvent(condition, deleted)] : [];
  });
}

function progressEvents(condition: Condition, before: Condition | undefined): CatalogEvent[] {
  const { reason, message } = condition;
  if (isFailure(condition)) return [{ reason: warningReason(reason, message), message }];
  if (!before || !isFailure(before)) return [];
  return [{ reason: "Recovered", message: `${message}; before: ${before.message}` }];
}

function isFailure({ status, reason }: Condition): boolean {
  return status === "False" || reason === Reason.Retrying;
}

function lossEvent({ reason, message }: Condition, deleted: boolean): CatalogEvent {
  if (deleted) return { reason: "ContentRemoved", message: "the catalog is deleted, its content was removed" };
  if (reason === Reason.UserSpecifiedUnavailable) return { reason, message };
  return { reason: "Unavailable", message: message === "" ? "its content is not served any more" : message };
}
