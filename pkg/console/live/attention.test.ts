import { expect, test } from "vitest";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension, ClusterExtensionStatus } from "../../api/clusterExtension.ts";
import type { Condition } from "../../api/k8s.ts";
import { findCatalogAttention, findExtensionAttention, listExtensionFindings } from "./attention.ts";

function condition(type: string, status: "True" | "False" | "Unknown", reason: string, message = ""): Condition {
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: "2026-01-01T00:00:00Z" };
}

function extension(status: ClusterExtensionStatus, change: Partial<ClusterExtension["spec"]> = {}): ClusterExtension {
  return {
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterExtension",
    metadata: { name: "argocd", generation: 1 },
    spec: { namespace: "argocd", source: { sourceType: "Catalog", catalog: { packageName: "argocd-operator" } }, ...change },
    status,
  };
}

const READY = condition("Ready", "True", "Healthy");
const SUCCEEDED = condition("Progressing", "True", "Succeeded");
const problem = (severity: "Error" | "Warning" | "Info", message: string, next?: string) => ({
  type: "QuotaExceeded",
  severity,
  message,
  ...(next === undefined ? {} : { next }),
});
const BLOCKED = "info BlockedUpdate Version 2.1.0 is blocked: out of range";
const plan = { digest: "d", bundle: { name: "argocd.v2", version: "2.0.0" }, create: 0, update: 1, delete: 0, unchanged: 0 };

test.each([
  { what: "nothing is wrong", status: { conditions: [READY, SUCCEEDED] }, expected: undefined },
  {
    what: "an Error has a next step",
    status: {
      conditions: [condition("Ready", "False", "Retrying")],
      problems: [problem("Info", "i"), problem("Error", "no room\nmore", "ask for room")],
    },
    expected: { severity: "error", sentence: "no room", next: expect.arrayContaining([{ text: "Ask for room." }]) },
  },
  {
    what: "the bundle is unhealthy and no problem is reported",
    status: { conditions: [condition("Ready", "False", "Unhealthy", "Deployment x: 0 of 1"), SUCCEEDED] },
    expected: {
      severity: "error",
      sentence: expect.stringContaining("does not work"),
      next: expect.arrayContaining([{ command: "olmv1 tree argocd" }]),
      tab: "objects",
    },
  },
  {
    what: "a plan waits for approval",
    status: { conditions: [READY, condition("Progressing", "True", "AwaitingApproval")], plan },
    expected: {
      severity: "info",
      sentence: "Bundle argocd.v2 (version 2.0.0) waits for your approval.",
      next: [{ command: "olmv1 approve argocd" }],
      tab: "plan",
    },
  },
  {
    what: "a Warning is reported",
    status: { conditions: [READY, SUCCEEDED], problems: [problem("Warning", "it is risky")] },
    expected: { severity: "warning", sentence: "it is risky", next: [{ command: "kubectl -n argocd describe resourcequota" }] },
  },
  {
    what: "an Error is reported while a plan waits for approval",
    status: {
      conditions: [condition("Ready", "False", "AwaitingApproval"), condition("Progressing", "False", "AwaitingApproval")],
      problems: [{ ...problem("Error", "Deployment x: 0 of 1"), type: "Unhealthy" }],
      plan,
    },
    expected: {
      severity: "error",
      sentence: "Deployment x: 0 of 1",
      next: [{ command: "olmv1 tree argocd" }, { command: "olmv1 rollback argocd", note: "if it worked before an upgrade" }],
      tab: "objects",
    },
  },
  {
    what: "the package is deprecated",
    status: { conditions: [READY, SUCCEEDED, condition("Deprecated", "True", "Deprecated", "use another one")] },
    expected: {
      severity: "warning",
      sentence: "use another one",
      next: [{ text: "Wait for a newer version in the catalog, or choose another package." }],
      tab: "why",
    },
  },
  {
    what: "a rule blocks a newer version",
    status: {
      conditions: [READY, SUCCEEDED],
      blockedUpdate: { version: "2.1.0", bundle: "argocd.v2.1.0", catalog: "c", reason: "UpgradeEdges", message: "no upgrade edge" },
    },
    expected: {
      severity: "info",
      sentence: "Version 2.1.0 is blocked: no upgrade edge",
      next: [{ command: "olmv1 why-not argocd 2.1.0" }],
      tab: "why",
    },
  },
])("findExtensionAttention reports the most severe reason when $what", ({ status, expected }) => {
  expect(findExtensionAttention(extension(status))).toEqual(expected);
});

