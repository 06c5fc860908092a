import { randomBytes } from "node:crypto";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { CannotRun } from "./cannotRun.ts";
import type { ConformanceCluster } from "./conformanceCluster.ts";
import { ClusterNeeds } from "./needs.ts";
import type { Profile } from "./profiles.ts";
import type { Scenario } from "./scenario.ts";
import { ScenarioRun } from "./scenarioRun.ts";

/** The result of a scenario. `notRun` means that it cannot run on the cluster, or that the run was stopped before. */
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

/** Maximum time to remove the objects of a scenario, in milliseconds. */
export const REMOVAL_MS = 120_000;
const SERVICE_ACCOUNT_FIELD = "field ClusterExtension.spec.serviceAccount";

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
  let namesServiceAccount: boolean;
  try {
    const missing = await needs.findMissing(scenario.needs);
    if (missing.length > 0) return end("notRun", missing.join("; "));
    namesServiceAccount = (await needs.findMissing([SERVICE_ACCOUNT_FIELD])).length === 0;
  } catch (err) {
    return end("failed", `cannot find out whether the cluster has what the scenario needs: ${getErrorMessage(err)}`);
  }
  const timeoutMs = Math.max(cluster.timeoutMs, scenario.minTimeoutMs);
  const run = new ScenarioRun({ ...cluster, timeoutMs }, scenario, { namesServiceAccount, signal });
  const failure = await play(run, scenario);
  const isKept = failure?.state === "failed" && keepFailed;
  const { own, others } = isKept ? { own: [], others: [] } : await run.remove(AbortSignal.timeout(REMOVAL_MS));
  const left = [...own, ...others];
  if (signal.aborted && failure) return end("notRun", "the run was stopped", left);
  if (failure) return end(failure.state, failure.message, left);
  // A namespace that stays, or a registry that does not delete tags, says nothing about the implementation.
  return own.length > 0 ? end("failed", `not removed: ${own.join("; ")}`, left) : end("passed", undefined, left);
}

/** Runs the steps. @returns why a step failed, with the step, or why the scenario cannot run */
async function play(
  run: ScenarioRun,
  { steps }: Scenario,
): Promise<{ readonly state: "failed" | "notRun"; readonly message: string } | undefined> {
  let step = "given its catalogs";
  try {
    await run.serveCatalogs();
    for (const { text, word, argument } of steps) {
      step = text;
      await word.run(run, argument as never);
    }
    return undefined;
  } catch (err) {
    return err instanceof CannotRun
      ? { state: "notRun", message: err.message }
      : { state: "failed", message: `${step}: ${getErrorMessage(err)}` };
  }
}
