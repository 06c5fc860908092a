import type { Condition, ObjectRef } from "../../api/k8s.ts";
import { formatCount } from "../../text/lists.ts";
import { describeObject } from "../identity.ts";
import type { ReleaseRecord } from "../record.ts";
import { type Health, type HealthState, truncateText } from "./healthState.ts";
import type { PodProblem } from "./pods.ts";

/** The health of one object of a release. */
export interface ObjectHealth {
  ref: ObjectRef;
  health: Health;
}

/** The health of a release: condition Available. */
export interface Availability {
  status: Condition["status"];
  reason: "Healthy" | "Unhealthy" | "RollingOut" | "Unknown";
  message: string;
  /** The unhealthy objects, the worst first; absent unless the reason is Unhealthy. */
  unhealthy?: readonly ObjectHealth[];
}

/** The worst first. */
const ORDER: readonly HealthState[] = ["failed", "progressing", "unknown"];

/**
 * Summarizes the health of a release. The first matching row decides:
 *
 * | some object                     | status  | reason     |
 * | failed                          | False   | Unhealthy  |
 * | progressing, rolled out before  | False   | Unhealthy  |
 * | progressing                     | False   | RollingOut |
 * | unknown                         | Unknown | Unknown    |
 * | none of these                   | True    | Healthy    |
 *
 * The message contains the first object of that row, the reason, and the number of other unhealthy objects.
 * @param options.rolledOut whether the whole release was healthy at an earlier time
 */
export function computeAvailability(objects: readonly ObjectHealth[], { rolledOut }: { rolledOut: boolean }): Availability {
  const ill = ORDER.flatMap((state) => objects.filter(({ health }) => health.state === state));
  const [worst] = ill;
  if (!worst) return { status: "True", reason: "Healthy", message: formatHealthy(objects.length) };
  const others = ill.length - 1;
  const more = others === 0 ? "" : `; ${formatCount(others, "more object")} ${others === 1 ? "is" : "are"} not healthy`;
  const message = `${describeObject(worst.ref)}: ${worst.health.message}${more}`;
  const { state } = worst.health;
  if (state === "unknown") return { status: "Unknown", reason: "Unknown", message };
  if (state === "progressing" && !rolledOut) return { status: "False", reason: "RollingOut", message };
  return { status: "False", reason: "Unhealthy", message, unhealthy: ill };
}

/** Adds a problem of the Pods to the `health` of their workload. The workload counts as failed if the problem makes its Pods fail. */
export function withPodProblem(health: Health, problem: PodProblem | undefined): Health {
  if (!problem) return health;
  return {
    ...health,
    state: problem.isFailing ? "failed" : health.state,
    message: truncateText(health.message === "" ? problem.text : `${health.message}; ${problem.text}`),
  };
}

function formatHealthy(count: number): string {
  if (count === 0) return "all objects exist; there are no health checks for their kinds";
  return count === 1 ? "the only object with a health check is healthy" : `all ${count} objects with a health check are healthy`;
}

/** The time limit of a rollout, `spec.progressDeadlineMinutes`. `minuteMs` is 60,000 except in tests. */
export interface ProgressDeadline {
  minutes: number;
  minuteMs: number;
}

/**
 * Returns the deadline of a release's rollout, in milliseconds since the epoch.
 * @returns undefined if the release was already healthy, because its rollout is then complete
 */
export function getRolloutDeadline(
  release: Pick<ReleaseRecord, "lastDeployed" | "rolledOutAt">,
  deadline: ProgressDeadline,
): number | undefined {
  const began = Date.parse(release.lastDeployed);
  if (release.rolledOutAt !== undefined || Number.isNaN(began)) return undefined;
  return began + deadline.minutes * deadline.minuteMs;
}

/**
 * Formats the message of Progressing=False/ProgressDeadlineExceeded.
 * @see operator-controller df2c201d internal/operator-controller/controllers/clusterobjectset_controller.go
 */
export function formatDeadlineExceeded(version: string, { minutes }: ProgressDeadline, { message }: Availability): string {
  return `Revision has not rolled out for ${minutes} minute(s). Last status: Revision ${version} is rolling out.; ${message}`;
}
