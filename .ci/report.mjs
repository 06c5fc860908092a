// What the reports of a test run say. Run as a program: `report.mjs STATUS` prints "N passed, N failed, N skipped" for a run of
// `npm test` that ended with STATUS, and exits with 1 unless it succeeded.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");

/** Where the report of one part lies (OLMV1_REPORTS names another folder than the checkout): "unit" and "cluster" are vitest's JSON, "checks" says how many checks failed. */
export function reportFile(name) {
  return join(process.env.OLMV1_REPORTS ?? root, `.vitest-report-${name}.json`);
}

/** Tests of these vitest reports. A file that failed as a whole (it could not be loaded, a hook failed) counts as one failed test. */
export function countTests(names) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const report of names.map(read)) {
    if (report === undefined) continue;
    sum.passed += report.numPassedTests;
    sum.skipped += report.numPendingTests + report.numTodoTests;
    sum.failed += report.numFailedTests;
    const brokenFiles = report.testResults.filter(
      (file) => file.status === "failed" && !file.assertionResults.some(({ status }) => status === "failed"),
    );
    sum.failed += brokenFiles.length;
  }
  return sum;
}

function read(name) {
  return existsSync(reportFile(name)) ? JSON.parse(readFileSync(reportFile(name), "utf8")) : undefined;
}

if (process.argv[2] !== undefined && process.argv[1]?.endsWith("report.mjs")) {
  const status = Number(process.argv[2]);
  const { passed, failed: failedTests, skipped } = countTests(["unit", "cluster"]);
  let failed = failedTests + (read("checks")?.failed ?? 0);
  const nothingRan = passed + failed + skipped === 0;
  if (failed === 0 && (status !== 0 || nothingRan)) failed = 1; // it crashed, or ran out of time
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed > 0 ? status || 1 : 0;
}
