/** By default, a run tests one of this many generated inputs. */
const SHARE = 5;
/** By default, a run tests one of this many similar cases, and all of a few cases. */
const CASE_SHARE = 3;
const FEW = 6;
const DAY_MS = 86_400_000;

/**
 * Returns the number of generated inputs for a run: a fifth of `all`, because a run of all tests has little time. OLMV1_TEST_ALL_RUNS=1 selects `all`.
 */
export function chooseRuns(all: number, env: NodeJS.ProcessEnv = process.env): number {
  return env["OLMV1_TEST_ALL_RUNS"] === "1" ? all : Math.ceil(all / SHARE);
}

/** Returns the number of the current day, or OLMV1_TEST_SEED. A run selects other cases each day. */
export function getDaySeed(env: NodeJS.ProcessEnv = process.env): number {
  return Math.abs(Number(env["OLMV1_TEST_SEED"] ?? Math.floor(Date.now() / DAY_MS)));
}

/**
 * Selects a third of many similar cases, in their order, another third each day, and prints how many. Selects all of at most six cases, or with
 * OLMV1_TEST_ALL_RUNS=1.
 * @param what the cases, such as "pages with hostile texts"
 */
export function selectCases<T>(cases: readonly T[], what: string, env: NodeJS.ProcessEnv = process.env): T[] {
  if (env["OLMV1_TEST_ALL_RUNS"] === "1" || cases.length <= FEW) return [...cases];
  const selected = cases.filter((_, at) => at % CASE_SHARE === getDaySeed(env) % CASE_SHARE);
  process.stdout.write(`${selected.length} of ${cases.length} ${what}; all with OLMV1_TEST_ALL_RUNS=1\n`);
  return selected;
}
