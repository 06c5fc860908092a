import type { Condition, ObjectRef } from "../../api/k8s.ts";
import { formatCount } from "../../text/lists.ts";
import { describeObject } from "../identity.ts";
import type { ReleaseRecord } from "../record.ts";
import { boundText, type Health, type HealthState } from "./healthState.ts";
import type { PodProblem } from "./pods.ts";

/** What one object of a release says about itself. */
export interface ObjectHealth {
  ref: ObjectRef;
  health: Health;
}

/** The health of a release as a whole: condition Available. */
export interface Availability {
  status: Condition["status"];
  reason: "Healthy" | "Unhealthy" | "RollingOut" | "Unknown";
  message: string;
  /** The objects that are not healthy, the worst first; absent unless the reason is Unhealthy. */
  unhealthy?: readonly ObjectHealth[];
}

/** The worst first. */
const ORDER: readonly HealthState[] = ["failed", "progressing", "unknown"];

/**
 * Sums up the objects of a release; the first row that matches decides:
 *
 * | some object                     | status  | reason     |
 * | failed                          | False   | Unhealthy  |
 * | progressing, rolled out before  | False   | Unhealthy  |
 * | progressing                     | False   | RollingOut |
 * | unknown                         | Unknown | Unknown    |
 * | none of these                   | True    | Healthy    |
 *
 * The message names the first object of the deciding row, says why, and how many others are not healthy.
 * @param options.rolledOut whether all of the release was healthy at some time before.
 */
export function availabilityOf(objects: readonly ObjectHealth[], { rolledOut }: { rolledOut: boolean }): Availability {
  const ill = ORDER.flatMap((state) => objects.filter(({ health }) => health.state === state));
  const [worst] = ill;
  if (!worst) return { status: "True", reason: "Healthy", message: healthyText(objects.length) };
  const others = ill.length - 1;
  const more = others === 0 ? "" : `; ${formatCount(others, "more object")} ${others === 1 ? "is" : "are"} not healthy`;
  const message = `${describeObject(worst.ref)}: ${worst.health.message}${more}`;
  const { state } = worst.health;
  if (state === "unknown") return { status: "Unknown", reason: "Unknown", message };
  if (state === "progressing" && !rolledOut) return { status: "False", reason: "RollingOut", message };
  return { status: "False", reason: "Unhealthy", message, unhealthy: ill };
}

/** `health` of a workload with what is wrong with its Pods: one that waits for Pods that do not come has failed. */
export function withPodProblem(health: Health, problem: PodProblem | undefined): Health {
  if (!problem) return health;
  return {
    ...health,
    state: problem.isFailing ? "failed" : health.state,
    message: boundText(health.message === "" ? problem.text : `${health.message}; ${problem.text}`),
  };
}

function healthyText(count: number): string {
  if (count === 0) return "all objects are on the cluster, and none of them is of a kind that has a health";
  return count === 1 ? "the one object that has a health is healthy" : `all ${count} objects that have a health are healthy`;
}

/** How long `spec.progressDeadlineMinutes` gives a rollout. `minuteMs` is 60,000 but in tests. */
export interface ProgressDeadline {
  minutes: number;
  minuteMs: number;
}

/**
 * When a release that was deployed has to be healthy, in milliseconds since the epoch.
 * @returns undefined for one that has been healthy before: what happens to it later is no matter of its rollout.
 */
export function rolloutEnds(release: Pick<ReleaseRecord, "lastDeployed" | "rolledOutAt">, deadline: ProgressDeadline): number | undefined {
  const began = Date.parse(release.lastDeployed);
  if (release.rolledOutAt !== undefined || Number.isNaN(began)) return undefined;
  return began + deadline.minutes * deadline.minuteMs;
}

/**
 * The message of Progressing=False/ProgressDeadlineExceeded.
 * @see operator-controller df2c201d internal/operator-controller/controllers/clusterobjectset_controller.go
 */
export function formatDeadlineExceeded(version: string, { minutes }: ProgressDeadline, { message }: Availability): string {
  return `Revision has not rolled out for ${minutes} minute(s). Last status: Revision ${version} is rolling out.; ${message}`;
}
