import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildClusterOperatorStatus, type OperatorInputs, type OperatorStatus } from "./clusterOperatorStatus.ts";
import { type NewOperatorCondition, readKeptConditions } from "./operatorConditions.ts";

const START = Date.parse("2026-01-02T03:04:05.000Z");
const at = (seconds: number): Date => new Date(START + seconds * 1_000);
const time = (seconds: number): string => at(seconds).toISOString().replace(".000", "");

const FINE: NewOperatorCondition[] = [
  { type: "InstalledOLMOperatorsUpgradeable", status: "True", reason: "", message: "" },
  { type: "ADegraded", status: "False", reason: "AsExpected", message: "" },
  { type: "AProgressing", status: "False", reason: "AsExpected", message: "Deployment is not progressing" },
  { type: "AAvailable", status: "True", reason: "AsExpected", message: "Deployment is available" },
];
const relatedObjects = [{ group: "", resource: "namespaces", name: "olmv1-system" }];

function inputs(parts: Partial<OperatorInputs> = {}): OperatorInputs {
  return { conditions: FINE, operatorVersion: "4.18.0", releaseVersion: "4.18.0", relatedObjects, ...parts };
}

/** Returns FINE with some conditions replaced by [status, reason, message]. */
function fineBut(changes: Record<string, [NewOperatorCondition["status"], string, string]>): NewOperatorCondition[] {
  return FINE.map((condition) => {
    const [status, reason, message] = changes[condition.type] ?? [condition.status, condition.reason, condition.message];
    return { type: condition.type, status, reason, message };
  });
}

/** Returns the condition of this type in a status. */
function conditionOf({ status }: OperatorStatus, type: string): Record<string, unknown> | undefined {
  return (status["conditions"] as Record<string, unknown>[]).find((condition) => condition["type"] === type);
}

describe("buildClusterOperatorStatus without a previous status", () => {
  const first = buildClusterOperatorStatus(undefined, inputs(), at(0));

  test("buildClusterOperatorStatus returns the five conditions, the version and the related objects", () => {
    expect(first.status).toMatchObject({ versions: [{ name: "operator", version: "4.18.0" }], relatedObjects });
    expect(first.status["conditions"]).toEqual([
      { type: "Degraded", status: "False", reason: "AsExpected", message: "All is well", lastTransitionTime: time(0) },
      {
        type: "Progressing",
        status: "False",
        reason: "AsExpected",
        message: "AProgressing: Deployment is not progressing",
        lastTransitionTime: time(0),
      },
      {
        type: "Available",
        status: "True",
        reason: "AsExpected",
        message: "AAvailable: Deployment is available",
        lastTransitionTime: time(0),
      },
      { type: "Upgradeable", status: "True", reason: "AsExpected", message: "All is well", lastTransitionTime: time(0) },
      { type: "EvaluationConditionsDetected", status: "Unknown", reason: "NoData", message: "", lastTransitionTime: time(0) },
    ]);
  });

  test("buildClusterOperatorStatus without a previous status reports all conditions and the version as changed", () => {
    expect(first.changed).toContain('Degraded set to False ("All is well"),Progressing set to False');
    expect(first.versionChanged).toEqual({ from: "", to: "4.18.0" });
    expect(first.nextCheckAfterMs).toBeUndefined();
  });

  test("buildClusterOperatorStatus reports no change for the same inputs", () => {
    const again = buildClusterOperatorStatus(structuredClone(first.status), inputs(), at(600));
    expect(again).toEqual({ status: first.status, changed: undefined, versionChanged: undefined, nextCheckAfterMs: undefined });
  });
});

