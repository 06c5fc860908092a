import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-crash-"));
});
afterEach(() => rm(folder, { recursive: true }));

interface Case {
  name: string;
  /** Bodies of a test each, in a file each by this name. */
  files: Record<string, string>;
  want: { crashed: { file: string; signal: string }[]; others: number };
}

const ends = (signal: string): string => `process.kill(process.pid, "${signal}"); return new Promise(() => setInterval(() => {}, 1_000));`;

test.for<Case>([
  { name: "all is well", files: { a: "" }, want: { crashed: [], others: 0 } },
  {
    name: "the runtime crashes",
    files: { a: "", b: ends("SIGSEGV") },
    want: { crashed: [{ file: "b.test.js", signal: "SIGSEGV" }], others: 0 },
  },
  {
    name: "a test fails beside a crash",
    files: { a: "expect(1).toBe(2);", b: ends("SIGBUS") },
    want: { crashed: [{ file: "b.test.js", signal: "SIGBUS" }], others: 1 },
  },
  { name: "memory runs out, which is no crash", files: { a: ends("SIGABRT") }, want: { crashed: [], others: 1 } },
])("told apart: $name", async ({ files, want }) => {
  for (const [name, body] of Object.entries(files))
    await writeFile(join(folder, `${name}.test.js`), `test("${name}", () => { ${body} });\n`);
  const reporter = join(ROOT, ".ci/crashReporter.mjs");
  const args = ["run", "--root", folder, "--globals", "--pool=forks", `--reporter=${reporter}`];
  spawnSync(join(ROOT, "node_modules/.bin/vitest"), args, { cwd: folder, env: { ...process.env, OLMV1_REPORTS: folder } });
  expect(JSON.parse(await readFile(join(folder, ".vitest-report-crashes.json"), "utf8"))).toEqual(want);
});
