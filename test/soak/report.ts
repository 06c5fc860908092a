import type { ChurnCounts } from "./churn.ts";
import { type Course, computeGrowth, listFaults, megabytes } from "./samples.ts";

/** A completed run. */
export interface SoakRun {
  readonly minutes: number;
  readonly extensions: number;
  readonly warmUpSeconds: number;
  readonly courses: readonly Course[];
  readonly counts: ChurnCounts;
}

/** Returns the faults of a run, a sentence each. */
export function listRunFaults({ courses, warmUpSeconds, counts }: SoakRun): string[] {
  return [...courses.flatMap((course) => listFaults(course, warmUpSeconds)), ...counts.failures];
}

/** Formats a run as Markdown. */
export function soakReport(run: SoakRun): string {
  const { minutes, extensions, warmUpSeconds, courses, counts } = run;
  const rows = courses.map(({ program, samples, first, last }) =>
    [
      program,
      megabytes(computeGrowth(samples, warmUpSeconds)),
      megabytes(first.rssBytes),
      megabytes(last.rssBytes),
      first.sockets,
      last.sockets,
      first.watches,
      last.watches,
    ].join(" | "),
  );
  const faults = listRunFaults(run);
  return [
    "# Soak",
    "",
    `${minutes} minutes, the first ${Math.round(warmUpSeconds / 60)} of them warm-up, with ${extensions} extensions: ${counts.editions} editions of their catalog, ${counts.removed} reinstalled, ${counts.damaged} damaged and corrected.`,
    "",
    "| program | grows by MB in ten minutes | MB at the start | MB at the end | sockets at the start | at the end | watches at the start | at the end |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...rows.map((row) => `| ${row} |`),
    "",
    ...(faults.length === 0 ? ["No faults."] : faults.map((fault) => `- ${fault}`)),
    "",
  ].join("\n");
}
