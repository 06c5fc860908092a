// `npm test`: runs all checks and tests and prints a summary. Exits with 1 if anything failed or did not complete.
import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { getDaySeed } from "../test/support/manyRuns.ts";
import { countTests, describeFailures, filesToRunAgain, reportFile, unstable, VITEST_PARTS } from "./report.mjs";
import { listOmittedFiles } from "./rotation.mjs";

const USAGE = `npm test -- [options] [vitest arguments]

Without options, all parts run: checks, unit, integration, e2e.
  --checks        format, lint, types, generated files
  --unit          unit tests, including architecture tests
  --integration   tests on a real control plane
  --e2e           end-to-end tests of the programs on a real control plane
  --all           all files of the tests on a control plane: otherwise a ninth of the long ones runs, all of them in nine days
Other arguments are passed to vitest, for example: npm test -- --unit pkg/resolve -t channel`;

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules", ".bin");
/** Goal for a whole run on two cores, including a cold build of the control plane. A longer run prints a notice. */
const GOAL_MS = 25 * 60 * 1000;
/** Maximum time of a run; a longer run is terminated. */
const LIMIT_MS = 80 * 60 * 1000;
const NO_CONTROL_PLANE = 3;
/** Tests start hundreds of programs from their sources. The compile cache halves the start time of each. */
const env = { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"), ...process.env };

const { values, tokens } = parseArgs({ strict: false, tokens: true, allowPositionals: true });
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const PARTS = ["checks", "unit", "integration", "e2e"];
const selected = PARTS.filter((part) => values[part]);
const parts = new Set(selected.length > 0 ? selected : PARTS);
const own = new Set(tokens.filter(({ kind, name }) => kind === "option" && [...PARTS, "all"].includes(name)).map(({ index }) => index));
const vitestArgs = process.argv.slice(2).filter((_, index) => !own.has(index));

/** Long files that this run does not test. A run with arguments for vitest tests all files that they select. */
const omitted = values.all || vitestArgs.length > 0 ? [] : listOmittedFiles(getDaySeed());

const started = performance.now();
const failures = [];
/** Files that passed when they were run again after a Node.js crash or a failed test. */
const crashes = [];
const accidents = [];
const deadline = setTimeout(() => {
  failures.push(`not done after ${LIMIT_MS / 60_000} minutes`);
  for (const child of running) child.kill("SIGKILL");
}, LIMIT_MS);
const running = new Set();

for (const name of [...VITEST_PARTS, "checks", "failures", "unstable"]) rmSync(reportFile(name), { force: true });
const onCluster = ["integration", "e2e"].filter((part) => parts.has(part));
const controlPlane = onCluster.length > 0 ? prepareControlPlane() : undefined;
if (parts.has("checks")) await runChecks();
if (parts.has("unit")) await runVitest("unit", ["unit"]);
let notRun;
if (onCluster.length > 0) {
  if (omitted.length > 0) console.log(`${describeOmitted()}: ${omitted.join(", ")}`);
  await runVitest("cluster", onCluster, omitted);
  const { code, message } = await controlPlane;
  if (code === NO_CONTROL_PLANE) notRun = `${countTests(["cluster"]).skipped || "The"} tests on a control plane did NOT run: ${message}`;
}
clearTimeout(deadline);
summarize();

/** Runs all checks, even if one fails. Prints the output of a check only if it fails. */
async function runChecks() {
  const checks = [
    ["format", join(bin, "biome"), ["check", "."]],
    ["lint", join(bin, "oxlint"), ["--type-aware", "--deny-warnings", "cmd", "pkg", "release", "test", "console"]],
    ["unused exports", join(bin, "knip"), ["-c", ".ci/knip.mjs"]],
    ["exports for tests only", join(bin, "knip"), ["-c", ".ci/knip.mjs", "--production"]],
    ["types", join(bin, "tsc"), ["-p", ".", "--noEmit"]],
    ["types of the console", join(bin, "tsc"), ["-p", "console", "--noEmit"]],
    ["licenses", process.execPath, ["release/main.ts", "licenses"]],
    ["generated files", process.execPath, ["cmd/crdgen/main.ts", "--check"]],
  ];
  let failed = 0;
  for (const [name, command, args] of checks) {
    const from = performance.now();
    const { code, output } = await run(command, args, "pipe");
    console.log(`${code === 0 ? "ok    " : "FAILED"} ${name} (${seconds(from)})`);
    if (code === 0) continue;
    failed++;
    failures.push(name);
    console.log(output.trimEnd());
  }
  writeFileSync(reportFile("checks"), JSON.stringify({ failed }));
}

/** @param omitted paths in `test` without `.test.ts` */
async function runVitest(name, projects, omitted = []) {
  const select = projects.flatMap((project) => ["--project", project]);
  const vitest = (part, args) => {
    const reporters = ["default", "json", join(root, ".ci", "failureReporter.mjs")].map((reporter) => `--reporter=${reporter}`);
    const excluded = omitted.flatMap((file) => ["--exclude", `test/${file}.test.ts`]);
    const files = ["--passWithNoTests", ...select, ...excluded, ...reporters, `--outputFile.json=${reportFile(part)}`, ...args];
    return run(join(bin, "vitest"), ["run", ...files], "inherit");
  };
  const { code } = await vitest(name, vitestArgs);
  if (code === 0) return;
  const again = filesToRunAgain(name);
  if (again.length > 0) {
    const list = again.map(({ file, why }) => `\n  ${file}: ${why}`).join("");
    console.log(`Running these files again, once and on their own, to detect unstable tests:${list}`);
    const alone = ["--no-file-parallelism", ...again.map(({ file }) => file)];
    if ((await vitest(`${name}-again`, alone)).code === 0) {
      for (const { file, why, crashed } of again) {
        if (crashed) crashes.push(`${file} (${why})`);
        else accidents.push(`${file}: ${why}`);
      }
      writeFileSync(reportFile("unstable"), JSON.stringify(accidents));
      return;
    }
  }
  failures.push(`${projects.join(" and ")} tests`, ...describeFailures());
}

/** Finds or builds the programs of the control plane while checks and unit tests run. */
async function prepareControlPlane() {
  const { code, output } = await run(process.execPath, [join(root, ".ci", "controlPlane.mjs"), "--with-parent"], "tee");
  return { code, message: output.trim() };
}

/** Runs a command. @param output "inherit", "pipe" to return the output, or "tee" for both. */
function run(command, args, output) {
  const stdio = output === "inherit" ? "inherit" : ["pipe", "pipe", "pipe"];
  const child = spawn(command, args, { cwd: root, stdio, env });
  running.add(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      if (output === "tee") process.stderr.write(chunk);
    });
  }
  return new Promise((resolve) => {
    child.once("error", (err) => resolve({ code: 1, output: err.message }));
    child.once("close", (code) => {
      running.delete(child);
      resolve({ code: code ?? 1, output: text });
    });
  });
}

function describeOmitted() {
  return `${omitted.length} long test files do not run today, and run with \`npm test -- --all\``;
}

function summarize() {
  const { passed, failed, skipped } = countTests(VITEST_PARTS);
  if (onCluster.length > 0 && omitted.length > 0) console.log(`\n${describeOmitted()}`);
  console.log(`\n${passed} tests passed, ${failed} failed, ${skipped} skipped in ${seconds(started)}`);
  if (performance.now() - started > GOAL_MS) console.log(`The run took longer than its goal of ${GOAL_MS / 60_000} minutes.`);
  if (crashes.length > 0) console.log(`Node crashed, and these files were run again: ${crashes.join("; ")}`);
  // Often only the last lines of a run are read, so they list the failures.
  for (const failure of failures) console.log(`FAILED: ${failure}`);
  if (accidents.length > 0)
    loudly([
      ...unstable(),
      "These files failed, then passed when run on their own: probably a race, not a bug in this change. Fix the race.",
    ]);
  if (notRun !== undefined) loudly([notRun]);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function loudly(texts) {
  const line = "!".repeat(100);
  console.log([line, ...texts, line].join("\n"));
}

function seconds(from) {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