describe("buildClusterOperatorStatus times", () => {
  const first = buildClusterOperatorStatus({}, inputs(), at(0)).status;

  test("buildClusterOperatorStatus updates lastTransitionTime only when the status of the condition changes", () => {
    const blocked = (message: string) =>
      inputs({ conditions: fineBut({ InstalledOLMOperatorsUpgradeable: ["False", "IncompatibleOperatorsInstalled", message] }) });
    const second = buildClusterOperatorStatus(first, blocked("one"), at(10));
    expect(conditionOf(second, "Upgradeable")).toEqual({
      type: "Upgradeable",
      status: "False",
      reason: "InstalledOLMOperators_IncompatibleOperatorsInstalled",
      message: "InstalledOLMOperatorsUpgradeable: one",
      lastTransitionTime: time(10),
    });
    expect(second.changed).toBe('Upgradeable changed from True to False ("InstalledOLMOperatorsUpgradeable: one")');
    const third = buildClusterOperatorStatus(second.status, blocked("two"), at(20));
    expect(conditionOf(third, "Upgradeable")).toMatchObject({ status: "False", lastTransitionTime: time(10) });
    expect(third.changed).toBe(
      'Upgradeable message changed from "InstalledOLMOperatorsUpgradeable: one" to "InstalledOLMOperatorsUpgradeable: two"',
    );
    const fourth = buildClusterOperatorStatus(third.status, inputs(), at(30));
    expect(conditionOf(fourth, "Upgradeable")).toMatchObject({ status: "True", message: "All is well", lastTransitionTime: time(30) });
  });

  test("buildClusterOperatorStatus continues the two minutes before Degraded after a restart", () => {
    const failing = inputs({ conditions: fineBut({ ADegraded: ["True", "SyncError", "x"] }) });
    const young = buildClusterOperatorStatus(first, failing, at(10));
    expect(conditionOf(young, "Degraded")).toMatchObject({ status: "False", message: "ADegraded: x" });
    expect(young.nextCheckAfterMs).toBe(120_001);
    const restarted = buildClusterOperatorStatus(JSON.parse(JSON.stringify(young.status)), failing, at(130));
    expect(conditionOf(restarted, "Degraded")).toMatchObject({ status: "False" });
    expect(restarted.changed).toBeUndefined();
    expect(restarted.nextCheckAfterMs).toBe(1);
    const old = buildClusterOperatorStatus(restarted.status, failing, at(131));
    expect(conditionOf(old, "Degraded")).toMatchObject({ status: "True", reason: "A_SyncError", lastTransitionTime: time(131) });
    expect(old.nextCheckAfterMs).toBeUndefined();
  });

  test("buildClusterOperatorStatus schedules the next check 15 minutes after the start of a rollout", () => {
    const rolling = inputs({ conditions: fineBut({ AProgressing: ["True", "Deploying", "Waiting"] }) });
    expect(buildClusterOperatorStatus(first, rolling, at(10)).nextCheckAfterMs).toBe(15 * 60_000 + 1);
  });
});

describe("buildClusterOperatorStatus during a cluster upgrade", () => {
  const old = buildClusterOperatorStatus({}, inputs({ operatorVersion: "4.18.0", releaseVersion: "4.18.0" }), at(0)).status;
  const newer = inputs({ operatorVersion: "4.19.0", releaseVersion: "4.19.0" });
  const first = buildClusterOperatorStatus(old, newer, at(10));

  test("buildClusterOperatorStatus sets Progressing to True for one update when the version changes", () => {
    expect(conditionOf(first, "Progressing")).toEqual({
      type: "Progressing",
      status: "True",
      reason: "UpgradeInProgress",
      message: "Progressing towards operator version 4.19.0",
      lastTransitionTime: time(10),
    });
    expect(first.versionChanged).toEqual({ from: "4.18.0", to: "4.19.0" });
    expect(first.changed).toContain(
      'status.versions changed from [{"name":"operator","version":"4.18.0"}] to [{"name":"operator","version":"4.19.0"}]',
    );
    expect(first.nextCheckAfterMs).toBe(1_000);
    const second = buildClusterOperatorStatus(first.status, newer, at(11));
    expect(conditionOf(second, "Progressing")).toMatchObject({ status: "False", reason: "AsExpected", lastTransitionTime: time(11) });
    expect(second.versionChanged).toBeUndefined();
  });

  test("buildClusterOperatorStatus keeps Progressing True while the old version runs", () => {
    const behind = inputs({ operatorVersion: "4.18.0", releaseVersion: "4.19.0" });
    const status = buildClusterOperatorStatus(buildClusterOperatorStatus(old, behind, at(10)).status, behind, at(500));
    expect(conditionOf(status, "Progressing")).toMatchObject({ reason: "UpgradeInProgress", lastTransitionTime: time(10) });
  });

  test.for([
    ["a first installation", {}, "4.19.0"],
    ["an empty list of versions", { versions: [] }, "4.19.0"],
    ["no release version", { versions: [{ name: "operator", version: "4.18.0" }] }, ""],
    [
      "the same version",
      {
        versions: [
          { name: "x", version: "1" },
          { name: "operator", version: "4.19.0" },
        ],
      },
      "4.19.0",
    ],
  ] as const)("buildClusterOperatorStatus does not set Progressing to True with %s", ([, before, releaseVersion]) => {
    expect(conditionOf(buildClusterOperatorStatus(before, inputs({ releaseVersion }), at(0)), "Progressing")).toMatchObject({
      status: "False",
    });
  });

  test("buildClusterOperatorStatus sets Progressing to True when the status contains only versions of other components", () => {
    const status = buildClusterOperatorStatus({ versions: [{ name: "operand", version: "4.19.0" }] }, newer, at(0));
    expect(conditionOf(status, "Progressing")).toMatchObject({ reason: "UpgradeInProgress" });
    expect(status.status["versions"]).toEqual([
      { name: "operator", version: "4.19.0" },
      { name: "operand", version: "4.19.0" },
    ]);
  });
});

