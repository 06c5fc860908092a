import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { describeWithData } from "../support/sharedData.ts";
import { CatalogCache } from "./catalogCache.ts";
import { runCases, type Summary } from "./runCases.ts";
import { UsageError } from "./runMain.ts";
import type { Topic } from "./topic.ts";
import { crdUpgradeTopic } from "./topics/crdUpgrade.ts";
import { fbcLoadTopic } from "./topics/fbcLoad.ts";
import { rangesTopic } from "./topics/ranges.ts";
import { resolveTopic } from "./topics/resolve.ts";

const fixtures = join(import.meta.dirname, "fixtures/data");
const scratch = mkdtempSync(join(tmpdir(), "cases-"));
afterAll(() => rmSync(scratch, { recursive: true }));

async function run<C>(topic: Topic<C>, paths: string[], dataFolder?: string): Promise<Summary & { printed: string[] }> {
  const printed: string[] = [];
  const summary = await runCases(topic, { paths, dataFolder, print: (line) => printed.push(line) });
  return { ...summary, printed };
}

describeWithData("real catalogs and expected results", (data) => {
  test.for([
    ["ranges", rangesTopic, "ranges"],
    ["resolve", resolveTopic, "resolve"],
    ["crd-upgrade", crdUpgradeTopic, "crd-upgrade"],
    ["fbc-load", fbcLoadTopic, "fbc-load"],
  ] as [string, Topic, string][])("%s", { timeout: 300_000 }, async ([, topic, folder]) => {
    const { failed, passed, printed } = await run(topic, [join(data, folder)]);
    expect(printed).toEqual([]);
    expect(failed).toBe(0);
    expect(passed).toBeGreaterThan(0);
  });
});

