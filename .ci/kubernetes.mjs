// `npm run test:kubernetes`: tests this checkout on each supported Kubernetes version.
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { chooseKubernetesVersion, KUBERNETES_VERSIONS } from "../pkg/devcluster/kubernetesVersions.ts";
import { countRun, formatMatrix, isSuccess, replaceMatrix } from "./kubernetesMatrix.mjs";
import { countTests, VITEST_PARTS } from "./report.mjs";

const USAGE = `npm run test:kubernetes -- [--conformance] [VERSION…]

Runs the conformance scenarios of profile core and all integration tests on an embedded control plane of each supported Kubernetes version, and
prints a table. About half an hour for each version on two processors. With --conformance, runs only the conformance scenarios, about five minutes for
each version. With VERSION, such as ${KUBERNETES_VERSIONS[0].minor}, tests only these versions. If everything passed, writes their rows of the table in README.md.
Exits with 1 if anything failed.`;

const root = join(import.meta.dirname, "..");
const README = join(root, "README.md");

const flag = { type: "boolean", default: false };
const { values, positionals } = parseArgs({ options: { help: flag, conformance: flag }, allowPositionals: true });
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const versions =
  positionals.length > 0 ? positionals.map((name) => chooseKubernetesVersion({ KUBERNETES_VERSION: name })) : KUBERNETES_VERSIONS;

const results = [];
for (const version of versions) results.push(await testVersion(version));

const table = formatMatrix(results.toReversed());
const passed = results.every(isSuccess);
console.log(`\n${table}`);
if (process.env.GITHUB_STEP_SUMMARY) appendFileSync(process.env.GITHUB_STEP_SUMMARY, table);
const supported = KUBERNETES_VERSIONS.map(({ release }) => release).toReversed();
if (passed) writeFileSync(README, replaceMatrix(readFileSync(README, "utf8"), results, supported));
process.exitCode = passed ? 0 : 1;

/** @returns {Promise<import("./kubernetesMatrix.mjs").VersionResult>} */
async function testVersion({ minor, release }) {
  console.log(`\nKubernetes ${release}\n`);
  const reports = mkdtempSync(join(tmpdir(), "olmv1-kubernetes-"));
  try {
    // Also selects the folder from which countTests reads.
    process.env.OLMV1_REPORTS = reports;
    process.env.KUBERNETES_VERSION = minor;
    const suite = await run(["test/conformance/deployed.ts"], "pipe");
    const conformance = countRun(readCounts(suite.output), suite.code);
    const result = { release, conformance, date: new Date().toISOString().slice(0, 10) };
    if (values.conformance) return result;
    const { code } = await run([join(".ci", "test.mjs"), "--integration", "--all"], "inherit");
    return { ...result, tests: countRun(countTests(VITEST_PARTS), code) };
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

/** Returns the counts of a conformance report. A run without a report counts as one failure. */
function readCounts(report) {
  return report.trim() === "" ? { passed: 0, failed: 1, notRun: 0 } : JSON.parse(report).counts;
}

/**
 * Runs a program of this checkout. Returns its exit code (null after a signal), and its output if
 * `stdout` is "pipe".
 */
async function run(args, stdout) {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["inherit", stdout, "inherit"] });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const [output, code] = await Promise.all([child.stdout ? text(child.stdout) : "", closed]);
  return { output, code };
}
