import type { ReleaseRecord } from "../record.ts";
import type { Availability } from "./availability.ts";

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
 * @see operator-controller internal/operator-controller/controllers/clusterobjectset_controller.go
 */
export function exceededText(version: string, { minutes }: ProgressDeadline, { message }: Availability): string {
  return `Revision has not rolled out for ${minutes} minute(s). Last status: Revision ${version} is rolling out.; ${message}`;
}
