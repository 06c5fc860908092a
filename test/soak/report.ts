import { computeSpread } from "../bench/statistics.ts";
import { type Course, computeGrowth, listFaults, megabytes } from "./samples.ts";
import type { SoakRun } from "./soakRun.ts";

const WRITES_LISTED = 5;

/** Returns the faults of a run, a sentence each. */
export function listRunFaults({ courses, warmUpSeconds, violations, writesAtRest }: SoakRun): string[] {
  return [
    ...courses.flatMap((course) => listFaults(course, warmUpSeconds)),
    ...violations,
    ...(writesAtRest.length === 0
      ? []
      : [`${writesAtRest.length} writes while nothing changed, such as ${writesAtRest.slice(0, WRITES_LISTED).join("; ")}`]),
  ];
}

/** Formats a run as Markdown. */
export function soakReport(run: SoakRun): string {
  const { minutes, extensions, seed, courses, counts, editions, recoveries, reads, missing } = run;
  const faults = listRunFaults(run);
  const total = [...recoveries.values()].reduce((sum, { length }) => sum + length, 0);
  return [
    `${minutes} minutes with ${extensions} extensions of 4 catalogs (seed ${seed}): ${total} faults during ${counts.upgraded} upgrades of ${editions} catalog images, ${counts.reinstalled} reinstalled extensions and ${counts.damaged} deleted objects.`,
    `The state of the cluster was read ${reads} times and compared with the state before.`,
    "",
    "| fault | times | converged after (median) | at most |",
    "| --- | --- | --- | --- |",
    ...[...recoveries].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, seconds]) => formatRecovery(name, seconds)),
    "",
    "| program | growth in 10 minutes | memory at rest before | and after | sockets before | and after | watches before | and after |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...courses.map((course) => formatCourse(course, run.warmUpSeconds)),
    "",
    ...missing.map((reason) => `Not part of this run: ${reason}`),
    ...(faults.length === 0 ? ["No violation."] : faults.map((fault) => `- ${fault}`)),
    "",
  ].join("\n");
}

function formatRecovery(fault: string, seconds: readonly number[]): string {
  const { median, max } = computeSpread(seconds);
  return `| ${fault} | ${seconds.length} | ${median.toFixed(0)} s | ${max.toFixed(0)} s |`;
}

function formatCourse({ program, samples, first, last }: Course, warmUpSeconds: number): string {
  const growth = `${megabytes(computeGrowth(samples, warmUpSeconds))} MB`;
  const cells = [
    growth,
    `${megabytes(first.rssBytes)} MB`,
    `${megabytes(last.rssBytes)} MB`,
    first.sockets,
    last.sockets,
    first.watches,
    last.watches,
  ];
  return `| ${[program, ...cells].join(" | ")} |`;
}
