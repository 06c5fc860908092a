import { formatJunit } from "../text/junit.ts";
import { PROFILES } from "./profiles.ts";
import type { ScenarioResult } from "./runSuite.ts";

/** The result of a run, as the command prints it. */
export interface SuiteReport {
  /** Whether scenarios ran to the end of the run, and none of them failed. */
  readonly passed: boolean;
  readonly counts: Readonly<Record<ScenarioResult["state"], number>>;
  readonly scenarios: readonly ScenarioResult[];
}

/** Creates the report of a run. A run without a passed scenario, or that was stopped, has not passed. */
export function createSuiteReport(scenarios: readonly ScenarioResult[], { isStopped }: { readonly isStopped: boolean }): SuiteReport {
  const count = (state: ScenarioResult["state"]): number => scenarios.filter((one) => one.state === state).length;
  const counts = { passed: count("passed"), failed: count("failed"), notRun: count("notRun") };
  return { passed: !isStopped && counts.failed === 0 && counts.passed > 0, counts, scenarios };
}

/** Returns the rows of the summary: profile, group, and the numbers of passed and failed scenarios, and of those that did not run. */
export function summarizeSuite({ scenarios }: SuiteReport): string[][] {
  return PROFILES.flatMap((profile) => {
    const groups = Map.groupBy(
      scenarios.filter((one) => one.profile === profile),
      ({ group }) => group,
    );
    return [...groups].map(([group, all]) => {
      const count = (state: ScenarioResult["state"]): string => String(all.filter((one) => one.state === state).length);
      return [profile, group, count("passed"), count("failed"), count("notRun")];
    });
  });
}

/** Formats a JUnit report with one test case per scenario. */
export function formatSuiteJunit({ scenarios }: SuiteReport): string {
  return formatJunit(
    "olmv1 conformance",
    scenarios.map(({ id, name, group, profile, state, seconds, message }) => ({
      name: `${id}: ${name}`,
      className: `${profile}.${group}`,
      state: state === "notRun" ? ("skipped" as const) : state,
      seconds,
      message,
    })),
  );
}
