import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import type { Condition } from "../../api/k8s.ts";
import { remedyInCondition } from "./clusterUpgradeCondition.ts";

const TOO_LOW = 'bundle "a.v1" (version 1.0.0) states olm.maxOpenShiftVersion 4.18, which keeps the cluster from being upgraded to 4.19';
const ENOUGH = 'bundle "a.v0" (version 0.9.0) states olm.maxOpenShiftVersion 4.19: the cluster may be upgraded to 4.19';
const WRONG =
  'error(s) with cluster extension a: error in bundle a.v1: error converting to semver for version "v1": invalid version format';
const LIFTS = 'version 1.1.0 of catalog "x" lifts the block';
const NONE = 'no newer version in catalog "x" lifts the block; uninstall the extension to upgrade the cluster';

const condition = (message: string, status: Condition["status"] = "True"): Condition[] => [
  { type: "ClusterUpgradeBlocked", status, reason: "Reason", message, lastTransitionTime: "2026-01-01T00:00:00Z" },
];

test.for<[message: string, text: string, isNext: boolean, remedy: string | undefined]>([
  [TOO_LOW, "4.19", true, undefined],
  [`${TOO_LOW}; ${LIFTS}`, "4.19", true, LIFTS],
  [`${TOO_LOW}; ${LIFTS}`, "4.19", false, LIFTS],
  [`${TOO_LOW}; ${LIFTS}`, "4.20", true, undefined],
  [`${TOO_LOW}; ${NONE}`, "4.19", true, NONE],
  [`${TOO_LOW}; ${ENOUGH}; ${LIFTS}`, "4.19", true, LIFTS],
  [`${ENOUGH}; ${TOO_LOW}; ${LIFTS}`, "4.19", true, LIFTS],
  [`${ENOUGH}; ${TOO_LOW}`, "4.19", true, undefined],
  [`${WRONG}; ${LIFTS}`, "4.19", true, LIFTS],
  [`${WRONG}; ${LIFTS}`, "4.20", false, undefined],
  ["", "4.19", true, undefined],
])("%j says of %s (the next one: %s): %j", ([message, text, isNext, remedy]) => {
  expect(remedyInCondition(condition(message), { text, isNext })).toBe(remedy);
});

test("a condition that is not True has no remedy, and none has none", () => {
  expect(remedyInCondition(condition(`${TOO_LOW}; ${LIFTS}`, "False"), { text: "4.19", isNext: true })).toBeUndefined();
  expect(remedyInCondition(undefined, { text: "4.19", isNext: true })).toBeUndefined();
});

test("every message that a pass writes is taken apart at the right place", () => {
  const cases = loadCases<CaseHead & { want: Record<string, [Condition["status"], string, string]> }>("status");
  const conditions = cases.flatMap(({ want }) => (want["ClusterUpgradeBlocked"] ? [want["ClusterUpgradeBlocked"]] : []));
  const messages = conditions.flatMap(([status, , message]) => (status === "True" ? [message] : []));
  const remedies = messages.flatMap((message) => {
    const text = /being upgraded to (\d+\.\d+)/.exec(message)?.[1] ?? "4.19";
    return remedyInCondition(condition(message), { text, isNext: true }) ?? [];
  });
  expect(remedies).toEqual([
    'version 1.1.0 of catalog "c" lifts the block',
    'version 1.1.0 of catalog "c" would lift the block, but spec.source.catalog.version "1.0.x" excludes it',
    'version 1.1.0 of catalog "c" lifts the block',
    "before",
  ]);
});
