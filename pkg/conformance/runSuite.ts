import { randomBytes } from "node:crypto";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import type { ConformanceCluster } from "./conformanceCluster.ts";
import { ClusterNeeds } from "./needs.ts";
import type { Profile } from "./profiles.ts";
import type { Scenario } from "./scenario.ts";
import { ScenarioRun } from "./scenarioRun.ts";

/** The result of a scenario. `notRun` means that the cluster lacks what it needs, or that the run was stopped before. */
export interface ScenarioResult {
  readonly id: string;
  readonly name: string;
  readonly group: string;
  readonly profile: Profile;
  readonly source: string;
  readonly state: "passed" | "failed" | "notRun";
  readonly seconds: number;
  /** Why it failed, with the step; or why it did not run. */
  readonly message?: string;
  /** Objects and images that could not be removed, with the reasons. */
  readonly left?: readonly string[];
}

/** How scenarios are run. */
export interface SuiteOptions {
  /** Number of scenarios at the same time. */
  readonly parallel: number;
  /** Keeps the objects of failed scenarios. */
  readonly keepFailed: boolean;
  /** Stops the run; scenarios in progress are removed. */
  readonly signal: AbortSignal;
  /** Called with each result. */
  readonly report: (result: ScenarioResult) => void;
}

/** Maximum time to remove the objects of a scenario after a failure, in milliseconds. */
const REMOVAL_MS = 120_000;

/** Returns a name for a run, which no other run has. */
export function createRunName(): string {
  return `r${randomBytes(4).toString("hex")}`;
}

/**
 * Runs scenarios and removes their objects: those that restart servers after all others, one by one. A failed scenario does not stop the others. Never
 * throws for a scenario.
 * @returns the results, in the order of the scenarios
 */
export async function runSuite(
  cluster: ConformanceCluster,
  scenarios: readonly Scenario[],
  options: SuiteOptions,
): Promise<ScenarioResult[]> {
  const needs = new ClusterNeeds(cluster.client, options.signal);
  const results = new Map<Scenario, ScenarioResult>();
  const run = async (scenario: Scenario): Promise<void> => {
    const result = await runOne(cluster, scenario, needs, options);
    options.report(result);
    results.set(scenario, result);
  };
  const [last = [], first = []] = [true, false].map((disrupts) => scenarios.filter((one) => one.disrupts === disrupts));
  await mapInParallel(first, options.parallel, run);
  for (const scenario of last) await run(scenario);
  return scenarios.flatMap((scenario) => results.get(scenario) ?? []);
}

async function runOne(
  cluster: ConformanceCluster,
  scenario: Scenario,
  needs: ClusterNeeds,
  { keepFailed, signal }: SuiteOptions,
): Promise<ScenarioResult> {
  const { id, name, group, profile, source } = scenario;
  const began = performance.now();
  const end = (state: ScenarioResult["state"], message?: string, left: readonly string[] = []): ScenarioResult => {
    const seconds = Math.round(performance.now() - began) / 1_000;
    const more = { ...(message === undefined ? {} : { message }), ...(left.length === 0 ? {} : { left }) };
    return { id, name, group, profile, source, state, seconds, ...more };
  };
  if (signal.aborted) return end("notRun", "the run was stopped");
  try {
    const missing = await needs.findMissing(scenario.needs);
    if (missing.length > 0) return end("notRun", missing.join("; "));
  } catch (err) {
    return end("failed", `cannot find out whether the cluster has what the scenario needs: ${getErrorMessage(err)}`);
  }
  const run = new ScenarioRun(cluster, scenario, signal);
  const failure = await play(run, scenario);
  const left = failure !== undefined && keepFailed ? [] : await run.remove(AbortSignal.timeout(REMOVAL_MS));
  if (failure !== undefined) return signal.aborted ? end("notRun", "the run was stopped", left) : end("failed", failure, left);
  return left.length > 0 ? end("failed", `not removed: ${left.join("; ")}`, left) : end("passed");
}

/** Runs the steps. @returns why a step failed, with the step */
async function play(run: ScenarioRun, { steps }: Scenario): Promise<string | undefined> {
  try {
    await run.serveCatalogs();
  } catch (err) {
    return `given its catalogs: ${getErrorMessage(err)}`;
  }
  for (const { text, word, argument } of steps) {
    try {
      await word.run(run, argument as never);
    } catch (err) {
      return `${text}: ${getErrorMessage(err)}`;
    }
  }
  return undefined;
}
