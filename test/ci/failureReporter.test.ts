import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-failures-"));
});
afterEach(() => rm(folder, { recursive: true }));

interface Case {
  name: string;
  /** File texts by the first part of the file name. */
  files: Record<string, string>;
  want: { crashed: { file: string; signal: string }[]; failed: { file: string; first: string }[]; others: string[] };
}

const passes = 'test("one", () => {});';
const fails =
  'describe("outer", () => { test("one", () => {}); test("two", () => expect(1).toBe(2)); test("three", () => expect(1).toBe(3)); });';
const ends = (signal: string): string =>
  `test("one", () => { process.kill(process.pid, "${signal}"); return new Promise(() => setInterval(() => {}, 1_000)); });`;
const FAILED = { file: "a.test.js", first: "outer > two: expected 1 to be 2 // Object.is equality" };

test.for<Case>([
  { name: "everything passes", files: { a: passes }, want: { crashed: [], failed: [], others: [] } },
  {
    name: "the runtime crashes",
    files: { a: passes, b: ends("SIGSEGV") },
    want: { crashed: [{ file: "b.test.js", signal: "SIGSEGV" }], failed: [], others: [] },
  },
  { name: "tests fail; the first is reported", files: { a: fails, b: passes }, want: { crashed: [], failed: [FAILED], others: [] } },
  {
    name: "a test fails and the runtime crashes",
    files: { a: fails, b: ends("SIGBUS") },
    want: { crashed: [{ file: "b.test.js", signal: "SIGBUS" }], failed: [FAILED], others: [] },
  },
  {
    name: "a hook fails",
    files: { a: `describe("outer", () => { beforeAll(() => { throw new Error("no\\nwhy"); }); ${passes} });` },
    want: { crashed: [], failed: [{ file: "a.test.js", first: "outer: no | why" }], others: [] },
  },
  {
    name: "a test fails with a long error",
    files: { a: `test("one", () => { throw new Error("b".repeat(1000) + "e".repeat(1000)); });` },
    want: { crashed: [], failed: [{ file: "a.test.js", first: `one: ${"b".repeat(300)} … ${"e".repeat(500)}` }], others: [] },
  },
  {
    name: "a file cannot be loaded",
    files: { a: 'throw new Error("broken");' },
    want: { crashed: [], failed: [{ file: "a.test.js", first: "broken" }], others: [] },
  },
  {
    name: "memory runs out, which is not a crash",
    files: { a: ends("SIGABRT") },
    want: { crashed: [], failed: [], others: [expect.stringContaining("SIGABRT")] },
  },
])("failureReporter lists crashed files, failed files and other errors separately when $name", async ({ files, want }) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.test.js`), text);
  const reporter = join(ROOT, ".ci/failureReporter.mjs");
  const args = ["run", "--root", folder, "--globals", "--pool=forks", `--reporter=${reporter}`];
  spawnSync(join(ROOT, "node_modules/.bin/vitest"), args, { cwd: folder, env: { ...process.env, OLMV1_REPORTS: folder } });
  expect(JSON.parse(await readFile(join(folder, ".vitest-report-failures.json"), "utf8"))).toEqual(want);
});
