import { formatTime } from "../golang/time.ts";

/** A condition of one part of the operator, as library-go keeps it before several are folded into one. */
export interface OperatorCondition {
  /** Name of the part, then what the condition is about: "CatalogdDeploymentCatalogdControllerManagerAvailable". */
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** Since when the status is what it is; RFC 3339 in whole seconds. */
  readonly lastTransitionTime: string;
}

/** An operator condition as it is found now, whenever that began. */
export type NewOperatorCondition = Omit<OperatorCondition, "lastTransitionTime">;

const STATUSES: readonly unknown[] = ["True", "False", "Unknown"];

/** `found` with the times of `before`; a condition whose status is another than before, or that was not there, begins at `now`. */
export function withTimes(found: readonly NewOperatorCondition[], before: readonly OperatorCondition[], now: Date): OperatorCondition[] {
  return found.map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : formatTime(now);
    return { ...condition, lastTransitionTime };
  });
}

/**
 * The operator conditions kept in a ClusterOperator's status, in `extension.conditions`. What is none is left out, since anybody may have
 * written there; a time yet to come becomes `now`, so that nothing stays young for ever.
 */
export function keptConditions(status: unknown, now: Date): OperatorCondition[] {
  return listOf(membersOf(membersOf(status)["extension"])["conditions"]).flatMap((item): OperatorCondition[] => {
    const { type, status: is, reason, message, lastTransitionTime } = item;
    if (typeof type !== "string" || !isStatus(is) || typeof lastTransitionTime !== "string") return [];
    const time = Date.parse(lastTransitionTime);
    if (Number.isNaN(time)) return [];
    const since = time > now.getTime() ? formatTime(now) : lastTransitionTime;
    return [{ type, status: is, reason: textOf(reason), message: textOf(message), lastTransitionTime: since }];
  });
}

/** The members of what is a JSON object; none of anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** The objects in what is a list; none of anything else. */
export function listOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null).map(membersOf) : [];
}

/** The text that `value` is; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isStatus(value: unknown): value is OperatorCondition["status"] {
  return STATUSES.includes(value);
}
