import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterExtension } from "../../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_APPROVE, EXTENSION_PERMISSIONS } from "../../../../pkg/api/constants.ts";
import type { ExtensionPermissions } from "../../../../pkg/api/extensionPermissions.ts";
import { rulesFromDetails } from "../../../../pkg/operatorcontroller/permissions/permissions.ts";
import type { JudgedRule } from "../../../../pkg/permissions/judgePermissions.ts";
import { RISK_CLASSES } from "../../../../pkg/permissions/riskClasses.ts";
import type { PermissionPreview } from "../../../../pkg/preview/permissionPreview.ts";
import type { PolicyRule } from "../../../../pkg/rbac/policyRule.ts";
import { formatPreview } from "../permissionsText.ts";
import { formatPendingRules } from "./approve.ts";
import { formatPermissionsTable } from "./list.ts";
import { formatRevocation } from "./revoke.ts";
import { formatPermissions } from "./show.ts";

const GOLDENS = join(import.meta.dirname, "../../../../test/goldens/cli");
const NOW = Date.UTC(2026, 0, 10);
const RBAC = "rbac.authorization.k8s.io";
const MANAGE = ["create", "delete", "get", "list", "patch", "watch"];
const ESCALATE: PolicyRule = { apiGroups: [RBAC], resources: ["clusterroles"], verbs: ["bind", "escalate"] };
const SECRETS: PolicyRule = { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] };
const CONFIG: PolicyRule = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["argocd-cm"], verbs: MANAGE };
const BUNDLE = {
  catalog: "operatorhubio",
  packageName: "argocd-operator",
  name: "argocd-operator.v0.12.0",
  version: "0.12.0",
  image: "quay.io/argocd@sha256:1",
};
const PENDING: ExtensionPermissions = {
  ...EXTENSION_PERMISSIONS,
  metadata: { name: "argocd", creationTimestamp: "2026-01-08T00:00:00Z", annotations: { [ANNOTATION_APPROVE]: "sha256:0a1b" } },
  spec: { bundle: { ...BUNDLE, name: "argocd-operator.v0.13.0", version: "0.13.0" } },
  status: {
    state: "Pending",
    conditions: [
      {
        type: "Granted",
        status: "False",
        reason: "Pending",
        message: "bundle argocd-operator.v0.13.0: 1 permission rule must be approved",
        lastTransitionTime: "2026-01-09T00:00:00Z",
      },
    ],
    policy: "default",
    namespace: "argocd",
    serviceAccount: "olmv1-extension-argocd",
    access: "ReadOnly",
    bundle: BUNDLE,
    rules: [ESCALATE, SECRETS, { namespace: "argocd", ...CONFIG }],
    ruleCount: 3,
    broadCount: 2,
    pending: [{ ...ESCALATE, risk: "RoleEscalation", reason: "a holder can grant any permission: edit a role, or bind an existing one" }],
    denied: [{ namespace: "kube-system", ...SECRETS, reason: "deny[0] of the policy denies it" }],
    pendingDigest: "sha256:2c3d",
    history: [
      { time: "2026-01-09T12:00:00Z", reason: "Narrowed", bundle: "argocd-operator.v0.12.0", added: 0, removed: 2 },
      { time: "2026-01-08T00:00:00Z", reason: "Approved", bundle: "argocd-operator.v0.12.0", added: 5, removed: 0 },
    ],
  },
};
const REQUESTED: ExtensionPermissions = { ...EXTENSION_PERMISSIONS, metadata: { name: "new", creationTimestamp: "2026-01-09T23:59:50Z" } };
const GRANTED: ExtensionPermissions = {
  ...PENDING,
  metadata: { name: "a-very-long-name-of-an-extension-in-a-large-cluster", creationTimestamp: "2025-01-08T00:00:00Z" },
  status: { ...PENDING.status, state: "Granted", access: "Full" },
};
const EXTENSION = { metadata: { name: "argocd" }, spec: {}, status: {} } as unknown as ClusterExtension;
const RULES = rulesFromDetails([...(PENDING.status?.rules ?? [])]);
const risk = (name: string) => RISK_CLASSES.find((one) => one.name === name)!;
const judge = (outcome: JudgedRule["outcome"], rule: PolicyRule, parts: Partial<JudgedRule> = {}): JudgedRule => ({
  outcome,
  rule,
  namespace: "",
  field: "grant",
  ...parts,
});
const ADDED = [
  judge("Denied", SECRETS, { namespace: "kube-system", field: "deny[0]", risk: risk("Secrets") }),
  judge("Pending", ESCALATE, { risk: risk("RoleEscalation") }),
  judge("Granted", CONFIG, { namespace: "argocd" }),
];
const PREVIEW: PermissionPreview = {
  state: "Pending",
  judged: ADDED,
  added: ADDED.slice(1),
  removed: rulesFromDetails([{ namespace: "argocd", apiGroups: [""], resources: ["services"], resourceNames: ["old"], verbs: MANAGE }]),
  pending: ADDED.slice(1, 2),
  denied: [],
  pendingDigest: "sha256:2c3d",
  policy: { name: "default", spec: { grant: "Guarded" }, exists: false },
  account: { namespace: "argocd", name: "olmv1-extension-argocd" },
};

test.for<[name: string, format: (screen: { width: number; colour: boolean }) => string]>([
  ["permissions-list", (screen) => formatPermissionsTable(screen, [GRANTED, PENDING, REQUESTED], NOW)],
  [
    "permissions-show",
    (screen) => formatPermissions(screen, { permissions: PENDING, extension: EXTENSION, rules: RULES }, "olmv1-system", NOW),
  ],
  ["permissions-approve", (screen) => formatPendingRules(screen, PENDING, RULES)],
  ["permissions-revoke", (screen) => formatRevocation(screen, PENDING, ADDED.slice(1, 2))],
  [
    "permissions-diff",
    (screen) => {
      const denied: PermissionPreview = { ...PREVIEW, state: "Denied", added: ADDED, denied: ADDED.slice(0, 1) };
      const uncovered: PermissionPreview = { ...denied, problem: 'covers.packages does not contain "argocd-operator"' };
      return [PREVIEW, denied, uncovered].map((one) => `${formatPreview(screen, one, "argocd").join("\n")}\n`).join("--\n");
    },
  ],
])("the text equals golden file %s", async ([name, format]) => {
  const text = [80, 200].map((width) => `==== width ${width}\n${format({ width, colour: false })}`).join("\n");
  await expect(text).toMatchFileSnapshot(join(GOLDENS, `${name}.txt`));
});

test("formatRevocation describes what is unknown, and approvals without effect", () => {
  const screen = { width: 200 };
  expect(formatRevocation(screen, PENDING, undefined)).toContain("the extension loses the permissions that it only has by approval\n");
  expect(formatRevocation(screen, PENDING, [])).toContain("the extension has no permissions by approval\n");
});
