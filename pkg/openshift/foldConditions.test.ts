import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { formatTime } from "../golang/time.ts";
import { computeMsUntilDegraded, foldConditions, type OperatorCondition } from "./operatorConditions.ts";

type Status = OperatorCondition["status"];

interface FoldCase extends CaseHead {
  conditions: [type: string, status: Status, reason: string, message: string, age: number][];
  folded: Record<string, [status: string, reason: string, message: string]>;
  untilDegraded?: number;
}

const now = new Date("2026-01-02T03:04:05.000Z");
const cases = loadCases<FoldCase>("gate").filter(({ folded }) => folded);

function agedBy(seconds: number): string {
  return formatTime(new Date(now.getTime() - seconds * 1_000));
}

test.for(cases)("$name", ({ conditions, folded, untilDegraded: until }) => {
  const given = conditions.map(([type, status, reason, message, age]) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: agedBy(age),
  }));
  const found = foldConditions(given, now);
  expect(found.map(({ type }) => type)).toEqual(["Degraded", "Progressing", "Available", "Upgradeable", "EvaluationConditionsDetected"]);
  const actual = Object.fromEntries(found.map(({ type, status, reason, message }) => [type, [status, reason, message]]));
  expect(actual).toMatchObject(folded);
  expect(computeMsUntilDegraded(given, now)).toBe(until);
});

test("foldConditions sets Degraded to True after the time that computeMsUntilDegraded returns", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 120 }), (age) => {
      const young: OperatorCondition = { type: "ADegraded", status: "True", reason: "", message: "", lastTransitionTime: agedBy(age) };
      const then = new Date(now.getTime() + (computeMsUntilDegraded([young], now) ?? Number.NaN));
      expect(foldConditions([young], now)[0]?.status).toBe("False");
      expect(foldConditions([young], then)[0]?.status).toBe("True");
      expect(computeMsUntilDegraded([young], then)).toBeUndefined();
    }),
  );
});

test("foldConditions truncates messages", () => {
  const long = Array.from({ length: 5_000 }, (_, i) => `line ${i}`).join("\n");
  const [degraded] = foldConditions(
    [{ type: "ADegraded", status: "True", reason: "X", message: long, lastTransitionTime: agedBy(500) }],
    now,
  );
  expect(Buffer.byteLength(degraded?.message ?? "")).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
});
