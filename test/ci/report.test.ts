import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const PROGRAM = join(import.meta.dirname, "../../.ci/report.mjs");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-report-"));
});
afterEach(() => rm(folder, { recursive: true }));

interface Counts {
  passed?: number;
  failed?: number;
  skipped?: number;
  todo?: number;
  /** Files that failed without a failed test. */
  broken?: number;
}

/** Returns the used members of vitest's JSON report. @param name name of the test file */
function vitestReport({ passed = 0, failed = 0, skipped = 0, todo = 0, broken = 0 }: Counts, name = "a.test.ts"): object {
  const results = (status: string, count: number): object[] => Array.from({ length: count }, () => ({ status }));
  const assertionResults = [
    ...results("passed", passed),
    ...results("failed", failed),
    ...results("pending", skipped),
    ...results("todo", todo),
  ];
  const brokenFiles = results("failed", broken).map((file, index) => ({ ...file, name: `broken-${index}.test.ts`, assertionResults: [] }));
  return { testResults: [{ name, status: failed > 0 ? "failed" : "passed", assertionResults }, ...brokenFiles] };
}

interface Case {
  name: string;
  status: number;
  reports: Record<string, object>;
  line: string;
  exit: number;
}

test.for<Case>([
  {
    name: "reports of two parts",
    status: 0,
    reports: { unit: vitestReport({ passed: 7, todo: 1 }), cluster: vitestReport({ passed: 3, skipped: 2 }), checks: { failed: 0 } },
    line: "10 passed, 0 failed, 3 skipped",
    exit: 0,
  },
  {
    name: "a failed test",
    status: 1,
    reports: { unit: vitestReport({ passed: 7, failed: 2 }) },
    line: "7 passed, 2 failed, 0 skipped",
    exit: 1,
  },
  {
    name: "a file that cannot be loaded",
    status: 1,
    reports: { unit: vitestReport({ passed: 7, broken: 1 }) },
    line: "7 passed, 1 failed, 0 skipped",
    exit: 1,
  },
  {
    name: "failed checks",
    status: 1,
    reports: { checks: { failed: 2 }, unit: vitestReport({ passed: 7 }) },
    line: "7 passed, 2 failed, 0 skipped",
    exit: 1,
  },
  {
    name: "a crash after the unit tests",
    status: 137,
    reports: { unit: vitestReport({ passed: 7 }) },
    line: "7 passed, 1 failed, 0 skipped",
    exit: 137,
  },
  {
    name: "a file that was run again after a crash",
    status: 0,
    reports: {
      unit: vitestReport({ passed: 7, failed: 1, skipped: 3 }, "crashed.test.ts"),
      "unit-again": vitestReport({ passed: 11 }, "crashed.test.ts"),
      cluster: vitestReport({ passed: 2 }),
    },
    line: "13 passed, 0 failed, 0 skipped",
    exit: 0,
  },
  {
    name: "a file that failed and then passed, and reports it as unstable",
    status: 0,
    reports: {
      cluster: vitestReport({ passed: 7, failed: 1 }, "raced.test.ts"),
      "cluster-again": vitestReport({ passed: 8 }, "raced.test.ts"),
      unstable: ["raced.test.ts: it waits: expected 1 to be 2"],
    },
    line: "UNSTABLE: raced.test.ts: it waits: expected 1 to be 2\n8 passed, 0 failed, 0 skipped",
    exit: 0,
  },
  {
    name: "a file that failed a second time",
    status: 1,
    reports: {
      cluster: vitestReport({ passed: 7, failed: 1 }, "defect.test.ts"),
      "cluster-again": vitestReport({ passed: 7, failed: 1 }, "defect.test.ts"),
    },
    line: "7 passed, 1 failed, 0 skipped",
    exit: 1,
  },
  { name: "a crash before any test", status: 2, reports: {}, line: "0 passed, 1 failed, 0 skipped", exit: 2 },
  { name: "a success without tests", status: 0, reports: {}, line: "0 passed, 1 failed, 0 skipped", exit: 1 },
  {
    name: "a success with a failed test",
    status: 0,
    reports: { unit: vitestReport({ failed: 1 }) },
    line: "0 passed, 1 failed, 0 skipped",
    exit: 1,
  },
])("report.mjs prints the counts and exits as expected for $name", async ({ status, reports, line, exit }) => {
  for (const [name, report] of Object.entries(reports))
    await writeFile(join(folder, `.vitest-report-${name}.json`), JSON.stringify(report));
  const result = spawnSync(process.execPath, [PROGRAM, String(status)], {
    encoding: "utf8",
    env: { ...process.env, OLMV1_REPORTS: folder },
  });
  expect([result.stdout, result.status]).toEqual([`${line}\n`, exit]);
});

interface AgainCase {
  name: string;
  part: "unit" | "cluster";
  failures: { crashed?: { file: string; signal: string }[]; failed?: { file: string; first: string }[]; others?: string[] };
  want: string[];
}

const crash = (file: string) => ({ file, signal: "SIGSEGV" });
const failure = (file: string) => ({ file, first: "it waits: no" });

test.for<AgainCase>([
  { name: "nothing without failures", part: "cluster", failures: {}, want: [] },
  { name: "failed files on a control plane", part: "cluster", failures: { failed: [failure("a")] }, want: ["a: it waits: no"] },
  {
    name: "failed and crashed files on a control plane",
    part: "cluster",
    failures: { failed: [failure("a")], crashed: [crash("b")] },
    want: ["b: SIGSEGV (crashed)", "a: it waits: no"],
  },
  { name: "nothing when three files failed", part: "cluster", failures: { failed: ["a", "b", "c"].map(failure) }, want: [] },
  {
    name: "nothing when three files failed or crashed",
    part: "cluster",
    failures: { failed: ["a", "b"].map(failure), crashed: [crash("c")] },
    want: [],
  },
  { name: "nothing when failures belong to no file", part: "cluster", failures: { failed: [failure("a")], others: ["no file"] }, want: [] },
  { name: "crashed files of unit tests", part: "unit", failures: { crashed: [crash("a")] }, want: ["a: SIGSEGV (crashed)"] },
  { name: "nothing when unit tests failed", part: "unit", failures: { failed: [failure("a")] }, want: [] },
  {
    name: "nothing when unit tests crashed and another file failed",
    part: "unit",
    failures: { failed: [failure("a")], crashed: [crash("b")] },
    want: [],
  },
])("filesToRunAgain returns $name", async ({ part, failures, want }) => {
  const { filesToRunAgain } = (await import(PROGRAM)) as {
    filesToRunAgain: (part: string, failures?: object) => { file: string; why: string; crashed: boolean }[];
  };
  const found = filesToRunAgain(part, failures);
  expect(found.map(({ file, why, crashed }) => `${file}: ${why}${crashed ? " (crashed)" : ""}`)).toEqual(want);
});

test("describeFailures lists each file with its first error, and then errors without a file", async () => {
  const { describeFailures } = (await import(PROGRAM)) as { describeFailures: (failures: object) => string[] };
  const failures = { failed: [failure("a")], crashed: [crash("b")], others: ["Worker exited unexpectedly"] };
  expect(describeFailures(failures)).toEqual(["b: SIGSEGV", "a: it waits: no", "Worker exited unexpectedly"]);
});
