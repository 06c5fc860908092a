import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { ExtensionPlan } from "../../consoleapi/plan.ts";
import type { PlanView } from "../../preview/extensionPlan.ts";
import type { SourceChange } from "../../rollout/sourceChange.ts";
import { readTriedPlan } from "./planActions.ts";
import { buildExtensionPlan, buildStatusPlan } from "./planView.ts";

const NOW = "2026-01-02T03:04:05Z";
const FIELDS = [
  { path: "spec.replicas", before: "1", after: "2" },
  { path: 'metadata.labels["olm.operatorframework.io/bundle-version"]', before: '"1"', after: '"2"' },
];
const PLAN: PlanView = {
  formatVersion: 1,
  extension: "postgres",
  exists: true,
  installed: { bundle: "postgres.v1.0.0", version: "1.0.0", revision: 3 },
  bundle: { name: "postgres.v1.1.0", version: "1.1.0", image: "quay.io/x", catalog: "community" },
  explanation: "highest of 2 versions",
  unavailableCatalogs: [],
  counts: { create: 0, update: 1, delete: 0, unchanged: 4 },
  objects: [
    {
      action: "Update",
      apiVersion: "apps/v1",
      kind: "Deployment",
      namespace: "a",
      name: "b",
      widens: false,
      refused: false,
      changes: FIELDS,
      more: 0,
    },
  ],
  findings: [],
  warnings: [],
  notes: [],
  digest: "sha256:1",
  approval: { needed: true, given: false },
};
const BASE = createExtension("postgres", { packageName: "postgres", version: "1.x" });
const WAITING = { plan: { digest: "sha256:1", bundle: { name: "b", version: "1.1.0" }, create: 0, update: 1, delete: 0, unchanged: 4 } };
const EXTENSION: ClusterExtension = { ...BASE, spec: { ...BASE.spec, approval: "Manual" }, status: WAITING };

function build(
  plan: Partial<PlanView> = {},
  extension: Partial<ClusterExtension> = {},
  { isOtherOlm = false, ...change }: SourceChange & { readonly isOtherOlm?: boolean } = {},
): ExtensionPlan {
  const given = { ...EXTENSION, ...extension };
  const view = buildExtensionPlan({ ...PLAN, ...plan }, given, readTriedPlan(given, change, isOtherOlm).choice, NOW);
  return ExtensionPlan.parse(view);
}

test("buildExtensionPlan shows the support of the planned bundle", () => {
  const support = { state: "Ended", endDate: "2025-12-31", platform: "Unknown" } as const;
  expect(build({ bundle: { ...PLAN.bundle, support } }).support).toEqual({ text: "Support ended on 2025-12-31.", mood: "warning" });
  expect(build().support).toBeUndefined();
});

test("buildExtensionPlan marks labels and annotations that do not affect the operator", () => {
  const [object] = build().objects;
  expect(object?.fields.map(({ path, isMinor }) => [path, isMinor])).toEqual([
    ["spec.replicas", false],
    ['metadata.labels["olm.operatorframework.io/bundle-version"]', true],
  ]);
});

test.for<[text: string, mood: string, plan: Partial<PlanView>]>([
  ["The controller carries out this plan after your approval.", "warning", {}],
  ["The controller would carry out this plan.", "good", { approval: { needed: false, given: false } }],
  ["Nothing would change.", "good", { counts: { create: 0, update: 0, delete: 0, unchanged: 5 } }],
  ["The controller would reject this plan: 1 error.", "bad", { findings: [{ kind: "quota", text: "exceeded quota" }] }],
])("buildExtensionPlan says: %s", ([text, mood, plan]) => {
  expect(build(plan).verdict).toEqual({ text, mood });
});

test("buildExtensionPlan lists missing permissions and definitions before other errors", () => {
  const findings: PlanView["findings"] = [
    { kind: "dryRun", text: "denied" },
    { kind: "crdUpgrade", text: "field removed" },
    { kind: "permissions", text: "lacks", permissions: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }], grant: "olmv1 rbac x" },
  ];
  expect(build({ findings }).findings).toMatchObject([
    {
      title: "Missing permissions",
      rules: { count: 1, scopes: [{ namespace: "", rules: [{ text: "get pods: all" }] }] },
      grant: { command: "olmv1 rbac x" },
    },
    { title: "Unsafe change of a CustomResourceDefinition", isDefinition: true },
    { title: "Rejected by the API server", isDefinition: false },
  ]);
});

test("buildExtensionPlan reports the missing permissions of the extension's own ServiceAccount from the status", () => {
  const problems = [
    { type: "MissingPermissions", severity: "Error" as const, message: "ServiceAccount a lacks permissions", next: "olmv1 rbac x" },
  ];
  const own = { spec: { ...EXTENSION.spec, serviceAccount: { name: "a" } }, status: { problems } };
  expect(build({}, own)).toMatchObject({
    verdict: { mood: "bad" },
    findings: [{ title: "Missing permissions", grant: { command: "olmv1 rbac x" } }],
  });
  const tried = build({}, own, { version: "2.x" });
  expect([tried.findings, tried.notes]).toEqual([[], [expect.stringContaining("is not checked")]]);
});

