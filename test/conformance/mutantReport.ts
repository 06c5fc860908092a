import type { ScenarioResult } from "../../pkg/conformance/runSuite.ts";
import type { Mutant } from "./mutants.ts";

/** A mutant with the results of the scenarios in its `killedBy`. */
export interface MutantResult {
  readonly mutant: Mutant;
  readonly results: readonly Pick<ScenarioResult, "id" | "state" | "message">[];
}

/** Reports whether each scenario in `killedBy` failed. */
export function isKilled({ mutant, results }: MutantResult): boolean {
  return mutant.killedBy.every((id) => results.some((result) => result.id === id && result.state === "failed"));
}

/** Returns the step that failed, such as "then it is rolled out as". */
function getFailedStep(message = ""): string {
  return message.slice(0, message.indexOf(": "));
}

const HEAD = `# Mutants of the conformance scenarios

Each row is a broken implementation of OLM v1, and the [conformance scenarios](../how-to/conformance.md) that detect it, each with the step that fails. \`npm run conformance:mutants\` starts the servers with one mutant after another and writes this page. It fails if a scenario of a row passes.

`;

/** Formats the page of all mutants. @param scenarios the number of all scenarios */
export function formatMutantsPage(all: readonly MutantResult[], scenarios: number): string {
  const killed = all.filter(isKilled).length;
  const rows = all.map(({ mutant, results }) => {
    const by = results.map(({ id, state, message }) => `\`${id}\` (${state === "failed" ? getFailedStep(message) : state})`);
    return `| ${mutant.breaks} | \`${mutant.file}\` | ${by.join("<br>")} |\n`;
  });
  const used = new Set(all.flatMap(({ mutant }) => mutant.killedBy)).size;
  const summary = `${killed} of ${all.length} mutants are detected, by ${used} of ${scenarios} scenarios. No mutant tests the other scenarios.`;
  return `${HEAD}${summary}\n\n| the implementation… | changed file | detected by |\n| --- | --- | --- |\n${rows.join("")}`;
}
