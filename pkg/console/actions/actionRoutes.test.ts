import { expect, test } from "vitest";
import { ActionApi } from "../../../test/support/actionApi.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { statusAnswer } from "../../../test/support/loopbackApi.ts";
import type { ActionRequest } from "../../consoleapi/actions.ts";

const PATH = "/apis/olm.operatorframework.io/v1/clusterextensions/argocd";
const BASE = createExtension("argocd", { packageName: "argocd-operator" });
const EXTENSION = { ...BASE, metadata: { name: "argocd", uid: "u1", resourceVersion: "7", generation: 2 } };
const SUSPEND = { action: "suspend", extension: "argocd" } as const;
const BODY = '{"metadata":{"uid":"u1"},"spec":{"suspend":true}}';

async function startApi(options: { readOnly?: boolean } = {}, extension: object = EXTENSION): Promise<ActionApi> {
  const api = await ActionApi.start(options);
  api.objects.set(PATH, extension);
  return api;
}

test("run sends exactly the bytes that prepare returned, after a dry run with the same bytes", async () => {
  await using api = await startApi();
  const { id, requests, command } = await api.prepare(SUSPEND);
  const shown = { method: "PATCH", path: `${PATH}?fieldManager=olmv1-console`, contentType: "application/merge-patch+json", body: BODY };
  expect(requests).toEqual([
    { ...shown, description: "patch ClusterExtension argocd", dryRun: { isOk: true, message: expect.any(String), warnings: [] } },
  ]);
  expect(command).toBe(`kubectl patch clusterextension argocd --type merge -p '{"spec":{"suspend":true}}'`);
  expect(api.writes).toMatchObject([{ method: "PATCH", url: `${PATH}?fieldManager=olmv1-console&dryRun=All`, body: BODY }]);
  expect(await api.run({ id })).toEqual({
    status: 200,
    body: { isOk: true, results: [{ description: "patch ClusterExtension argocd", isOk: true, message: "unchanged" }] },
  });
  expect(api.sent).toMatchObject([{ method: shown.method, url: shown.path, body: BODY, headers: { "content-type": shown.contentType } }]);
});

/** The fields of ClusterExtensions as the API server publishes them. */
function publishFields(api: ActionApi, spec: object): void {
  const gvk = [{ group: "olm.operatorframework.io", version: "v1", kind: "ClusterExtension" }];
  const own = { "x-kubernetes-group-version-kind": gvk, properties: { spec: { properties: spec }, status: { properties: {} } } };
  api.objects.set("/openapi/v3/apis/olm.operatorframework.io/v1", { components: { schemas: { own } } });
}

test.for<[request: ActionRequest, field: string]>([
  [SUSPEND, "spec.suspend"],
  [{ action: "setDriftPolicy", extension: "argocd", policy: "Warn" }, "spec.drift"],
  [{ action: "rollBack", extension: "argocd", revision: 1 }, "status.lastHandledReconcileAt"],
  [{ action: "approvePlan", extension: "argocd", digest: "d" }, "status.plan"],
  [{ action: "uninstall", extension: "argocd", crdPolicy: "Retain" }, "spec.uninstall"],
])("prepare rejects %o when ClusterExtensions have no field %s", async ([request, field]) => {
  await using api = await startApi();
  publishFields(api, { source: {} });
  const message = `the OLM of this cluster does not support the change: its ClusterExtensions have no field ${field}`;
  expect(await api.post("/api/actions/prepare", request)).toMatchObject({ status: 400, body: { kind: "invalid", message } });
  expect(api.writes).toEqual([]);
});

test("prepare accepts an action when ClusterExtensions have its field", async () => {
  await using api = await startApi();
  publishFields(api, { suspend: {} });
  expect(await api.prepare(SUSPEND)).toMatchObject({ requests: [{ dryRun: { isOk: true } }] });
});

test("run returns the first result for the same key, and sends the requests once", async () => {
  await using api = await startApi();
  const { id } = await api.prepare(SUSPEND);
  const [first, second] = await Promise.all([api.run({ id }), api.run({ id })]);
  expect(second).toEqual(first);
  expect(await api.run({ id })).toEqual(first);
  expect(await api.run({ id, idempotencyKey: "another-key" })).toMatchObject({ status: 409, body: { kind: "conflict" } });
  expect(api.sent).toHaveLength(1);
});

