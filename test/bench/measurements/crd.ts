import { join } from "node:path";
import { findCrdChanges } from "../../../pkg/crdsafety/crdFindings.ts";
import { caseFilesUnder, casesIn } from "../../cases/readCases.ts";
import { type CrdUpgradeCase, crdUpgradeTopic } from "../../cases/topics/crdUpgrade.ts";
import type { Measurement } from "../measurement.ts";
import { dataFolder } from "../realData.ts";

const RUNS = 5;

/** Compares two decoded CRDs. */
export const crdMeasurement: Measurement = {
  name: "crd",
  title: "upgrade checks of real CRDs",
  figures: ["crd-upgrade"],
  async *run(context) {
    const upgrades = await listUpgrades(join(dataFolder(context), "crd-upgrade"));
    const runs = context.runs ?? RUNS;
    const first = runPass(upgrades);
    const samples: number[] = [];
    for (let run = 1; run <= runs; run++) {
      samples.push(runPass(upgrades).seconds / upgrades.length);
      context.say(`run ${run} of ${runs}`);
    }
    const note =
      `mean of ${upgrades.length} upgrades (${first.findings} findings); ` +
      `in a new process: ${((first.seconds / upgrades.length) * 1_000).toFixed(1)} ms`;
    yield { id: "crd-upgrade", samples, note };
  },
};

async function listUpgrades(folder: string): Promise<CrdUpgradeCase[]> {
  const upgrades: CrdUpgradeCase[] = [];
  for await (const file of caseFilesUnder(folder)) {
    for await (const { value } of casesIn(file)) {
      if ("decoded" in value && crdUpgradeTopic.isCase(value.decoded)) upgrades.push(value.decoded);
    }
  }
  return upgrades;
}

function runPass(upgrades: readonly CrdUpgradeCase[]): { seconds: number; findings: number } {
  const started = performance.now();
  let findings = 0;
  for (const { old, new: after } of upgrades) findings += findCrdChanges(old, after).length;
  return { seconds: (performance.now() - started) / 1_000, findings };
}