test("buildExtensionPlan offers to approve exactly the plan that waits", () => {
  expect(build().accept?.request).toEqual({ action: "approvePlan", extension: "postgres", digest: "sha256:1" });
  expect(build({ digest: "sha256:2" }).accept).toBeUndefined();
  expect(build({ digest: "sha256:2" }).approval.map(({ text }) => text)).toContainEqual(expect.stringContaining("another digest"));
  expect(build({ approval: { needed: true, given: true } }).accept).toBeUndefined();
});

test("buildExtensionPlan offers to change to a chosen version, and approves its plan with the change", () => {
  const { accept, reject, command } = build({}, {}, { version: "1.1.0", channels: ["fast"] });
  expect(accept?.request).toEqual({
    action: "changeSource",
    extension: "postgres",
    version: "1.1.0",
    channels: ["fast"],
    digest: "sha256:1",
  });
  expect([reject, command]).toEqual([[], "olmv1 plan postgres --version 1.1.0 --channel fast"]);
});

test("buildExtensionPlan offers honest ways to reject a plan", () => {
  expect(build().reject.map(({ request }) => request)).toEqual([
    { action: "changeSource", extension: "postgres", version: "1.x, !=1.1.0" },
    { action: "changeSource", extension: "postgres", version: "1.0.0" },
    { action: "suspend", extension: "postgres" },
  ]);
  const catalog = { packageName: "postgres", version: "1.x || 2.x" };
  const source = { sourceType: "Catalog" as const, catalog };
  expect(build({}, { spec: { ...EXTENSION.spec, source } }).reject.map(({ label }) => label)).toEqual([
    "Stay on version 1.0.0",
    "Suspend the extension",
  ]);
  expect(build({ counts: { create: 0, update: 0, delete: 0, unchanged: 1 } }).reject).toEqual([]);
});

test("buildExtensionPlan names who approved the plan and who changed the spec", () => {
  const entry = (manager: string, fieldsV1: object, time: string) => ({ manager, operation: "Update", time, fieldsV1 });
  const managedFields = [
    entry("kubectl-edit", { "f:spec": { "f:approval": {} } }, "2026-01-01T00:00:00Z"),
    entry("olmv1-console", { "f:metadata": { "f:annotations": { "f:olm.operatorframework.io/approve": {} } } }, "2026-01-02T00:00:00Z"),
  ];
  expect(build({ approval: { needed: true, given: true } }, { metadata: { name: "postgres", managedFields } }).approval).toEqual([
    { text: "Approved by olmv1-console", time: "2026-01-02T00:00:00Z" },
    { text: "Spec changed by kubectl-edit", time: "2026-01-01T00:00:00Z" },
  ]);
});

test("buildExtensionPlan bounds objects and texts", () => {
  const objects = Array.from({ length: 1_500 }, (_, i) => ({ ...(PLAN.objects[0] as (typeof PLAN.objects)[number]), name: `n${i}` }));
  const { objects: shown, omittedObjects, findings } = build({ objects, findings: [{ kind: "read", text: "x".repeat(20_000) }] });
  expect([shown.length, omittedObjects, findings[0]?.text.length]).toEqual([1_000, 500, 8_000]);
});

test("buildStatusPlan shows the plan that waits to users who may not compute it", () => {
  const objects = [{ action: "Update" as const, kind: "Deployment", namespace: "a", name: "b", fields: ["spec.replicas"], widens: true }];
  const extension = { ...EXTENSION, status: { plan: { ...WAITING.plan, update: 3, objects } } };
  const { choice } = readTriedPlan(extension, {}, false);
  const plan = ExtensionPlan.parse(buildStatusPlan(extension, choice, "listing Secrets is forbidden", NOW));
  expect(plan).toMatchObject({
    accept: { request: { action: "approvePlan", digest: "sha256:1" } },
    objects: [{ action: "Update", widens: true, fields: [{ path: "spec.replicas" }], hasUnknownValues: true }],
    omittedObjects: 2,
    notice: expect.stringContaining("listing Secrets is forbidden"),
  });
  expect(buildStatusPlan({ ...EXTENSION, status: {} }, choice, "denied", NOW)).toBeUndefined();
});

test("buildExtensionPlan offers no suspension and no approval, and states the last error, when another OLM carries out the plan", () => {
  const conditions = [
    { type: "Installed", status: "False" as const, reason: "Failed", message: "No bundle installed", lastTransitionTime: "" },
    { type: "Progressing", status: "True" as const, reason: "Retrying", message: "roles is forbidden", lastTransitionTime: "" },
  ];
  const plan = build({ approval: { needed: false, given: false } }, { spec: BASE.spec, status: { conditions } }, { isOtherOlm: true });
  expect(plan).toMatchObject({
    verdict: { text: "The controller would reject this plan: 1 error." },
    findings: [{ title: "Last attempt of the controller", text: "roles is forbidden" }],
    approval: [{ text: "The OLM of this cluster has no approvals, so it carries out changes immediately." }],
  });
  expect(plan.reject.map(({ request }) => request.action)).not.toContain("suspend");
  expect(plan.notes).toContain("Another implementation of OLM v1 carries out the plan, so details may differ.");
  expect(plan).not.toHaveProperty("digest");
});
