import { parseArgs } from "node:util";
import { PROFILES, type Profile } from "../../pkg/conformance/profiles.ts";
import type { ScenarioResult } from "../../pkg/conformance/runSuite.ts";
import { readScenarios } from "../../pkg/conformance/scenarioFiles.ts";
import { createSuiteReport } from "../../pkg/conformance/suiteReport.ts";
import { SuiteCluster } from "./suiteCluster.ts";

const USAGE = `npm run -s conformance:deployed -- [PROFILE…]

Runs the conformance scenarios of the profiles (default: core) on an embedded control plane. Unlike with \`olmv1 conformance --embedded\`, the servers
have Deployments, Services and replicas, so that scenarios can restart them and read their metrics. Prints each result, and the report as JSON.
Exits 1 if a scenario fails.`;

/** The default of `olmv1 conformance`. */
const TIMEOUT_MS = 120_000;

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function sayResult({ id, state, seconds, message = "" }: ScenarioResult): void {
  say(`${state} ${id} (${seconds.toFixed(1)} s) ${state === "passed" ? "" : message}`.trimEnd());
}

async function runProfiles(profiles: readonly string[]): Promise<number> {
  const unknown = profiles.find((name) => !PROFILES.includes(name as Profile));
  if (unknown !== undefined) throw new Error(`unknown profile "${unknown}". Known: ${PROFILES.join(", ")}`);
  const scenarios = readScenarios().filter(({ profile }) => profiles.includes(profile));
  await using cluster = await SuiteCluster.start(say);
  await cluster.deploy();
  const began = performance.now();
  const report = createSuiteReport(await cluster.run(scenarios, TIMEOUT_MS, sayResult), { isStopped: false });
  const { passed, failed, notRun } = report.counts;
  say(`${passed} passed, ${failed} failed, ${notRun} not run, in ${((performance.now() - began) / 1_000).toFixed(0)} s`);
  console.log(JSON.stringify(report));
  return report.passed ? 0 : 1;
}

const { values, positionals } = parseArgs({ options: { help: { type: "boolean", default: false } }, allowPositionals: true });
if (values.help) say(USAGE);
else process.exitCode = await runProfiles(positionals.length > 0 ? positionals : ["core"]);