test.each([
  { what: "nothing is wrong", status: { conditions: [READY, SUCCEEDED] }, expected: [] },
  {
    what: "the bundle is deprecated and a newer version is blocked",
    status: {
      conditions: [READY, SUCCEEDED, condition("Deprecated", "True", "Deprecated", "use another one")],
      blockedUpdate: { version: "2.1.0", bundle: "argocd.v2.1.0", catalog: "c", reason: "VersionRange", message: "out of range" },
      problems: [problem("Info", "i"), problem("Warning", "w"), problem("Error", "e")],
    },
    expected: ["error QuotaExceeded e", "warning QuotaExceeded w", "warning Deprecated use another one", BLOCKED, "note QuotaExceeded i"],
  },
  {
    what: "a plan waits for approval",
    status: { conditions: [READY], plan, problems: [{ ...problem("Info", "waiting to create 1 object"), type: "AwaitingApproval" }] },
    expected: ["info AwaitingApproval Bundle argocd.v2 (version 2.0.0) waits for your approval.\nWaiting to create 1 object."],
  },
  {
    what: "a problem reports the state",
    status: { conditions: [READY, SUCCEEDED], problems: [{ ...problem("Info", "spec.suspend is true"), type: "Suspended" }] },
    change: { suspend: true },
    expected: ["info Suspended spec.suspend is true"],
  },
  {
    what: "a problem reports the condition",
    status: {
      conditions: [READY, condition("ClusterUpgradeBlocked", "True", "IncompatibleOperatorInstalled", "m")],
      problems: [{ ...problem("Warning", "it blocks 4.20"), type: "ClusterUpgradeBlocked" }],
    },
    expected: ["warning ClusterUpgradeBlocked it blocks 4.20"],
  },
])("listExtensionFindings lists each reason once when $what", ({ status, change, expected }) => {
  const findings = listExtensionFindings(extension(status, change));
  expect(findings.map(({ severity, type, message }) => `${severity} ${type} ${message}`)).toEqual(expected);
});

function catalog(conditions: Condition[], change: Partial<NonNullable<ClusterCatalog["status"]>> = {}): ClusterCatalog {
  return {
    apiVersion: "olm.operatorframework.io/v1",
    kind: "ClusterCatalog",
    metadata: { name: "community", generation: 1 },
    spec: { source: { type: "Image", image: { ref: "quay.io/x/y:v1" } } },
    status: { conditions, ...change },
  };
}

const SERVING = condition("Serving", "True", "Available");

test.each([
  { what: "content is served", conditions: [SERVING, SUCCEEDED], expected: undefined },
  {
    what: "the image cannot be pulled and nothing is served",
    conditions: [condition("Serving", "False", "Unavailable"), condition("Progressing", "True", "Retrying", "manifest unknown")],
    change: { failure: { reason: "not_found" } },
    expected: {
      severity: "error",
      sentence: "manifest unknown",
      next: [{ text: "Check the image name and tag." }, { command: "kubectl describe clustercatalog community" }],
    },
  },
  {
    what: "a newer image cannot be pulled",
    conditions: [SERVING, condition("Progressing", "True", "Retrying", "manifest unknown")],
    expected: { severity: "warning", sentence: "manifest unknown", next: [{ command: "kubectl describe clustercatalog community" }] },
  },
  {
    what: "the content has errors",
    conditions: [SERVING, SUCCEEDED, condition("Valid", "False", "InvalidContent", "2 errors")],
    expected: { severity: "warning", sentence: "2 errors", next: [{ command: "kubectl describe clustercatalog community" }] },
  },
])("findCatalogAttention reports the most severe reason when $what", ({ conditions, change, expected }) => {
  expect(findCatalogAttention(catalog(conditions, change))).toEqual(expected);
});

test("findExtensionAttention states the message of the condition when the Go implementation wrote the status", () => {
  const message = 'no bundles found for package "argocd-operator" matching version "9.9.9"';
  const conditions = [
    condition("Installed", "False", "Failed", "No bundle installed"),
    condition("Progressing", "True", "Retrying", message),
  ];
  expect(findExtensionAttention(extension({ conditions }))).toMatchObject({ severity: "error", sentence: message });
});
