import { expect, test } from "vitest";
import { RecordedEvents, stepContext } from "../../test/support/extensionFakes.ts";
import { createExtension } from "../../test/support/extensions.ts";
import { EXTENSION_PERMISSIONS, FINALIZER_REVOKE_PERMISSIONS } from "../api/constants.ts";
import type { ExtensionPermissions, PermissionChange } from "../api/extensionPermissions.ts";
import type { KubeObject } from "../api/k8s.ts";
import { StatusWriter } from "../controller/statusWriter.ts";
import { mergeRequiredRules } from "../rbac/ruleSets.ts";
import { PermissionReconciler, type PermissionServices } from "./permissionReconciler.ts";
import { computePermissionEvents } from "./permissionStatus.ts";

const made = createExtension("x", { packageName: "p" });
const EXTENSION = { ...made, metadata: { ...made.metadata, uid: "u" } };
const CHANGE: PermissionChange = { time: "2026-01-01T00:00:00Z", reason: "Granted", bundle: "p.v1.0.0", added: 3, removed: 0 };

function newRequest(history: PermissionChange[]): ExtensionPermissions {
  const owner = { apiVersion: made.apiVersion, kind: made.kind, name: "x", uid: "u" };
  const metadata = { name: "x", uid: "r", generation: 1, ownerReferences: [owner], finalizers: [FINALIZER_REVOKE_PERMISSIONS] };
  return { ...EXTENSION_PERMISSIONS, metadata, spec: {}, status: { state: "Granted", conditions: [], history } };
}

test("PermissionReconciler keeps the last history of a request when its informer has not received the last status", async () => {
  const patches: unknown[] = [];
  const api = {
    get: <T extends KubeObject>() => Promise.resolve(newRequest([CHANGE]) as KubeObject as T),
    patch: <T extends KubeObject>(_ref: object, body: unknown) => {
      patches.push(body);
      return Promise.resolve(newRequest([]) as KubeObject as T);
    },
    delete: () => Promise.resolve(true),
  };
  const events = new RecordedEvents();
  const known = {
    permissions: { get: () => newRequest([]) },
    extensions: { get: () => EXTENSION },
    policies: { get: () => undefined },
    hasGrants: () => true,
  };
  const services: Partial<PermissionServices> = {
    api,
    known,
    ignoresServiceAccounts: true,
    writer: { read: () => Promise.resolve({ objects: [], rules: mergeRequiredRules([]) }) } as unknown as PermissionServices["writer"],
    admission: { check: () => Promise.reject(new Error("no policy")) },
    statuses: new StatusWriter({ client: api, events, describe: computePermissionEvents }),
    now: () => new Date("2026-01-02T00:00:00Z"),
  };
  const context = { ...stepContext(), reconcileID: "1" };
  await expect(new PermissionReconciler(services as PermissionServices).reconcile("x", context)).rejects.toThrow("no policy");
  expect(patches).toEqual([
    [expect.anything(), { op: "add", path: "/status", value: expect.objectContaining({ state: "Failed", history: [CHANGE] }) as unknown }],
  ]);
});
