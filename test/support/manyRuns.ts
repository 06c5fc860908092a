/** By default, a run tests one of this many generated inputs. */
const SHARE = 5;

/**
 * Returns the number of generated inputs for a run: a fifth of `all`, because a run of all tests has little time. OLMV1_TEST_ALL_RUNS=1 selects `all`.
 */
export function chooseRuns(all: number, env: NodeJS.ProcessEnv = process.env): number {
  return env["OLMV1_TEST_ALL_RUNS"] === "1" ? all : Math.ceil(all / SHARE);
}
