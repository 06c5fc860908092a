import { expect, test } from "vitest";
import { NotRunError, runChecks } from "./checkRunner.ts";

test("runChecks runs all checks and counts a check without its program as not run", async () => {
  const lines: string[] = [];
  const counts = await runChecks(
    [
      { name: "chart", run: () => Promise.resolve("3 objects") },
      { name: "image", run: () => Promise.reject(new NotRunError("needs Docker")) },
      { name: "npm package", run: () => Promise.reject(new Error("LICENSE is missing")) },
      { name: "notes", run: () => Promise.resolve("4 lines") },
    ],
    (line) => lines.push(line.replace(/ \([\d.]+ s\)$/, "")),
  );
  expect(counts).toEqual({ passed: 2, failed: 1, notRun: 1 });
  expect(lines).toEqual([
    "ok       chart        3 objects",
    "not run  image        needs Docker",
    "FAILED   npm package  LICENSE is missing",
    "ok       notes        4 lines",
    "2 passed, 1 failed, 1 not run",
  ]);
});