test("run returns the failure of the first attempt for the same key, and does not repeat the request", async () => {
  await using api = await startApi();
  const { id } = await api.prepare(SUSPEND);
  api.answers.set(`PATCH ${PATH}`, statusAnswer(422, "Invalid", "spec.suspend is invalid"));
  expect(await api.run({ id })).toMatchObject({ body: { message: "spec.suspend is invalid" } });
  api.answers.clear();
  expect(await api.run({ id })).toMatchObject({ body: { message: "spec.suspend is invalid" } });
  expect(api.sent).toHaveLength(1);
});

test("run rejects the change of another user, and accepts another session of the same user", async () => {
  await using api = await startApi();
  const { id } = await api.prepare(SUSPEND, { user: "ann" });
  expect(await api.run({ id }, { user: "bob" })).toMatchObject({ status: 404, body: { kind: "notFound" } });
  expect(api.sent).toEqual([]);
  expect(await api.run({ id }, { user: "ann", token: "2" })).toMatchObject({ status: 200 });
  expect(api.sent).toMatchObject([{ headers: { authorization: "Bearer ann-2" } }]);
});

test("a read-only console rejects changes without dry runs, and never sends them", async () => {
  await using api = await startApi({ readOnly: true });
  const prepared = await api.prepare(SUSPEND);
  expect(prepared).toMatchObject({ id: "", rejected: expect.stringContaining("read-only"), requests: [{ body: BODY }] });
  expect(await api.run({ id: "any" })).toMatchObject({ status: 403, body: { kind: "forbidden" } });
  expect(api.writes).toEqual([]);
});

test("prepare reports the missing permission, and sends no dry run", async () => {
  await using api = await startApi();
  api.isDenied = ({ verb }) => verb === "patch";
  const missing = "patch clusterextensions.olm.operatorframework.io argocd";
  expect(await api.prepare(SUSPEND)).toMatchObject({ id: "", missing });
  expect(await api.get("/api/actions/access?action=suspend&extension=argocd")).toEqual({ missing });
  expect(await api.get("/api/actions/access?action=uninstall&extension=argocd")).toEqual({});
  expect(api.writes).toEqual([]);
});

test.for([
  ["the spec changed", { ...EXTENSION, metadata: { ...EXTENSION.metadata, generation: 3 } }],
  ["the extension was recreated", { ...EXTENSION, metadata: { ...EXTENSION.metadata, uid: "u2" } }],
] as const)("run reports a conflict and sends nothing when %s", async ([, changed]) => {
  await using api = await startApi();
  const { id } = await api.prepare(SUSPEND);
  api.objects.set(PATH, changed);
  expect(await api.run({ id })).toMatchObject({
    status: 409,
    body: { kind: "conflict", next: expect.stringContaining("open the dialog again") },
  });
  expect(api.sent).toEqual([]);
});

test("run reports a conflict when the API server does", async () => {
  await using api = await startApi();
  const { id } = await api.prepare(SUSPEND);
  api.answers.set(`PATCH ${PATH}`, statusAnswer(409, "Conflict", "uid mismatch"));
  expect(await api.run({ id })).toMatchObject({ status: 409, body: { kind: "conflict", message: "uid mismatch" } });
});

test("prepare reports why the API server would reject a request, and the change cannot be run", async () => {
  await using api = await startApi();
  api.answers.set(`PATCH ${PATH}`, statusAnswer(422, "Invalid", "denied by a policy"));
  const { id, requests } = await api.prepare(SUSPEND);
  expect(requests).toMatchObject([{ dryRun: { isOk: false, message: "denied by a policy" } }]);
  expect([id, await api.run({ id })]).toMatchObject(["", { status: 404, body: { kind: "notFound" } }]);
  expect(api.sent).toEqual([]);
});

test("prepare accepts a request that an admission webhook cannot try", async () => {
  await using api = await startApi();
  api.answers.set(`PATCH ${PATH}`, statusAnswer(400, "BadRequest", 'admission webhook "w.example.com" does not support dry run'));
  const { id, requests } = await api.prepare(SUSPEND);
  expect([id === "", requests[0]?.dryRun]).toEqual([false, undefined]);
});

test("prepare reports a conflict when another plan waits than the one that the user saw", async () => {
  await using api = await startApi(
    {},
    {
      ...EXTENSION,
      status: { plan: { digest: "sha256:2", bundle: { name: "b", version: "1" }, create: 0, update: 1, delete: 0, unchanged: 0 } },
    },
  );
  const seen = { action: "approvePlan", extension: "argocd", digest: "sha256:1" };
  expect(await api.post("/api/actions/prepare", seen)).toMatchObject({ status: 409, body: { kind: "conflict" } });
  const { requests } = await api.prepare({ action: "approvePlan", extension: "argocd", digest: "sha256:2" });
  expect(JSON.parse(requests[0]?.body ?? "")).toEqual({
    metadata: { uid: "u1", annotations: { "olm.operatorframework.io/approve": "sha256:2" } },
  });
});

