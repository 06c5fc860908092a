import { writeFile } from "node:fs/promises";
import { withImages } from "../../../pkg/authoring/build/publishImage.ts";
import { ClusterContentReader } from "../../../pkg/conformance/catalogContent.ts";
import { PROFILES } from "../../../pkg/conformance/profiles.ts";
import { createRunName, runSuite, type ScenarioResult } from "../../../pkg/conformance/runSuite.ts";
import type { Scenario } from "../../../pkg/conformance/scenario.ts";
import { readScenarios } from "../../../pkg/conformance/scenarioFiles.ts";
import { createSuiteReport, formatSuiteJunit, type SuiteReport, summarizeSuite } from "../../../pkg/conformance/suiteReport.ts";
import { parseReference, type Reference } from "../../../pkg/oci/reference.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatList } from "../../../pkg/text/lists.ts";
import { withCluster } from "../cli/cluster.ts";
import { withEmbeddedOlm } from "../cli/embeddedControlPlane.ts";
import { EXIT } from "../cli/errors.ts";
import type { RegistryOptions, ReleaseOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { formatTable } from "../cli/table.ts";
import { requireRepository } from "../cli/temporaryRepository.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 conformance`. */
export interface ConformanceOptions extends ReleaseOptions, RegistryOptions {
  embedded?: boolean;
  registry?: string;
  insecure?: boolean;
  profile: readonly string[];
  group?: readonly string[];
  scenario?: readonly string[];
  list?: boolean;
  keep?: boolean;
  parallel: number;
  /** Milliseconds. */
  timeout: number;
  junit?: string;
  output: Output;
}

/** Maximum number of objects and images in the report that could not be removed. */
const MAX_LEFT = 3;

/** Runs `olmv1 conformance`. */
export async function runConformance(terminal: Terminal, options: ConformanceOptions): Promise<void> {
  const scenarios = selectScenarios(readScenarios(), options);
  if (options.list) return printScenarios(terminal, scenarios, options);
  terminal.endsByItself();
  const report = options.embedded ? await testEmbedded(terminal, scenarios, options) : await testCluster(terminal, scenarios, options);
  if (options.junit !== undefined) await writeFile(options.junit, formatSuiteJunit(report));
  await print(terminal, options.output, { data: report, text: () => formatReport(terminal, report) });
  if (terminal.signal.aborted) terminal.exit(EXIT.interrupted);
  else if (!report.passed) terminal.exit(EXIT.no);
}

/** @throws Error if an option names a profile, group or scenario that does not exist */
function selectScenarios(all: readonly Scenario[], { profile, group, scenario }: ConformanceOptions): Scenario[] {
  const requireKnown = (what: string, names: readonly string[], known: Iterable<string>): void => {
    const set = new Set(known);
    const unknown = names.find((name) => !set.has(name));
    if (unknown !== undefined) throw new Error(`unknown ${what} "${unknown}". Known: ${[...set].join(", ")}`);
  };
  requireKnown("profile", profile, PROFILES);
  requireKnown(
    "group",
    group ?? [],
    all.map((one) => one.group),
  );
  requireKnown(
    "scenario",
    scenario ?? [],
    all.map(({ id }) => id),
  );
  return all.filter(
    (one) =>
      (scenario === undefined ? profile.includes(one.profile) : scenario.includes(one.id)) &&
      (group === undefined || group.includes(one.group)),
  );
}

async function printScenarios(terminal: Terminal, scenarios: readonly Scenario[], { output }: ConformanceOptions): Promise<void> {
  const data = scenarios.map(({ id, name, group, profile, source, needs }) => ({ id, name, group, profile, source, needs }));
  const rows = data.map(({ id, name, group, profile }) => [id, profile, group, name]);
  await print(terminal, output, { data, text: () => formatTable(terminal, ["SCENARIO", "PROFILE", "GROUP", "EXPECTATION"], rows) });
}

/** Tests the servers of this program on an embedded control plane, which is removed afterwards. */
async function testEmbedded(terminal: Terminal, scenarios: readonly Scenario[], options: ConformanceOptions): Promise<SuiteReport> {
  return withEmbeddedOlm(terminal, ({ kubeconfig, registry }) =>
    test(terminal, scenarios, { ...options, kubeconfig, insecure: true }, parseReference(`${registry}/conformance`)),
  );
}

async function testCluster(terminal: Terminal, scenarios: readonly Scenario[], options: ConformanceOptions): Promise<SuiteReport> {
  return test(terminal, scenarios, options, requireRepository(options.registry, "catalogs"));
}

async function test(
  terminal: Terminal,
  scenarios: readonly Scenario[],
  options: ConformanceOptions,
  repository: Reference,
): Promise<SuiteReport> {
  return withCluster(options, (client) =>
    withImages(options, terminal, async (stores) => {
      const content = new ClusterContentReader(client);
      const { systemNamespace, timeout: timeoutMs } = options;
      const cluster = { client, stores, repository, content, systemNamespace, run: createRunName(), timeoutMs };
      terminal.err(`run ${cluster.run}: ${scenarios.length} scenarios\n`);
      const results = await runSuite(cluster, scenarios, {
        parallel: options.parallel,
        keepFailed: options.keep ?? false,
        signal: terminal.signal,
        report: (result) => terminal.err(formatResult(result)),
      });
      return createSuiteReport(results, { isStopped: terminal.signal.aborted });
    }),
  );
}

const STATES: Readonly<Record<ScenarioResult["state"], string>> = { passed: "passed ", failed: "FAILED ", notRun: "not run" };

function formatResult({ id, name, state, seconds, message }: ScenarioResult): string {
  const time = state === "notRun" ? "" : ` (${seconds.toFixed(1)} s)`;
  const details = state === "passed" || message === undefined ? [] : message.split("\n").map((line) => `  ${line}`);
  return [`${STATES[state]} ${id}: ${name}${time}`, ...details].map((line) => `${escapeControlCharacters(line)}\n`).join("");
}

function formatReport(terminal: Terminal, report: SuiteReport): string {
  const { passed, failed, notRun } = report.counts;
  const table = formatTable(terminal, ["PROFILE", "GROUP", "PASSED", "FAILED", "NOT RUN"], summarizeSuite(report));
  const left = report.scenarios.flatMap((scenario) => scenario.left ?? []).map(escapeControlCharacters);
  const remains = left.length === 0 ? "" : `\nNot removed: ${formatList(left, { max: MAX_LEFT, separator: "\n  " })}\n`;
  return `${table}\n${passed} passed, ${failed} failed, ${notRun} not run\n${remains}`;
}
