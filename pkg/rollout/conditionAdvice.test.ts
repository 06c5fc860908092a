import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtensionStatus } from "../api/clusterExtension.ts";
import { Reason } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
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

const condition = (type: string, status: "True" | "False", reason: string): Condition => ({
  type,
  status,
  reason,
  message: "",
  lastTransitionTime: "",
});
const deprecated = (type: string): Condition => ({ ...condition(type, "True", "Deprecated"), message: "m" });
const target = { version: "2.0.0", bundle: "hello.v2", catalog: "c", deprecated: false };

test.for<[what: string, status: ClusterExtensionStatus, next: RegExp[]]>([
  ["the package is deprecated", { conditions: [deprecated("PackageDeprecated")], availableUpdates: [] }, [/^install the package/]],
  ["the channel is deprecated", { conditions: [deprecated("ChannelDeprecated")], availableUpdates: [] }, [/^choose another channel/]],
  ["an update is available", { conditions: [deprecated("BundleDeprecated")], availableUpdates: [target] }, [/^olmv1 upgrade hello$/]],
  ["the update is blocked", { blockedUpdate: { ...target, reason: "Channels", message: "m" } }, [/^olmv1 why-not hello 2.0.0 /]],
  ["no newer version exists", { conditions: [deprecated("BundleDeprecated")], availableUpdates: [] }, [/^wait for a newer version/]],
])("explainCondition proposes only what helps against a deprecation when %s", ([, status, next]) => {
  expect(explainCondition({ ...EXTENSION, status }, { reason: "Deprecated" }).next).toEqual(next.map((one) => expect.stringMatching(one)));
});

test.for([
  [[], ["olmv1 cluster-upgrade-check"]],
  [[target], ["olmv1 cluster-upgrade-check", "olmv1 upgrade hello"]],
] as const)("explainCondition proposes the available updates %j for a blocked upgrade of the cluster", ([availableUpdates, next]) => {
  const status = { availableUpdates: [...availableUpdates] };
  expect(explainCondition({ ...EXTENSION, status }, { reason: "IncompatibleOperatorInstalled" }).next).toEqual(next);
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

test.for([
  ["all conditions are as desired", [condition("Progressing", "True", "Succeeded"), condition("Ready", "True", "Succeeded")], "Ready"],
  ["a reconcile is retried", [condition("Progressing", "True", "Retrying"), condition("Available", "True", "Healthy")], "Progressing"],
  ["an object is unhealthy", [condition("Progressing", "True", "Succeeded"), condition("Available", "False", "Unhealthy")], "Available"],
  ["there are no conditions", [], undefined],
] as const)("findMostRelevantCondition returns the condition to show when %s", ([, conditions, want]) => {
  expect(findMostRelevantCondition(conditions)?.type).toBe(want);
});
