import { expect, test } from "vitest";
import { extensionNamed } from "../../test/support/extensions.ts";
import { Reason } from "../api/constants.ts";
import { explainCondition, mostRelevantCondition, REASON_WORDS } from "./conditionAdvice.ts";

const EXTENSION = extensionNamed("hello", { packageName: "hello-operator" });

test.for(Object.values(Reason))("reason %s is explained", (reason) => {
  const { means, next } = explainCondition(EXTENSION, { reason, message: "" });
  expect(means).toMatch(/^[A-Zs].*\.$/);
  expect([means, ...next].join("\n")).not.toMatch(/[{](name|namespace|account)[}]/);
  expect(Object.hasOwn(REASON_WORDS, reason)).toBe(true);
});

test.for([
  [
    "pre-authorization failed: service account requires …; print the exact roles: olmv1 rbac x",
    "ServiceAccount hello-system/hello-installer lacks rights",
  ],
  ['namespace "hello-system" does not exist', "kubectl create namespace hello-system"],
  ['service account "hello-installer" not found in namespace "hello-system"', "ServiceAccount hello-system/hello-installer does not exist"],
  ['found bundles for package "p" in multiple catalogs with the same priority [a b]', "none comes before the others"],
  ['no bundles found for package "hello-operator" matching version "9"', "olmv1 resolve hello --explain"],
  ['validating upgrade for CRD "x": existingFieldRemoval: removed field', "may not be replaced"],
  ["Source image rejected: no signature", "signature policy"],
  ["exceeded quota: q, requested: configmaps=3", "kubectl -n hello-system describe resourcequota"],
  ["connection refused", "tried again by itself"],
] as const)("of what is tried again the message tells more: %s", ([message, want]) => {
  const { means, next } = explainCondition(EXTENSION, { reason: "Retrying", message });
  expect([means, ...next].join("\n")).toContain(want);
});

test("a reason of somebody else's speaks for itself", () => {
  expect(explainCondition(EXTENSION, { reason: "Strange", message: "no bundles found for package" })).toEqual({ means: "", next: [] });
});

const condition = (type: string, status: "True" | "False", reason: string) => ({
  type,
  status,
  reason,
  message: "",
  lastTransitionTime: "",
});

test.for([
  ["everything is well", [condition("Progressing", "True", "Succeeded"), condition("Ready", "True", "Succeeded")], "Ready"],
  ["something is under way", [condition("Progressing", "True", "Retrying"), condition("Available", "True", "Healthy")], "Progressing"],
  ["it does not work", [condition("Progressing", "True", "Succeeded"), condition("Available", "False", "Unhealthy")], "Available"],
  ["nobody has looked yet", [], undefined],
] as const)("what tells most when %s", ([, conditions, want]) => {
  expect(mostRelevantCondition(conditions)?.type).toBe(want);
});
