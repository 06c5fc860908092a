// Reads the reports of a test run. `report.mjs STATUS` prints unstable test files and then "N passed, N failed, N skipped" for a run of
// `npm test` that exited with STATUS, and exits with 1 unless the run succeeded.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");

/** Vitest reports of a run. "unit-again" and "cluster-again" are the reports of the files in `filesToRunAgain`. */
export const VITEST_PARTS = ["unit", "unit-again", "cluster", "cluster-again"];

/** Maximum number of failed files to run again; if more fail, none of them is treated as unstable. */
const MAX_AGAIN = 2;

/**
 * Returns the path of a report, in OLMV1_REPORTS or the checkout. Reports in `VITEST_PARTS` are vitest JSON; "checks" is the number of failed checks;
 * "failures" is the output of `failureReporter.mjs` for the last vitest run; "unstable" is a list of lines, see `unstable`.
 */
export function reportFile(name) {
  return join(process.env.OLMV1_REPORTS ?? root, `.vitest-report-${name}.json`);
}

/**
 * Counts the tests in vitest reports. A file that failed as a whole (it could not be loaded, or a hook failed) counts as one failed test. For a file
 * that was run again, counts only the second run.
 */
export function countTests(names) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const name of names) {
    const again = new Set(read(`${name}-again`)?.testResults.map((file) => file.name));
    for (const { name: path, status, assertionResults } of read(name)?.testResults ?? []) {
      if (again.has(path)) continue;
      const count = (...wanted) => assertionResults.filter((test) => wanted.includes(test.status)).length;
      const failed = count("failed");
      sum.passed += count("passed");
      sum.failed += failed === 0 && status === "failed" ? 1 : failed;
      sum.skipped += count("pending", "skipped", "todo", "disabled");
    }
  }
  return sum;
}

/**
 * Returns the files to run once more after a failed vitest run: files in which the runtime crashed, and files that failed on a control plane, where
 * many tests run concurrently. Empty if there are too many such files, or if anything else failed.
 * @param part "unit" or "cluster"
 * @returns {{file: string, why: string, crashed: boolean}[]} `why` is a signal, or the failed test with its error on one line.
 */
export function filesToRunAgain(part, { crashed = [], failed = [], others = [] } = read("failures") ?? {}) {
  if (others.length > 0 || crashed.length + failed.length > MAX_AGAIN || (part === "unit" && failed.length > 0)) return [];
  return [
    ...crashed.map(({ file, signal }) => ({ file, why: signal, crashed: true })),
    ...failed.map(({ file, first }) => ({ file, why: first, crashed: false })),
  ];
}

/** Returns a line for each file that failed in the last vitest run, with its first error, and a line for each error outside a file. */
export function describeFailures({ crashed = [], failed = [], others = [] } = read("failures") ?? {}) {
  return [...crashed.map(({ file, signal }) => `${file}: ${signal}`), ...failed.map(({ file, first }) => `${file}: ${first}`), ...others];
}

/** Returns a line for each test file that failed and then passed when it was run again, as recorded by `test.mjs`. */
export function unstable() {
  return (read("unstable") ?? []).map((line) => `UNSTABLE: ${line}`);
}

function read(name) {
  return existsSync(reportFile(name)) ? JSON.parse(readFileSync(reportFile(name), "utf8")) : undefined;
}

if (process.argv[2] !== undefined && process.argv[1]?.endsWith("report.mjs")) {
  const status = Number(process.argv[2]);
  const { passed, failed: failedTests, skipped } = countTests(VITEST_PARTS);
  let failed = failedTests + (read("checks")?.failed ?? 0);
  const nothingRan = passed + failed + skipped === 0;
  if (failed === 0 && (status !== 0 || nothingRan)) failed = 1; // crashed or timed out
  for (const line of unstable()) console.log(line);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed > 0 ? status || 1 : 0;
}
