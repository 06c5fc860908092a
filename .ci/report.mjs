// What the reports of a test run say. Run as a program: `report.mjs STATUS` prints "N passed, N failed, N skipped" for a run of
// `npm test` that ended with STATUS, after what was unstable, and exits with 1 unless it succeeded.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");

/** The parts of a run that vitest reports on; "unit-again" and "cluster-again" are files that were run once more, see `filesToRunAgain`. */
export const VITEST_PARTS = ["unit", "unit-again", "cluster", "cluster-again"];

/** Of more files than that no failure is taken for an accident. */
const MAX_AGAIN = 2;

/**
 * Where the report of one part lies (OLMV1_REPORTS names another folder than the checkout): those of `VITEST_PARTS` are vitest's JSON, "checks"
 * says how many checks failed, "failures" is of `failureReporter.mjs` about the last run of vitest, "unstable" a list of lines, see `unstable`.
 */
export function reportFile(name) {
  return join(process.env.OLMV1_REPORTS ?? root, `.vitest-report-${name}.json`);
}

/**
 * Tests of these vitest reports. A file that failed as a whole (it could not be loaded, a hook failed) counts as one failed test; of a file that
 * was run again only the second run counts.
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
 * What is run again, once, after a run of vitest that failed: files during which the runtime crashed, and of the tests on a control plane those that
 * failed, since much goes on there at the same time. Nothing where that is more than a few files, or where anything else failed as well.
 * @param part "unit" or "cluster"
 * @returns {{file: string, why: string, crashed: boolean}[]} `why` is a signal, or the test that failed with its error on one line.
 */
export function filesToRunAgain(part, { crashed = [], failed = [], others = [] } = read("failures") ?? {}) {
  if (others.length > 0 || crashed.length + failed.length > MAX_AGAIN || (part === "unit" && failed.length > 0)) return [];
  return [
    ...crashed.map(({ file, signal }) => ({ file, why: signal, crashed: true })),
    ...failed.map(({ file, first }) => ({ file, why: first, crashed: false })),
  ];
}

/** Returns a line for each file that failed in the last run of vitest, with its first error, and for each error outside a file. */
export function describeFailures({ crashed = [], failed = [], others = [] } = read("failures") ?? {}) {
  return [...crashed.map(({ file, signal }) => `${file}: ${signal}`), ...failed.map(({ file, first }) => `${file}: ${first}`), ...others];
}

/** A line for each file of tests that failed at first and passed when it was run again, as `test.mjs` noted them. */
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
  if (failed === 0 && (status !== 0 || nothingRan)) failed = 1; // it crashed, or ran out of time
  for (const line of unstable()) console.log(line);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed > 0 ? status || 1 : 0;
}
