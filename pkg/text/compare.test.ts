import { expect, test } from "vitest";
import { compareText, compareUtf8, findSimilarName } from "./compare.ts";

const NAMES = ["deploymentConfig", "deploymentConfigs", "env", "envFrom", "watchNamespace", "watchNamespaces"];

test.for<[written: string, meant: string | undefined]>([
  ["watchNamespace", "watchNamespace"],
  ["WATCHNAMESPACE", "watchNamespace"],
  ["watchNamepsace", "watchNamespace"],
  ["watchNamspace", "watchNamespace"],
  ["watchNamespacess", "watchNamespaces"],
  ["deploymentCfg", undefined],
  ["envs", "env"],
  ["enb", "env"],
  ["ev", undefined],
  ["x", undefined],
  ["", undefined],
  ["x".repeat(100_000), undefined],
])("findSimilarName of $0 is $1", ([written, meant]) => {
  expect(findSimilarName(written, NAMES)).toBe(meant);
});

test("compareUtf8 orders a character outside of the basic plane last when compareText orders it first", () => {
  const [basic, beyond] = ["\uffee", "\u{1f600}"];
  expect(compareUtf8(basic, beyond)).toBeLessThan(0);
  expect(compareText(basic, beyond)).toBeGreaterThan(0);
});
