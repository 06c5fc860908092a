import { expect, test } from "vitest";
import { MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { buildVetoCondition, type OperatorVeto } from "./vetoCondition.ts";

const REPORT = { by: "operator", status: "False", reason: "Migrating", message: "data is moving" } as const;
const veto = (extension: string, report: OperatorVeto["report"] = REPORT): OperatorVeto => ({
  extension,
  namespace: `${extension}-system`,
  name: `${extension}.v1`,
  report,
});
const FALSE = { type: "OperatorConditionsUpgradeable", status: "False", reason: "OperatorsNotUpgradeable" };

test("buildVetoCondition is True when all operators allow an upgrade", () => {
  expect(buildVetoCondition([])).toEqual({ type: "OperatorConditionsUpgradeable", status: "True", reason: "AsExpected", message: "" });
});

test("buildVetoCondition is False when OperatorConditions cannot be read", () => {
  expect(buildVetoCondition([], "connect ECONNREFUSED")).toEqual({
    ...FALSE,
    reason: "OperatorConditionsUnknown",
    message: "cannot read whether the installed operators allow an upgrade: connect ECONNREFUSED",
  });
  expect(buildVetoCondition([veto("a")], "connect ECONNREFUSED")).toMatchObject({
    ...FALSE,
    message: expect.stringContaining("data is moving"),
  });
});

test("buildVetoCondition lists each veto with its reason, sorted", () => {
  const bare = { by: "override", status: "Unknown", reason: "", message: "" } as const;
  const { extension: _, ...foreign } = veto("c");
  expect(buildVetoCondition([veto("b"), foreign, veto("a", bare)])).toEqual({
    ...FALSE,
    message: [
      'ClusterExtension "a": an administrator overrides condition Upgradeable in OperatorCondition "a-system/a.v1"',
      'ClusterExtension "b": the installed operator sets condition Upgradeable in OperatorCondition "b-system/b.v1": Migrating: data is moving',
      'the installed operator sets condition Upgradeable in OperatorCondition "c-system/c.v1": Migrating: data is moving',
    ].join("\n"),
  });
});

test("buildVetoCondition is bounded when many operators have long messages", () => {
  const long = { ...REPORT, reason: "r".repeat(128), message: "m".repeat(512) };
  const { message } = buildVetoCondition(Array.from({ length: 300 }, (_, i) => veto(`x${String(i).padStart(3, "0")}`, long)));
  expect(message).toMatch(/\nand 280 more OperatorConditions$/);
  expect(Buffer.byteLength(message)).toBeLessThan(MESSAGE_MAX_BYTES);
});
