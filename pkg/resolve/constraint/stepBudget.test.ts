import { expect, test } from "vitest";
import { StepBudget, StepLimitError } from "./stepBudget.ts";

test("StepBudget names the rule with the most steps in total when it is spent", () => {
  const budget = new StepBudget(100);
  const [one, other] = [[{ type: "a", value: 1 }], [{ type: "b", value: 2 }]];
  budget.charge({ rule: "cheap", bundle: "a.v1" }, one, 40);
  budget.charge({ rule: "costly", bundle: "b.v1" }, one, 30);
  budget.charge({ rule: "costly", bundle: "c.v1" }, other, 30);
  expect(budget.spent).toBe(100);
  const exceed = (): void => budget.charge({ rule: "cheap", bundle: "a.v1" }, other, 1);
  expect(exceed).toThrow(StepLimitError);
  expect(exceed).toThrow(
    'evaluating the CEL rules of the bundles takes more than 100 steps; the rule with the most steps: "costly" of bundle "b.v1"',
  );
});

test("StepBudget charges a rule once for each list of properties", () => {
  const budget = new StepBudget(100);
  const properties = [{ type: "a", value: 1 }];
  for (let i = 0; i < 5; i++) budget.charge({ rule: "r", bundle: `b${i}` }, properties, 60);
  expect(budget.spent).toBe(60);
  expect(() => budget.charge({ rule: "r", bundle: "b" }, [...properties], 60)).toThrow(StepLimitError);
});