describe("runCases", () => {
  test("runCases finds case files in a folder, ignores other files, and finds the data folder", async () => {
    await expect(run(rangesTopic, [join(fixtures, "ranges")])).resolves.toEqual({ passed: 4, failed: 0, printed: [] });
    await expect(run(rangesTopic, [fixtures])).resolves.toEqual({ passed: 4, failed: 0, printed: [] });
    await expect(run(resolveTopic, [join(fixtures, "resolve/cases.jsonl")])).resolves.toEqual({ passed: 2, failed: 0, printed: [] });
  });

  test("runCases uses the given data folder, and reads catalog.tar.gz when folder catalog does not exist", async () => {
    const elsewhere = join(scratch, "elsewhere");
    cpSync(join(fixtures, "fbc/small"), join(elsewhere, "fbc/small"), { recursive: true });
    expect(spawnSync("tar", ["-czf", "small.tar.gz", "small"], { cwd: join(elsewhere, "fbc") }).status).toBe(0);
    rmSync(join(elsewhere, "fbc/small"), { recursive: true });
    cpSync(join(fixtures, "resolve/cases.jsonl"), join(scratch, "apart/cases.jsonl"));
    const file = join(scratch, "apart/cases.jsonl");
    await expect(run(resolveTopic, [file], elsewhere)).resolves.toEqual({ passed: 2, failed: 0, printed: [] });
    await expect(run(resolveTopic, [file])).resolves.toMatchObject({ passed: 0, failed: 2 });
  });

  test("runCases prints the expected and the actual result of each failed case", async () => {
    const { passed, failed, printed } = await run(resolveTopic, [join(fixtures, "resolve/wrong.json")]);
    expect({ passed, failed }).toEqual({ passed: 0, failed: 6 });
    const details = printed.map((text) => text.split("\n  ").slice(1));
    expect(details[0]).toEqual([
      "want bundle pkg.v1.0.0 (version 1.0.0)",
      expect.stringMatching(/^got bundle pkg\.v1\.1\.0 \(version 1\.1\.0\): /),
    ]);
    expect(details[1]).toEqual(["want deprecation null", expect.stringMatching(/^got \{.*use another channel/)]);
    expect(details[2]).toEqual(["want error: something else", expect.stringMatching(/^got bundle pkg\.v1\.1\.0/)]);
    expect(details[3]).toEqual([expect.stringMatching(/^cannot be run: catalog not found: neither .*fbc\/none nor none\.tar\.gz exists/)]);
    expect(details[4]).toEqual([
      "want bundle pkg.v1.1.0",
      expect.stringMatching(/^got error: no bundles found for package "pkg" matching version "2\.x"; /),
    ]);
    expect(details[5]).toEqual(["not a case of this topic"]);
  });

  test("rangesTopic reports missing and unexpected versions of a range", async () => {
    const file = join(scratch, "masterminds.jsonl");
    const lines = [
      { range: ">=2", versions: ["1.0.0", "2.0.0", "3.0.0"], matches: ["1.0.0", "3.0.0"] },
      { range: ">=2", versions: [], error: "improper" },
      { range: "!", versions: [], matches: [] },
    ];
    writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n{broken\n`);
    const { failed, printed } = await run(rangesTopic, [file]);
    expect(failed).toBe(4);
    expect(printed[0]?.split("\n  ").slice(1)).toEqual(["does not match, but should: [1.0.0]", "matches, but should not: [2.0.0]"]);
    expect(printed[1]).toContain("want error: improper");
    expect(printed[2]).toContain('got error: improper constraint: "!"');
    expect(printed[3]).toContain("masterminds.jsonl:4\n  not JSON: ");
  });

  test("fbcLoadTopic counts the objects of a catalog and reports its errors", async () => {
    const file = join(scratch, "fbc-load.jsonl");
    const counts = { packages: 1, channels: 1, bundles: 2, deprecations: 1, others: 0 };
    const lines = [
      { fbc: "fbc/small", expect: counts },
      { fbc: "fbc/small", expect: { ...counts, bundles: 3 } },
      { fbc: "fbc/small", expect: { error: "no channel head found in graph" } },
      { fbc: "fbc/broken", expect: { error: "unknown package" } },
      { fbc: "fbc/broken", expect: counts },
      { fbc: "fbc/none", expect: counts },
    ];
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
    const { passed, failed, printed } = await run(fbcLoadTopic, [file], fixtures);
    expect({ passed, failed }).toEqual({ passed: 2, failed: 4 });
    const details = printed.map((text) => text.split("\n  ").slice(1));
    expect(details[0]).toEqual([expect.stringMatching(/^want .*3 bundles/), expect.stringMatching(/^got .*2 bundles/)]);
    expect(details[1]).toEqual(["want error: no channel head found in graph", expect.stringMatching(/^got .*2 bundles/)]);
    expect(details[2]).toEqual([
      expect.stringMatching(/^want 1 packages/),
      'got error: unknown package "missing" for bundle "missing.v1.0.0"',
    ]);
    expect(details[3]?.[0]).toContain("cannot be run: catalog not found");
  });

  test("runCases throws for missing paths, cases and required files", async () => {
    await expect(run(resolveTopic, [join(fixtures, "nothing")])).rejects.toThrow(UsageError);
    await expect(run(resolveTopic, [join(fixtures, "ranges")])).rejects.toThrow(/^no case of this topic in /);
    cpSync(join(fixtures, "ranges/blang.jsonl"), join(scratch, "unnamed/x.jsonl"));
    await expect(run(rangesTopic, [join(scratch, "unnamed")])).rejects.toThrow(/^unknown range syntax of /);
    cpSync(join(fixtures, "ranges/blang.jsonl"), join(scratch, "unnamed/blang.jsonl"));
    await expect(run(rangesTopic, [join(scratch, "unnamed/blang.jsonl")])).rejects.toThrow(/requires versions in .*versions\.json$/);
  });
});

test("CatalogCache evicts the least recently used catalog", async () => {
  const cache = new CatalogCache(6);
  const folder = join(fixtures, "fbc/small");
  const copies = ["a", "b"].map((name) => join(scratch, name));
  for (const copy of copies) cpSync(folder, copy, { recursive: true });
  const first = await cache.load(folder);
  expect(first.get("pkg")).toMatchObject({
    bundles: [{ name: "pkg.v1.0.0", properties: [{ type: "olm.package" }] }, { name: "pkg.v1.1.0" }],
  });
  await expect(cache.load(folder)).resolves.toBe(first);
  for (const copy of copies) await cache.load(copy);
  expect(cache.size).toBe(1);
  await expect(cache.load(folder)).resolves.not.toBe(first);
});

describe("the command", () => {
  const command = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], {
      encoding: "utf8",
      env: { ...process.env, INIT_CWD: fixtures },
    });

  test("the cases command exits with 0 if all cases passed, and prints the time and the counts last", () => {
    const { status, stdout } = command("resolve", "resolve/cases.jsonl", "--data", ".");
    expect(stdout).toMatch(/^whole run: \d+\.\d s\n2 passed, 0 failed\n$/);
    expect(status).toBe(0);
  });

  test("the cases command exits with 1 if a case failed", () => {
    const { status, stdout } = command("resolve", "resolve");
    expect(stdout).toMatch(/\n2 passed, 6 failed\n$/);
    expect(status).toBe(1);
  });

  test.for([
    [[], "error: no topic given"],
    [["nonsense", "x"], "error: unknown topic nonsense"],
    [["resolve"], "error: no path given"],
    [["resolve", "nowhere"], "error: no such file or folder: "],
    [["resolve", "resolve", "--fast"], "error: Unknown option '--fast'"],
  ] as [string[], string][])("the cases command exits with 2 for arguments %j", ([args, message]) => {
    const { status, stderr } = command(...args);
    expect(stderr.startsWith(message), stderr).toBe(true);
    expect(stderr).toContain("usage: npm run -s cases -- TOPIC PATH...");
    expect(status).toBe(2);
  });
});
