import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseScenarios, requireUniqueIds, type Scenario } from "./scenario.ts";

/** The folder with the scenarios, next to this module and next to the built program. */
const FOLDER = join(import.meta.dirname, "scenarios");

/** Reads all scenarios that come with the program, by file name. @throws Error with the file and the scenario if one is invalid */
export function readScenarios(): Scenario[] {
  const files = readdirSync(FOLDER)
    .filter((name) => name.endsWith(".yaml"))
    .toSorted();
  const scenarios = files.flatMap((name) => parseScenarios(basename(name, ".yaml"), readFileSync(join(FOLDER, name), "utf8")));
  requireUniqueIds(scenarios);
  return scenarios;
}
