import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readScenarios } from "../../pkg/conformance/scenarioFiles.ts";
import { formatMutantsPage, isKilled, type MutantResult } from "./mutantReport.ts";
import { type Mutant, readMutants } from "./mutants.ts";
import { SuiteCluster } from "./suiteCluster.ts";

const USAGE = `npm run -s conformance:mutants -- [--lanes N] [--timeout SECONDS] [TEXT…]

Starts the servers with each broken implementation in test/conformance/mutants.yaml, and runs the conformance scenarios that must detect it.
With TEXT, runs only mutants whose description contains one of the texts. Without, writes docs/reference/conformance-mutants.md. --lanes is the
number of control planes (default 2), and --timeout the time limit of each step (default 25). Exits 1 if a mutant is not detected.`;

const PAGE = join(import.meta.dirname, "../../docs/reference/conformance-mutants.md");
/** A scenario that fails on a mutant waits this long. Scenarios that pass need at most half of it. */
const TIMEOUT_SECONDS = "25";

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function selectScenarios(ids: readonly string[]) {
  return readScenarios().filter(({ id }) => ids.includes(id));
}

/** Runs the scenarios of all mutants on the unchanged servers, where they must pass. */
async function checkUnchanged(cluster: SuiteCluster, mutants: readonly Mutant[], timeoutMs: number): Promise<void> {
  const scenarios = selectScenarios(mutants.flatMap(({ killedBy }) => killedBy));
  const failed = (await cluster.run(scenarios, timeoutMs)).filter(({ state }) => state !== "passed");
  if (failed.length > 0) throw new Error(`not passed without a mutant: ${failed.map(({ id, message }) => `${id}: ${message}`).join("\n")}`);
  say(`${scenarios.length} scenarios pass without a mutant`);
}

async function runMutants(mutants: readonly Mutant[], lanes: number, timeoutMs: number): Promise<MutantResult[]> {
  const found = new Map<Mutant, MutantResult>();
  const waiting = [...mutants];
  let isChecked = false;
  const runLane = async (): Promise<void> => {
    await using cluster = await SuiteCluster.start(say);
    if (!isChecked) {
      isChecked = true;
      await checkUnchanged(cluster, mutants, timeoutMs);
    }
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      const result = { mutant, results: await cluster.runOnMutant(mutant, selectScenarios(mutant.killedBy), timeoutMs) };
      found.set(mutant, result);
      say(`${isKilled(result) ? "detected" : "SURVIVED"}  ${mutant.breaks}`);
      for (const { id, state, message = "" } of result.results) say(`  ${id} ${state} ${message}`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, runLane));
  return mutants.flatMap((mutant) => found.get(mutant) ?? []);
}

const { values, positionals } = parseArgs({
  options: {
    lanes: { type: "string", default: "2" },
    timeout: { type: "string", default: TIMEOUT_SECONDS },
    help: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
if (values.help) {
  say(USAGE);
} else {
  const chosen = readMutants().filter(({ breaks }) => positionals.length === 0 || positionals.some((text) => breaks.includes(text)));
  const results = await runMutants(chosen, Number(values.lanes), Number(values.timeout) * 1_000);
  if (positionals.length === 0) await writeFile(PAGE, formatMutantsPage(results, readScenarios().length));
  const survived = results.filter((result) => !isKilled(result));
  say(`${results.length - survived.length} of ${results.length} mutants detected`);
  process.exitCode = survived.length > 0 ? 1 : 0;
}
