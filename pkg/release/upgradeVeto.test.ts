import { expect, test } from "vitest";
import { OPERATOR_CONDITION, type OperatorConditionObject, type ReportedCondition } from "../api/operatorCondition.ts";
import { isVeto, readUpgradeable } from "./upgradeVeto.ts";

interface Given {
  overrides?: unknown;
  conditions?: unknown;
  status?: unknown;
}

function build({ overrides, conditions, status }: Given): OperatorConditionObject {
  return {
    ...OPERATOR_CONDITION,
    metadata: { name: "p.v1", namespace: "ns", generation: 3 },
    spec: { overrides, conditions } as OperatorConditionObject["spec"] & object,
    status: { conditions: status } as OperatorConditionObject["status"] & object,
  };
}

const upgradeable = (status: string, parts: ReportedCondition = {}): ReportedCondition => ({
  type: "Upgradeable",
  status,
  reason: "Migrating",
  message: "wait",
  ...parts,
});
const CURRENT = { observedGeneration: 3 };

// Source: D-35; operator-lifecycle-manager 992bb0977 pkg/controller/operators/olm/operatorconditions.go.
test.for<[why: string, given: Given, veto: boolean | undefined]>([
  ["it contains nothing", {}, undefined],
  ["it contains other conditions", { conditions: [{ type: "Degraded", status: "False" }] }, undefined],
  ["the operator sets False", { conditions: [upgradeable("False")] }, true],
  ["the operator sets False for an older generation in the spec", { conditions: [upgradeable("False", { observedGeneration: 1 })] }, true],
  ["the operator sets True", { conditions: [upgradeable("True")] }, false],
  ["the operator sets Unknown", { conditions: [upgradeable("Unknown")] }, false],
  ["an override is True and the operator sets False", { overrides: [upgradeable("True")], conditions: [upgradeable("False")] }, false],
  ["an override is False and the operator sets True", { overrides: [upgradeable("False")], conditions: [upgradeable("True")] }, true],
  ["an override is Unknown", { overrides: [upgradeable("Unknown")] }, true],
  ["the current status is False", { status: [upgradeable("False", CURRENT)] }, true],
  ["the status is False for an older generation", { status: [upgradeable("False", { observedGeneration: 2 })] }, undefined],
  ["the status is False without generation", { status: [upgradeable("False")] }, undefined],
  [
    "the spec is True and the current status is False",
    { conditions: [upgradeable("True")], status: [upgradeable("False", CURRENT)] },
    false,
  ],
  ["members have the wrong type", { overrides: "x", conditions: [null, 5, upgradeable("Maybe")], status: { a: 1 } }, undefined],
])("readUpgradeable reports whether the upgrade is held when %s", ([, given, veto]) => {
  const report = readUpgradeable(build(given));
  expect(report && isVeto(report)).toBe(veto);
});

test("readUpgradeable bounds texts and escapes control characters when the operator writes hostile ones", () => {
  const hostile = upgradeable("False", { reason: `R\u001B[31m${"r".repeat(2_000)}`, message: `a\nb\u202E${"m".repeat(40_000)}` });
  const { reason = "", message = "" } = readUpgradeable(build({ conditions: [hostile] })) ?? {};
  expect([reason.length, message.length]).toEqual([128, 512]);
  expect(reason).toMatch(/^R\\u\{1b\}\[31mr+…$/);
  expect(message).toMatch(/^a b\\u\{202e\}m+…$/);
});
