import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import type { Condition } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { listConditionViews } from "./conditionView.ts";

const condition = (type: string, status: Condition["status"], reason: string): Condition => ({
  type,
  status,
  reason,
  message: `${type} message`,
  lastTransitionTime: "",
});

function createFailing(conditions: Condition[], problems: ReturnType<typeof newProblem>[] = []): ClusterExtension {
  return { ...createExtension("a", { packageName: "a" }), status: { conditions, problems } };
}

test("listConditionViews omits the conditions that the summary contains", () => {
  const views = listConditionViews(createFailing([condition("Deprecated", "True", "Deprecated"), condition("Ready", "True", "Succeeded")]));
  expect(views).toEqual([
    { condition: condition("Ready", "True", "Succeeded"), mood: "good", details: { kind: "own", message: "Ready message" } },
  ]);
});

test("listConditionViews refers Ready to the condition with the same reason, which has the advice", () => {
  const views = listConditionViews(createFailing([condition("Available", "False", "Unhealthy"), condition("Ready", "False", "Unhealthy")]));
  expect(views.map(({ mood, details }) => [mood, details])).toEqual([
    ["bad", { kind: "own", message: "Available message", advice: expect.objectContaining({ next: expect.any(Array) }) }],
    ["bad", { kind: "condition", type: "Available" }],
  ]);
});

test("listConditionViews refers to the problems when permissions are missing", () => {
  const problem = newProblem("MissingPermissions", { message: "m" });
  const [view] = listConditionViews(createFailing([condition("Progressing", "True", "Retrying")], [problem]));
  expect(view).toMatchObject({ mood: "bad", details: { kind: "problems" } });
});
