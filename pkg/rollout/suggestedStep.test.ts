import { expect, test } from "vitest";
import { parseSuggestedStep, parseSuggestedSteps } from "./suggestedStep.ts";

test.each([
  { step: "olmv1 tree kafka", expected: { command: "olmv1 tree kafka" } },
  { step: "olmv1 rbac BUNDLE | kubectl apply -f -", expected: { command: "olmv1 rbac BUNDLE | kubectl apply -f -" } },
  {
    step: "olmv1 rollback kafka   # if it worked before an upgrade",
    expected: { command: "olmv1 rollback kafka", note: "if it worked before an upgrade" },
  },
  { step: "check the image name and tag", expected: { text: "Check the image name and tag." } },
  { step: "list the errors with olmv1 catalog validate", expected: { text: "List the errors with olmv1 catalog validate." } },
  {
    step: "uninstall the dependents first, or uninstall anyway: kubectl annotate clusterextension x a=true",
    expected: { text: "Uninstall the dependents first, or uninstall anyway.", command: "kubectl annotate clusterextension x a=true" },
  },
])("parseSuggestedStep divides $step", ({ step, expected }) => {
  expect(parseSuggestedStep(step)).toEqual(expected);
});

test("parseSuggestedSteps keeps the first of several steps with the same command", () => {
  expect(parseSuggestedSteps(["or uninstall anyway: kubectl x", "kubectl x   # anyway", "wait for it", "wait for it"])).toEqual([
    { text: "Or uninstall anyway.", command: "kubectl x" },
    { text: "Wait for it." },
  ]);
});
