import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import { Reason } from "../api/constants.ts";
import { newProblem } from "../api/problems.ts";
import type { ProblemType } from "../api/problemTypes.ts";
import { explainCondition, findMostRelevantCondition, REASON_WORDS } from "./conditionAdvice.ts";

const EXTENSION = createExtension("hello", { packageName: "hello-operator" });

test.for(Object.values(Reason))("explainCondition explains reason %s", (reason) => {
  const { means, next } = explainCondition(EXTENSION, { reason });
  expect(means).toMatch(/^[A-Zs].*\.$/);
  expect([means, ...next].join("\n")).not.toMatch(/[{](name|namespace|account)[}]/);
  expect(Object.hasOwn(REASON_WORDS, reason)).toBe(true);
});

const failing = (...types: ProblemType[]) => ({
  ...EXTENSION,
  status: { problems: types.map((type) => newProblem(type, { message: "m" })) },
});

test.for<[type: ProblemType, want: string]>([
  ["MissingPermissions", "ServiceAccount hello-system/hello-installer lacks permissions"],
  ["NamespaceNotFound", "once you create it"],
  ["ServiceAccountNotFound", "ServiceAccount hello-system/hello-installer does not exist"],
  ["ServiceAccountNotSet", "has no ServiceAccount"],
  ["AmbiguousCatalogs", "with the same priority"],
  ["BundleNotFound", "olmv1 resolve hello --explain"],
  ["CRDUpgradeUnsafe", "docs/how-to/crd-upgrades.md"],
  ["ImageRejected", "signature policy"],
  ["QuotaExceeded", "kubectl -n hello-system describe resourcequota"],
  ["ReconcileFailed", "The last attempt failed"],
])("explainCondition explains problem %s when a reconcile is retried", ([type, want]) => {
  const { means, next } = explainCondition(failing(type), { reason: "Retrying" });
  expect([means, ...next].join("\n")).toContain(want);
});

test("explainCondition explains the reason when only warnings are reported", () => {
  const warning = newProblem("MissingPermissions", { message: "m", severity: "Warning" });
  const { means } = explainCondition({ ...EXTENSION, status: { problems: [warning] } }, { reason: "Retrying" });
  expect(means).toContain("The last attempt failed");
});

test("explainCondition ignores problems when the reason is not a failure", () => {
  expect(explainCondition(failing("MissingPermissions"), { reason: "Succeeded" }).means).toBe("No problems found.");
});

test("explainCondition returns an empty explanation when the reason is unknown", () => {
  expect(explainCondition(EXTENSION, { reason: "Strange" })).toEqual({ means: "", next: [] });
});

const condition = (type: string, status: "True" | "False", reason: string) => ({
  type,
  status,
  reason,
  message: "",
  lastTransitionTime: "",
});

test.for([
  ["all conditions are as desired", [condition("Progressing", "True", "Succeeded"), condition("Ready", "True", "Succeeded")], "Ready"],
  ["a reconcile is retried", [condition("Progressing", "True", "Retrying"), condition("Available", "True", "Healthy")], "Progressing"],
  ["an object is unhealthy", [condition("Progressing", "True", "Succeeded"), condition("Available", "False", "Unhealthy")], "Available"],
  ["there are no conditions", [], undefined],
] as const)("findMostRelevantCondition returns the condition to show when %s", ([, conditions, want]) => {
  expect(findMostRelevantCondition(conditions)?.type).toBe(want);
});
