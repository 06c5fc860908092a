import type { ChurnCounts } from "./churn.ts";
import { type Course, faultsOf, growth, megabytes } from "./samples.ts";

/** A run that has ended. */
export interface SoakRun {
  readonly minutes: number;
  readonly extensions: number;
  readonly warmUpSeconds: number;
  readonly courses: readonly Course[];
  readonly counts: ChurnCounts;
}

/** What is wrong with a run, a sentence each. */
export function faultsIn({ courses, warmUpSeconds, counts }: SoakRun): string[] {
  return [...courses.flatMap((course) => faultsOf(course, warmUpSeconds)), ...counts.failures];
}

/** A run as Markdown. */
export function soakReport(run: SoakRun): string {
  const { minutes, extensions, warmUpSeconds, courses, counts } = run;
  const rows = courses.map(({ program, samples, first, last }) =>
    [
      program,
      megabytes(growth(samples, warmUpSeconds)),
      megabytes(first.rssBytes),
      megabytes(last.rssBytes),
      first.sockets,
      last.sockets,
      first.watches,
      last.watches,
    ].join(" | "),
  );
  const faults = faultsIn(run);
  return [
    "# Soak",
    "",
    `${minutes} minutes, the first ${Math.round(warmUpSeconds / 60)} of them warm-up, with ${extensions} extensions: ${counts.editions} editions of their catalog, ${counts.removed} removed and installed again, ${counts.damaged} damaged and mended.`,
    "",
    "| program | grows by MB in ten minutes | MB at the start | MB at the end | sockets at the start | at the end | watches at the start | at the end |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ...rows.map((row) => `| ${row} |`),
    "",
    ...(faults.length === 0 ? ["Nothing is wrong."] : faults.map((fault) => `- ${fault}`)),
    "",
  ].join("\n");
}
