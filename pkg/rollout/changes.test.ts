import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { EXTENSION_PERMISSIONS } from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import { rulesFromDetails } from "../operatorcontroller/permissions/permissions.ts";
import { computeRulesDigest } from "../permissions/grantPlan.ts";
import {
  buildCatalogChange,
  buildCrdPolicyChange,
  buildDriftChange,
  buildPermissionsApproval,
  buildPinChange,
  buildPlanApproval,
  buildReconcileRequest,
  buildSuspension,
  checkPermissionsApproval,
  checkPlanApproval,
  hasApproval,
} from "./changes.ts";

const BASE = createExtension("a", { packageName: "a" });
const EXTENSION: ClusterExtension = { ...BASE, metadata: { name: "a", uid: "u" } };
const PLAN = { digest: "sha256:1", bundle: { name: "a.v1", version: "1.0.0" }, create: 1, update: 0, delete: 0, unchanged: 0 };
const REF = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "a" };
const SENT = { ref: REF, type: "merge", fieldManager: "olmv1" };

test("checkPlanApproval returns the digest of the plan that waits, unless the user saw another plan", () => {
  const waiting = { ...EXTENSION, status: { plan: PLAN } };
  expect(checkPlanApproval(waiting)).toEqual({ kind: "waiting", digest: "sha256:1" });
  expect(checkPlanApproval(waiting, "sha256:1")).toEqual({ kind: "waiting", digest: "sha256:1" });
  expect(checkPlanApproval(waiting, "sha256:2")).toEqual({
    kind: "otherPlan",
    message: "the pending plan has digest sha256:1, not sha256:2: see olmv1 describe a",
  });
});

test("checkPlanApproval explains why no plan waits", () => {
  const message = 'no plan of ClusterExtension "a" waits for approval';
  const manual: ClusterExtension = { ...EXTENSION, spec: { ...EXTENSION.spec, approval: "Manual" } };
  expect(checkPlanApproval(manual)).toEqual({ kind: "nothingWaits", message });
  expect(checkPlanApproval(EXTENSION)).toMatchObject({ message: expect.stringContaining(`${message}; spec.approval is not Manual`) });
});

test("buildPlanApproval and buildPinChange annotate the extension that the user saw", () => {
  expect(buildPlanApproval(EXTENSION, "sha256:1")).toEqual({
    ...SENT,
    body: { metadata: { uid: "u", annotations: { "olm.operatorframework.io/approve": "sha256:1" } } },
  });
  const pin = (value: string | null) => ({
    "olm.operatorframework.io/rollback-to": value,
    "olm.operatorframework.io/reconcile-requested-at": "now",
  });
  expect(buildPinChange(EXTENSION, 3, "now")).toEqual({ ...SENT, body: { metadata: { uid: "u", annotations: pin("3") } } });
  expect(buildPinChange(EXTENSION, null, "now").body).toEqual({ metadata: { uid: "u", annotations: pin(null) } });
});

test("buildCatalogChange changes only what differs, and approves the confirmed plan when approval is manual", () => {
  const create = (catalog: object, approval?: "Manual"): ClusterExtension => {
    const source = { sourceType: "Catalog" as const, catalog: { packageName: "a", ...catalog } };
    return { ...EXTENSION, spec: { ...EXTENSION.spec, source, ...(approval ? { approval } : {}) } };
  };
  expect(buildCatalogChange(create({ version: "1.x" }), create({ version: "2.x" }), "sha256:1")).toEqual({
    ...SENT,
    body: { metadata: { uid: "u" }, spec: { source: { catalog: { version: "2.x" } } } },
  });
  expect(buildCatalogChange(create({ version: "1.x" }, "Manual"), create({ channels: ["beta"] }), "sha256:1").body).toEqual({
    metadata: { uid: "u", annotations: { "olm.operatorframework.io/approve": "sha256:1" } },
    spec: { source: { catalog: { version: null, channels: ["beta"] } } },
  });
  expect(buildCatalogChange(create({}, "Manual"), create({ version: "2.x" }), null).body).toMatchObject({ metadata: { uid: "u" } });
});

test("buildCrdPolicyChange sets the policy", () => {
  expect(buildCrdPolicyChange(EXTENSION, "Retain")).toEqual({
    ...SENT,
    body: { metadata: { uid: "u" }, spec: { uninstall: { crdPolicy: "Retain" } } },
  });
});

test("buildSuspension, buildReconcileRequest and buildDriftChange change the extension that the user saw", () => {
  expect(buildSuspension(EXTENSION, true)).toEqual({ ...SENT, body: { metadata: { uid: "u" }, spec: { suspend: true } } });
  expect(buildReconcileRequest(EXTENSION, "now").body).toEqual({
    metadata: { uid: "u", annotations: { "olm.operatorframework.io/reconcile-requested-at": "now" } },
  });
  expect(buildDriftChange(EXTENSION, "Warn").body).toEqual({ metadata: { uid: "u" }, spec: { drift: { policy: "Warn" } } });
});

const RULE = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
const DIGEST = computeRulesDigest(rulesFromDetails([RULE]));

function createPermissions(status: ExtensionPermissions["status"]): ExtensionPermissions {
  const metadata = { name: "a", uid: "u", resourceVersion: "7" };
  return { ...EXTENSION_PERMISSIONS, metadata, ...(status ? { status } : {}) };
}

const WAITING = createPermissions({ state: "Pending", pendingDigest: DIGEST, pending: [{ ...RULE, reason: "broad" }] });
const INCOMPLETE = createPermissions({ state: "Pending", pendingDigest: DIGEST });

test.for<[what: string, permissions: ExtensionPermissions, seen: string | undefined, kind: string, text?: string]>([
  ["rules wait", WAITING, undefined, "waiting"],
  ["the rules that the user saw wait", WAITING, DIGEST, "waiting"],
  ["other rules wait", WAITING, "sha256:0", "otherRules", "not sha256:0"],
  ["the status omits rules", INCOMPLETE, undefined, "incomplete", "does not list all rules"],
  ["the status omits rules that the user saw elsewhere", INCOMPLETE, DIGEST, "waiting"],
  [
    "the status is missing",
    createPermissions(undefined),
    undefined,
    "nothingWaits",
    'no permissions of ClusterExtension "a" wait for approval',
  ],
  ["the policy denies the request", createPermissions({ state: "Denied" }), undefined, "nothingWaits", "the policy denies the request"],
  ["the request failed", createPermissions({ state: "Failed" }), undefined, "nothingWaits", "cannot be verified"],
])("checkPermissionsApproval returns the state when %s", ([, permissions, seen, kind, text = ""]) => {
  const check = checkPermissionsApproval(permissions, seen);
  expect(check.kind).toBe(kind);
  expect("message" in check ? check.message : check.digest).toContain(check.kind === "waiting" ? DIGEST : text);
});

test("buildPermissionsApproval sets or removes the approval of the object that was read", () => {
  const body = (digest: string | null) => ({
    metadata: { uid: "u", resourceVersion: "7", annotations: { "olm.operatorframework.io/approve": digest } },
  });
  const ref = { ...EXTENSION_PERMISSIONS, name: "a" };
  expect(buildPermissionsApproval(WAITING, DIGEST)).toEqual({ ...SENT, ref, body: body(DIGEST) });
  expect(buildPermissionsApproval(WAITING, null).body).toEqual(body(null));
  expect(hasApproval(WAITING)).toBe(false);
  expect(hasApproval({ metadata: { name: "a", annotations: { "olm.operatorframework.io/approve": DIGEST } } })).toBe(true);
});
