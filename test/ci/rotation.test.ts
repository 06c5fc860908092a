import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import LONG from "../../.ci/longFiles.json" with { type: "json" };

const ROOT = join(import.meta.dirname, "../..");

function listOmitted(day: number): string[] {
  const program = `import { listOmittedFiles } from "./.ci/rotation.mjs"; console.log(JSON.stringify(listOmittedFiles(${day})));`;
  return JSON.parse(execFileSync(process.execPath, ["--input-type=module", "-e", program], { cwd: ROOT, encoding: "utf8" })) as string[];
}

test("longFiles.json lists test files that exist, the longest first", () => {
  expect(Object.keys(LONG).filter((name) => !existsSync(join(ROOT, "test", `${name}.test.ts`)))).toEqual([]);
  const seconds = Object.values(LONG);
  expect(seconds).toEqual(seconds.toSorted((one, other) => other - one));
});

test("listOmittedFiles tests each file on one of nine days at least, and some files each day", () => {
  const days = Array.from({ length: 9 }, (_, i) => 20_783 + i).map(listOmitted);
  const counts = Object.keys(LONG).map((name) => days.filter((omitted) => omitted.includes(name)).length);
  expect(new Set(counts)).toEqual(new Set([0, 8]));
});

test("listOmittedFiles omits files that take about the same time each day", () => {
  const sums = [0, 1, 2, 3, 4, 5, 6].map((day) => listOmitted(day).reduce((sum, name) => sum + LONG[name as keyof typeof LONG], 0));
  expect(Math.max(...sums) - Math.min(...sums)).toBeLessThan(60);
});
