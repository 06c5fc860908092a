import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { readScenarios } from "../../pkg/conformance/scenarioFiles.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { formatMutantsPage, isKilled } from "./mutantReport.ts";
import { getMutatedPath, mutateText, readMutants } from "./mutants.ts";

const MUTANTS = readMutants();
const PAGE = readFileSync(join(import.meta.dirname, "../../docs/reference/conformance-mutants.md"), "utf8");

test("each mutant changes one text that exists exactly once", () => {
  for (const mutant of MUTANTS) {
    const text = readFileSync(getMutatedPath(mutant), "utf8");
    expect(mutateText(mutant, text), mutant.breaks).not.toBe(text);
  }
});

test("there are at least 30 mutants, each with another description and with scenarios that exist", () => {
  const ids = new Set(readScenarios().map(({ id }) => id));
  expect(new Set(MUTANTS.map(({ breaks }) => breaks)).size).toBe(MUTANTS.length);
  expect(MUTANTS.length).toBeGreaterThanOrEqual(30);
  expect(MUTANTS.flatMap(({ killedBy }) => killedBy).filter((id) => !ids.has(id))).toEqual([]);
});

test("the page of mutants lists every mutant with its scenarios, and all are detected", () => {
  const missing = MUTANTS.filter(({ breaks, file, killedBy }) => {
    const row = PAGE.split("\n").find((line) => line.startsWith(`| ${breaks} | \`${file}\` |`));
    return row === undefined || killedBy.some((id) => !row.includes(`\`${id}\` (`));
  });
  expect(missing).toEqual([]);
  expect(PAGE).toContain(`${MUTANTS.length} of ${MUTANTS.length} mutants are detected, by `);
});

test("isKilled is false when one of the scenarios passes", () => {
  const mutant = { breaks: "x", file: "pkg/x.ts", from: "a", to: "b", killedBy: ["one", "two"] };
  const failed = { id: "one", state: "failed", message: "then it rains: no" } as const;
  expect(isKilled({ mutant, results: [failed, { id: "two", state: "failed" }] })).toBe(true);
  expect(isKilled({ mutant, results: [failed, { id: "two", state: "passed" }] })).toBe(false);
  expect(formatMutantsPage([{ mutant, results: [failed, { id: "two", state: "passed" }] }], 3)).toContain(
    "0 of 1 mutants are detected, by 2 of 3 scenarios. No mutant tests the other scenarios.\n\n| the implementation… | changed file | detected by |\n| --- | --- | --- |\n| x | `pkg/x.ts` | `one` (then it rains)<br>`two` (passed) |",
  );
});

test("the preloaded module replaces the source of one module", async () => {
  using folder = new TempFolder();
  const path = join(folder.write("modules", { "main.ts": 'const text: string = "unchanged";\nconsole.log(text);\n' }), "main.ts");
  const env = {
    OLMV1_MUTATED_URL: pathToFileURL(path).href,
    OLMV1_MUTATED_SOURCE: 'const text: string = "changed";\nconsole.log(text);\n',
  };
  const preload = pathToFileURL(join(import.meta.dirname, "patchSource.ts")).href;
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", preload, path], { env });
  expect(stdout).toBe("changed\n");
});
