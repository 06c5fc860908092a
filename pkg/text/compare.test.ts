import { expect, test } from "vitest";
import { findSimilarName } from "./compare.ts";

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
