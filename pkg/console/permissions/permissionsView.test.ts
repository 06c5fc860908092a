import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { ANNOTATION_APPROVE, EXTENSION_PERMISSIONS } from "../../api/constants.ts";
import type { ExtensionPermissions } from "../../api/extensionPermissions.ts";
import { ExtensionPermissionsView } from "../../consoleapi/permissions.ts";
import { rulesFromDetails } from "../../operatorcontroller/permissions/permissions.ts";
import { computeRulesDigest } from "../../permissions/grantPlan.ts";
import { buildPermissionsView } from "./permissionsView.ts";

const BASE = createExtension("mesh", { packageName: "mesh" });
const NO_RULES = { clusterRules: [], namespaceRules: new Map(), unknownKinds: [] };
const PENDING = [
  {
    apiGroups: ["rbac.authorization.k8s.io"],
    resources: ["clusterroles"],
    verbs: ["bind"],
    risk: "RoleEscalation",
    reason: "can grant any permission",
  },
  { apiGroups: [""], resources: ["pods"], verbs: ["get"], reason: "grant is Manual" },
];
const DIGEST = computeRulesDigest(rulesFromDetails(PENDING));

function build(extension: object, permissions?: Partial<ExtensionPermissions>): ExtensionPermissionsView {
  const given = { ...BASE, ...extension };
  const view = permissions && {
    permissions: { ...EXTENSION_PERMISSIONS, metadata: { name: "mesh" }, ...permissions },
    extension: given,
    rules: NO_RULES,
  };
  return ExtensionPermissionsView.parse(buildPermissionsView(given, view, "olmv1-system"));
}

test("buildPermissionsView offers to approve exactly the rules that wait, with their risks first", () => {
  const status = {
    state: "Pending" as const,
    namespace: "mesh",
    serviceAccount: "olmv1-extension-mesh",
    pending: PENDING,
    pendingDigest: DIGEST,
  };
  expect(build({ spec: { ...BASE.spec, serviceAccount: undefined } }, { status })).toMatchObject({
    account: "mesh/olmv1-extension-mesh",
    managed: {
      state: { text: "Pending", mood: "warning" },
      pending: {
        count: 2,
        scopes: [
          { rules: [{ risk: { name: "RoleEscalation", level: "RootEquivalent" } }, { text: "get pods: all", note: "grant is Manual" }] },
        ],
      },
      approve: { request: { action: "approvePermissions", extension: "mesh", digest: DIGEST } },
    },
  });
});

test("buildPermissionsView shows rules that wait completely, however long they are, because the user approves all of each", () => {
  const resourceNames = Array.from({ length: 1_000 }, (_, i) => `secret-${i}`);
  const pending = [{ apiGroups: [""], resources: ["secrets"], resourceNames, verbs: ["get"], reason: "grant is Manual" }];
  const { managed } = build({}, { status: { state: "Pending", pending, pendingDigest: computeRulesDigest(rulesFromDetails(pending)) } });
  expect(managed?.pending.scopes[0]?.rules[0]?.text).toBe(`get secrets: ${resourceNames.join(", ")}`);
  expect(managed).toHaveProperty("approve");
});

test("buildPermissionsView names the command instead of offering the approval when the status does not list all rules that wait", () => {
  const status = { state: "Pending" as const, pending: PENDING.slice(1), pendingDigest: DIGEST };
  const { managed } = build({}, { status });
  expect(managed).not.toHaveProperty("approve");
  expect(managed?.approvalNote).toMatch(
    new RegExp(`^The status does not list all rules .* olmv1 permissions approve mesh --digest ${DIGEST}\\.$`),
  );
});

test("buildPermissionsView offers to revoke an approval only when there is one", () => {
  const status = { state: "Granted" as const };
  expect(build({}, { status }).managed?.revoke).toBeUndefined();
  const metadata = { name: "mesh", annotations: { [ANNOTATION_APPROVE]: "sha256:1" } };
  expect(build({}, { status, metadata }).managed?.revoke?.request).toEqual({ action: "revokePermissions", extension: "mesh" });
});

test("buildPermissionsView shows what the ServiceAccount of the user lacks", () => {
  const details = { permissions: [{ namespace: "shop", apiGroups: ["apps"], resources: ["deployments"], verbs: ["patch"] }] };
  const problems = [{ type: "MissingPermissions", severity: "Error" as const, message: "lacks", next: "olmv1 rbac x", details }];
  const own = { spec: { ...BASE.spec, serviceAccount: { name: "installer" } } };
  expect(build({ ...own, status: { problems } }).own).toMatchObject({
    missing: { scopes: [{ namespace: "shop", rules: [{ text: "patch deployments.apps: all" }] }] },
    grant: { command: "olmv1 rbac x" },
  });
  expect(build(own).own).toEqual({});
});

test("buildPermissionsView says that nothing is requested yet without a ServiceAccount and without ExtensionPermissions", () => {
  const { managed, own, note } = build({ spec: { ...BASE.spec, serviceAccount: undefined } });
  expect([managed, own, note]).toEqual([undefined, undefined, expect.stringContaining("not requested")]);
});

test("buildPermissionsView says that missing permissions are not reported when the Go implementation wrote the status", () => {
  const conditions = [{ type: "Installed", status: "True" as const, reason: "Succeeded", message: "", lastTransitionTime: "" }];
  expect(build({ status: { conditions } }).own).toEqual({
    note: "Missing permissions are not reported by this OLM, except in the messages of conditions.",
  });
  const { serviceAccount: _, ...spec } = BASE.spec;
  expect(build({ spec, status: { conditions } }).note).toContain("with the controller's own permissions");
});
