import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KUBERNETES_VERSIONS } from "../../pkg/devcluster/kubernetesVersions.ts";

const ROOT = join(import.meta.dirname, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const MATRIX = "./.ci/kubernetesMatrix.mjs";

function evaluate(expression: string): unknown {
  const program = `import * as matrix from "${MATRIX}"; console.log(JSON.stringify(${expression}));`;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", program], { cwd: ROOT, encoding: "utf8" }));
}

/** Runs `replaceMatrix` for versions v1.2.0 and v1.1.0. */
function replace(text: string, results: readonly object[]): string {
  return evaluate(`matrix.replaceMatrix(${JSON.stringify(text)}, ${JSON.stringify(results)}, ["v1.2.0", "v1.1.0"])`) as string;
}

const counts = (passed: number, failed = 0, skipped = 0, notRun = 0): object => ({ passed, failed, skipped, notRun });
const result = (release: string, conformance: object, tests?: object): object => ({ release, conformance, tests, date: "2026-01-31" });

test("the table in README.md names exactly the supported versions, without failures", () => {
  const [, table = ""] = /<!-- written by [^>]*-->\n([^<]*)<!-- end of the table -->/.exec(README) ?? [];
  const versions = [...table.matchAll(/^\| (v\S+) /gm)].map(([, version]) => version);
  expect(versions).toEqual(KUBERNETES_VERSIONS.map(({ release }) => release).toReversed());
  expect(table).not.toContain("failed");
});

test("replaceMatrix writes only the table, with a column for the integration tests if they ran", () => {
  const results = [result("v1.1.0", counts(3, 0, 0, 1), counts(7, 0, 2)), result("v1.2.0", counts(4), counts(9))];
  const text = replace(README, results);
  expect(text).toContain(
    [
      "| Kubernetes | conformance scenarios of profile core | integration tests   | date of the run |",
      "| ---------- | ------------------------------------- | ------------------- | --------------- |",
      "| v1.2.0     | 4 passed                              | 9 passed            | 2026-01-31      |",
      "| v1.1.0     | 3 passed, 1 not run                   | 7 passed, 2 skipped | 2026-01-31      |",
    ].join("\n"),
  );
  const around = (whole: string): string[] => [whole.split("<!-- written")[0] ?? "", whole.split("<!-- end")[1] ?? ""];
  expect(around(text)).toEqual(around(README));
});

test("replaceMatrix keeps the rows of supported versions that did not run", () => {
  const before = replace(README, [result("v1.1.0", counts(3)), result("v1.2.0", counts(4))]);
  expect(before).toContain(
    [
      "| Kubernetes | conformance scenarios of profile core | date of the run |",
      "| ---------- | ------------------------------------- | --------------- |",
      "| v1.2.0     | 4 passed                              | 2026-01-31      |",
      "| v1.1.0     | 3 passed                              | 2026-01-31      |",
    ].join("\n"),
  );
  expect(replace(before, [result("v1.2.0", counts(5), counts(9))])).toContain(
    [
      "| Kubernetes | conformance scenarios of profile core | integration tests | date of the run |",
      "| ---------- | ------------------------------------- | ----------------- | --------------- |",
      "| v1.2.0     | 5 passed                              | 9 passed          | 2026-01-31      |",
      "| v1.1.0     | 3 passed                              | not run           | 2026-01-31      |",
    ].join("\n"),
  );
});

test.each([
  ["the program succeeded", counts(2), 0, counts(2)],
  ["a test failed", counts(2, 3), 1, counts(2, 3)],
  ["the program failed without a failed test", counts(2), 1, counts(2, 1)],
  ["a signal ended the program", counts(2), null, counts(2, 1)],
])("countRun counts the failures when %s", (_, reported, code, expected) => {
  expect(evaluate(`matrix.countRun(${JSON.stringify(reported)}, ${code})`)).toEqual(expected);
});

test.each([
  ["everything passed", result("v1.1.0", counts(1), counts(1, 0, 1)), true],
  ["only conformance ran", result("v1.1.0", counts(1)), true],
  ["a scenario failed", result("v1.1.0", counts(1, 1), counts(1)), false],
  ["a test failed", result("v1.1.0", counts(1), counts(1, 1)), false],
  ["nothing ran", result("v1.1.0", counts(0), counts(0)), false],
])("isSuccess decides when %s", (_, one, expected) => {
  expect(evaluate(`matrix.isSuccess(${JSON.stringify(one)})`)).toBe(expected);
});
