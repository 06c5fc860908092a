// What the reports of a test run say. Run as a program: `report.mjs STATUS` prints "N passed, N failed, N skipped" for a run of
// `npm test` that ended with STATUS, and exits with 1 unless it succeeded.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");

/** The parts of a run that vitest reports on; "unit-again" and "cluster-again" are files that were run once more, see `crashedFiles`. */
export const VITEST_PARTS = ["unit", "unit-again", "cluster", "cluster-again"];

/**
 * Where the report of one part lies (OLMV1_REPORTS names another folder than the checkout): those of `VITEST_PARTS` are vitest's JSON, "checks"
 * says how many checks failed, "crashes" is of `crashReporter.mjs`.
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
 * What a crash of the runtime kept from being tested in the last run of vitest: `{file, signal}` each; none where anything else failed as well,
 * since running them again would change nothing.
 */
export function crashedFiles() {
  const { crashed = [], others = 0 } = read("crashes") ?? {};
  return others > 0 ? [] : crashed;
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
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed > 0 ? status || 1 : 0;
}