test("buildClusterOperatorStatus sets all conditions to Unknown and keeps the other members when OLM is Unmanaged", () => {
  const managed = buildClusterOperatorStatus({}, inputs(), at(0)).status;
  const status = buildClusterOperatorStatus(managed, inputs({ unmanaged: true, releaseVersion: "5.0.0" }), at(10));
  for (const type of ["Degraded", "Progressing", "Available", "Upgradeable"])
    expect(conditionOf(status, type)).toEqual({ type, status: "Unknown", reason: "Unmanaged", message: "", lastTransitionTime: time(10) });
  const unknownBefore = conditionOf(status, "EvaluationConditionsDetected");
  expect(unknownBefore).toMatchObject({ status: "Unknown", reason: "Unmanaged", lastTransitionTime: time(0) });
  expect(status.status).toMatchObject({ versions: managed["versions"], relatedObjects });
});

test("buildClusterOperatorStatus keeps conditions and members that other controllers set", () => {
  const foreign = { type: "ManagementStateDegraded", status: "True", reason: "X", message: "x", lastTransitionTime: time(-9) };
  const before = { conditions: [foreign], versions: [{ name: "operand", version: "1" }], extension: { theirs: 1 }, future: { a: [1] } };
  const { status } = buildClusterOperatorStatus(before, inputs({ releaseVersion: undefined }), at(0));
  expect(status).toMatchObject({ future: { a: [1] }, extension: { theirs: 1 } });
  expect(status["conditions"]).toHaveLength(6);
  expect((status["conditions"] as object[])[0]).toEqual(foreign);
});

test("buildClusterOperatorStatus keeps versions when the running version is unknown", () => {
  const { status, versionChanged } = buildClusterOperatorStatus(
    { versions: [{ name: "operator", version: "4.17.0" }] },
    inputs({ operatorVersion: undefined, releaseVersion: undefined }),
    at(0),
  );
  expect(status["versions"]).toEqual([{ name: "operator", version: "4.17.0" }]);
  expect(versionChanged).toBeUndefined();
});

describe("malformed status of a ClusterOperator", () => {
  test("readKeptConditions skips malformed conditions", () => {
    const good = { type: "ADegraded", status: "True", reason: "X", message: "x", lastTransitionTime: time(-5) };
    const conditions = [null, 1, "x", [], {}, { ...good, type: 1 }, { ...good, status: "Maybe" }, { ...good, lastTransitionTime: "soon" }];
    expect(readKeptConditions({ extension: { conditions: [...conditions, good] } }, at(0))).toEqual([good]);
    expect(readKeptConditions({ extension: { conditions: [{ ...good, reason: 1, message: null }] } }, at(0))).toEqual([
      { ...good, reason: "", message: "" },
    ]);
  });

  test("buildClusterOperatorStatus replaces times in the future", () => {
    const future = { type: "ADegraded", status: "True", reason: "SyncError", message: "x", lastTransitionTime: "9999-01-01T00:00:00Z" };
    const failing = inputs({ conditions: fineBut({ ADegraded: ["True", "SyncError", "x"] }) });
    const young = buildClusterOperatorStatus({ extension: { conditions: [future] } }, failing, at(0));
    expect(young.nextCheckAfterMs).toBe(120_001);
    expect(conditionOf(buildClusterOperatorStatus(young.status, failing, at(121)), "Degraded")).toMatchObject({ status: "True" });
  });

  test("buildClusterOperatorStatus repairs any malformed status with one write", () => {
    const member = fc.jsonValue();
    const garbage = fc.oneof(
      fc.jsonValue(),
      fc.record({ conditions: member, versions: member, relatedObjects: member, extension: member }),
    );
    fc.assert(
      fc.property(garbage, (before) => {
        const first = buildClusterOperatorStatus(before, inputs({ releaseVersion: undefined }), at(0));
        const second = buildClusterOperatorStatus(first.status, inputs({ releaseVersion: undefined }), at(1));
        expect(second.changed).toBeUndefined();
        expect(conditionOf(first, "Available")).toMatchObject({ status: "True" });
      }),
    );
  });
});
