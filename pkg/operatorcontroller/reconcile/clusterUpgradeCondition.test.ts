import { expect, test } from "vitest";
import { newProblem } from "../../api/problems.ts";
import { readRemedy } from "./clusterUpgradeCondition.ts";

const LIFTS = 'version 1.1.0 of catalog "x" allows the cluster upgrade';
const blocked = (details: { target?: string; remedy?: string }) => ({
  problems: [newProblem("ClusterUpgradeBlocked", { message: "m", details: { bundles: ["a.v1"], ...details } })],
});

test.for<[details: { target?: string; remedy?: string }, text: string, isNext: boolean, want: string | undefined]>([
  [{ target: "4.19" }, "4.19", true, undefined],
  [{ target: "4.19", remedy: LIFTS }, "4.19", true, LIFTS],
  [{ target: "4.19", remedy: LIFTS }, "4.19", false, LIFTS],
  [{ target: "4.19", remedy: LIFTS }, "4.20", true, undefined],
  [{ remedy: LIFTS }, "4.19", true, LIFTS],
  [{ remedy: LIFTS }, "4.20", false, undefined],
])("readRemedy of %j for target %s (next minor version: %s) returns %j", ([details, text, isNext, want]) => {
  expect(readRemedy(blocked(details), { text, isNext })).toBe(want);
});

test("readRemedy returns undefined when the status does not report a blocked cluster upgrade", () => {
  expect(readRemedy({ problems: [newProblem("Suspended", { message: "m" })] }, { text: "4.19", isNext: true })).toBeUndefined();
  expect(readRemedy(undefined, { text: "4.19", isNext: true })).toBeUndefined();
});
