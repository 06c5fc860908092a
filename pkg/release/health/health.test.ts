import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { computeHealth, hasHealth } from "./health.ts";
import type { Health } from "./healthState.ts";

interface HealthCase extends CaseHead {
  given: KubeObject;
  now?: string;
  want: Partial<Health>;
}

test.for(loadCases<HealthCase>("health"))("$name", ({ given, now = "2026-01-02T00:00:00Z", want }) => {
  const got = computeHealth(given, Date.parse(now));
  expect(got).toMatchObject(want);
  if (got.state !== "healthy") expect(got.message).not.toBe("");
});

const of = (apiVersion: string, kind: string, more: object = {}): KubeObject => ({ apiVersion, kind, metadata: { name: "a" }, ...more });

test.for<[KubeObject, boolean]>([
  [of("apps/v1", "Deployment"), true],
  [of("apiextensions.k8s.io/v1", "CustomResourceDefinition"), true],
  [of("v1", "PersistentVolumeClaim"), true],
  [of("example.com/v1", "Database"), true],
  [of("cert-manager.io/v1", "Certificate"), true],
  [of("v1", "Service", { spec: { type: "LoadBalancer" } }), true],
  [of("v1", "Service", { spec: { type: "ClusterIP" } }), false],
  [of("v1", "ConfigMap"), false],
  [of("v1", "ServiceAccount"), false],
  [of("rbac.authorization.k8s.io/v1", "ClusterRole"), false],
  [of("networking.k8s.io/v1", "NetworkPolicy"), false],
  [of("console.openshift.io/v1", "ConsolePlugin"), false],
  [of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"), false],
  [of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", { metadata: { name: "a", annotations: { b: "c" } } }), false],
  [
    of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {
      metadata: { name: "a", annotations: { "cert-manager.io/inject-ca-from": "ns/c" } },
    }),
    true,
  ],
])("hasHealth is true only for kinds that can be unhealthy: %j", ([object, want]) => {
  expect(hasHealth(object)).toBe(want);
});

test("computeHealth truncates a long message, and returns it on one line", () => {
  const conditions = [{ type: "Ready", status: "False", reason: "No", message: `first\n\tsecond ${"x".repeat(50_000)}` }];
  const { message } = computeHealth(of("example.com/v1", "A", { status: { conditions } }), 0);
  expect(message).toMatch(/^condition Ready is False \(No: first second x+…$/);
  expect(message.length).toBe(1_024);
});
