import { expect, test } from "vitest";
import { selectCases } from "./manyRuns.ts";

const CASES = ["a", "b", "c", "d", "e", "f", "g"];
const select = (env: Record<string, string>, cases = CASES): string[] => selectCases(cases, "cases of this test", env);

test("selectCases selects each case on one of three days, in their order", () => {
  expect([0, 1, 2].map((seed) => select({ OLMV1_TEST_SEED: String(seed) }))).toEqual([
    ["a", "d", "g"],
    ["b", "e"],
    ["c", "f"],
  ]);
});

test("selectCases selects all cases when OLMV1_TEST_ALL_RUNS is 1, and when there are few", () => {
  expect(select({ OLMV1_TEST_ALL_RUNS: "1", OLMV1_TEST_SEED: "1" })).toEqual(CASES);
  expect(select({ OLMV1_TEST_SEED: "1" }, CASES.slice(1))).toEqual(CASES.slice(1));
});
