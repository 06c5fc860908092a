// Chooses the tests of a run. Long test files, with their seconds, are in longFiles.json, the longest first.
import SECONDS from "./longFiles.json" with { type: "json" };

/** Files of which every run needs a result: the README as users run it, the behaviour of OLM v1, and what is shipped. */
const ALWAYS = new Set([
  "e2e/start",
  "e2e/scenarios",
  "e2e/recovery",
  "integration/permissions",
  "integration/config",
  "integration/helmChart",
  "integration/build",
  "integration/clusterUpgradeGate",
]);
/** A run of all parts tests one of this many groups of the other files: all of them in nine days. */
const GROUPS = 9;

/**
 * Returns the paths in `test`, without `.test.ts`, of the long files that a run does not test: all groups but one. The groups take about the same time,
 * and the tested group changes each day.
 * @param {number} day number of the day, see `getDaySeed`
 */
export function listOmittedFiles(day) {
  const groups = Array.from({ length: GROUPS }, () => ({ seconds: 0, names: [] }));
  for (const [name, seconds] of Object.entries(SECONDS)) {
    if (ALWAYS.has(name)) continue;
    const [shortest] = [...groups].sort((one, other) => one.seconds - other.seconds);
    shortest.names.push(name);
    shortest.seconds += seconds;
  }
  return groups.filter((_, at) => at !== day % GROUPS).flatMap(({ names }) => names);
}