test("an uninstall that deletes data needs the name of the extension", async () => {
  const inventory = {
    count: 1,
    objects: [{ group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition", name: "backups.example.com" }],
  };
  await using api = await startApi({}, { ...EXTENSION, status: { inventory } });
  api.answers.set(
    "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/backups.example.com",
    statusAnswer(403, "Forbidden", "denied"),
  );
  const prepared = await api.prepare({ action: "uninstall", extension: "argocd", crdPolicy: "Delete" });
  expect(prepared).toMatchObject({ confirmation: "argocd", isDanger: true, command: "olmv1 uninstall argocd --crd-policy Delete" });
  expect(prepared.requests.map(({ method, body }) => [method, body])).toEqual([
    ["PATCH", '{"metadata":{"uid":"u1"},"spec":{"uninstall":{"crdPolicy":"Delete"}}}'],
    ["DELETE", '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u1"}}'],
  ]);
  expect(api.writes.map(({ url, body }) => [url.includes("dryRun=All"), body.includes('"dryRun":["All"]')])).toEqual([
    [true, false],
    [true, true],
  ]);
  const { id } = prepared;
  expect(await api.run({ id })).toMatchObject({ status: 400, body: { kind: "invalid" } });
  expect(await api.run({ id, confirmation: "argo" })).toMatchObject({ status: 400 });
  expect(api.sent).toEqual([]);
  expect(await api.run({ id, confirmation: "argocd" })).toMatchObject({ status: 200, body: { isOk: true } });
  expect(api.sent.map(({ method }) => method)).toEqual(["PATCH", "DELETE"]);
});

const YAML = `apiVersion: v1
kind: ServiceAccount
metadata: { name: installer, namespace: argocd }
---
apiVersion: v1
kind: Namespace
metadata: { name: argocd }
`;

test("an apply sends the objects in their order, and does not try an object whose namespace does not exist yet", async () => {
  await using api = await startApi();
  const account = "PATCH /api/v1/namespaces/argocd/serviceaccounts/installer";
  api.answers.set(account, statusAnswer(404, "NotFound", 'namespaces "argocd" not found', { name: "argocd", kind: "namespaces" }));
  const { id, requests } = await api.prepare({ action: "apply", yaml: YAML });
  expect(requests.map(({ description, dryRun }) => [description, dryRun?.isOk])).toEqual([
    ["create Namespace argocd", true],
    ["create ServiceAccount argocd/installer", undefined],
  ]);
  expect(await api.run({ id })).toEqual({
    status: 200,
    body: {
      isOk: false,
      results: [
        { description: "create Namespace argocd", isOk: true, message: "done" },
        { description: "create ServiceAccount argocd/installer", isOk: false, message: 'namespaces "argocd" not found' },
      ],
    },
  });
});

test("an apply that other tools block offers to take over their fields", async () => {
  await using api = await startApi();
  const conflict = { causes: [{ reason: "FieldManagerConflict", message: 'conflict with "kubectl": .rules', field: ".rules" }] };
  api.answers.set("PATCH /api/v1/namespaces/argocd", statusAnswer(409, "Conflict", "Apply failed with 1 conflict", conflict));
  const yaml = "apiVersion: v1\nkind: Namespace\nmetadata: { name: argocd }";
  const { id, requests, alternative } = await api.prepare({ action: "apply", yaml });
  expect(id).toBe("");
  expect(requests[0]?.dryRun).toMatchObject({ isOk: false, hasFieldConflict: true });
  expect(alternative?.request).toEqual({ action: "apply", yaml, force: true });
  api.answers.clear();
  const forced = await api.prepare({ action: "apply", yaml, force: true });
  expect(forced).toMatchObject({ isDanger: true, requests: [{ path: "/api/v1/namespaces/argocd?fieldManager=olmv1-console&force=true" }] });
  expect(forced.alternative).toBeUndefined();
});

test("the audit log names objects, and never contains bodies", async () => {
  await using api = await startApi();
  const { id } = await api.prepare(SUSPEND);
  await api.run({ id });
  const [line = ""] = api.logged;
  expect(JSON.parse(line)).toMatchObject({
    msg: "change sent",
    user: "ann",
    requests: [`PATCH ${PATH}?fieldManager=olmv1-console`],
    isOk: true,
  });
  expect(line).not.toContain('suspend\\"');
});
