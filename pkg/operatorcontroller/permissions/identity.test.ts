import { afterEach, expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { type Answer, LoopbackApi, statusAnswer } from "../../../test/support/loopbackApi.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ExtensionPermissions } from "../../api/extensionPermissions.ts";
import { getProblems } from "../../errors/errors.ts";
import { Client } from "../../kube/client.ts";
import { ServiceAccountTokens } from "../../kube/tokens.ts";
import { Identities, ServiceAccountMissing } from "./identity.ts";
import { ManagedPermissions, type ManagedPermissionsMode } from "./managedPermissions.ts";

const TOKEN = "/api/v1/namespaces/x-system/serviceaccounts/x-installer/token";
const NAMESPACE = "/api/v1/namespaces/x-system";
const CORE = { resources: [{ name: "namespaces", kind: "Namespace", namespaced: false, verbs: ["get"] }] };
const VALIDATION = "operation cannot proceed due to the following validation error(s): ";
const X = createExtension("x", { packageName: "p" });
const signal = new AbortController().signal;

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function start(
  responses: Record<string, Answer>,
  mode: ManagedPermissionsMode = "off",
  find: (name: string) => ExtensionPermissions | undefined = () => undefined,
) {
  let minted = 0;
  const mint = (): Answer => ({ json: { status: { token: `t${++minted}`, expirationTimestamp: "2100-01-01T00:00:00Z" } } });
  const api = await LoopbackApi.start(
    ({ url }) => responses[url] ?? (url === "/api/v1" ? { json: CORE } : url.endsWith("/token") ? mint() : {}),
  );
  const client = Client.of(api.credentials());
  open.push(
    () => client.close(),
    () => api[Symbol.asyncDispose](),
  );
  return {
    api,
    client,
    identities: new Identities(client, new ServiceAccountTokens(client), new ManagedPermissions({ client, mode, find })),
  };
}

const noAccount = statusAnswer(404, "NotFound", 'serviceaccounts "x-installer" not found');
const noNamespace = statusAnswer(404, "NotFound", 'namespaces "x-system" not found', { name: "x-system", kind: "namespaces" });
const forbidden = statusAnswer(403, "Forbidden", 'serviceaccounts "x-installer" is forbidden');
const notFound = `${VALIDATION}service account "x-installer" not found in namespace "x-system"`;

test.for<[why: string, responses: Record<string, Answer>, missing: boolean, message: string, problem?: string]>([
  ["the account does not exist", { [TOKEN]: noAccount }, true, notFound, "ServiceAccountNotFound"],
  ["the namespace does not exist", { [TOKEN]: noNamespace }, true, notFound, "NamespaceNotFound"],
  [
    "permissions in a namespace that does not exist are missing",
    { [TOKEN]: forbidden, [NAMESPACE]: noNamespace },
    true,
    notFound,
    "NamespaceNotFound",
  ],
  [
    "the permission to create tokens is missing",
    { [TOKEN]: forbidden, [NAMESPACE]: { json: { metadata: { name: "x-system" } } } },
    false,
    `${VALIDATION}operator-controller is not allowed to create serviceaccounts/token "x-installer" in namespace "x-system"`,
    "TokenDenied",
  ],
  [
    "the permissions to create tokens and to read namespaces are missing",
    { [TOKEN]: forbidden, [NAMESPACE]: forbidden },
    false,
    `${VALIDATION}operator-controller is not allowed to create serviceaccounts/token "x-installer" in namespace "x-system"`,
    "TokenDenied",
  ],
  ["the API server fails", { [TOKEN]: statusAnswer(500, "InternalError", "etcd is gone") }, false, "etcd is gone"],
])("Identities.clientFor explains the failure when %s", async ([, responses, missing, message, problem]) => {
  const { identities } = await start(responses);
  const err: unknown = await identities.clientFor(X, signal).catch((thrown: unknown) => thrown);
  expect(err).toMatchObject({ message });
  expect(err instanceof ServiceAccountMissing).toBe(missing);
  expect(getProblems(err).map(({ type }) => type)).toEqual(problem === undefined ? [] : [problem]);
});

test.for([{}, { serviceAccount: undefined }, { serviceAccount: {} }])(
  "Identities.clientFor without a ServiceAccount fails if the fallback is deny, and otherwise returns the controller's client: %o",
  async (part) => {
    const extension = { ...X, spec: { ...X.spec, serviceAccount: undefined, ...part } } as ClusterExtension;
    const denied = await start({});
    await expect(denied.identities.clientFor(extension, signal)).rejects.toMatchObject({
      reason: "Blocked",
      retry: false,
      message: `${VALIDATION}spec.serviceAccount.name is empty`,
      problems: [
        { type: "ServiceAccountNotSet", next: expect.stringContaining("olmv1 rbac --namespace x-system --service-account NAME BUNDLE") },
      ],
    });
    expect(denied.api.log).toEqual([]);
  },
);

test("Identities.clientFor returns the same client again, and extensions share the token of a ServiceAccount until the last of them is deleted", async () => {
  const { identities, api } = await start({});
  const other = { ...X, metadata: { ...X.metadata, name: "other" } };
  const client = await identities.clientFor(X, signal);
  await client.raw("GET", "/whoami");
  expect(api.requests.at(-1)?.headers.authorization).toBe("Bearer t1");
  expect(await identities.clientFor(X, signal)).toBe(client);
  await identities.clientFor(other, signal);
  identities.forget("x");
  await (await identities.clientFor(other, signal)).raw("GET", "/whoami");
  expect(api.requests.at(-1)?.headers.authorization).toBe("Bearer t1");
  identities.forget("other");
  await (await identities.clientFor(X, signal)).raw("GET", "/whoami");
  expect(api.requests.at(-1)?.headers.authorization).toBe("Bearer t2");
});

test("Identities.clientFor returns another client when the ServiceAccount in spec changes", async () => {
  const { identities, api } = await start({});
  await identities.clientFor(X, signal);
  const changed = { ...X, spec: { ...X.spec, serviceAccount: { name: "second" } } };
  await (await identities.clientFor(changed, signal)).raw("GET", "/whoami");
  expect(api.requests.at(-1)?.headers.authorization).toBe("Bearer t2");
  expect(api.log).toContain(`POST ${TOKEN.replace("x-installer", "second")}`);
});

test("Identities.clientFor does not wait for a token when the signal aborts", async () => {
  const { identities } = await start({ [TOKEN]: () => undefined });
  const stop = new AbortController();
  const waiting = identities.clientFor(X, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
});

test("ServiceAccountMissing is over when the namespace exists, if the token request was denied", async () => {
  const responses: Record<string, Answer> = { [TOKEN]: forbidden, [NAMESPACE]: noNamespace };
  const { identities } = await start(responses);
  const err: unknown = await identities.clientFor(X, signal).catch((thrown: unknown) => thrown);
  const { isOver } = err as ServiceAccountMissing;
  expect(await isOver(signal)).toBe(false);
  responses[NAMESPACE] = { json: { metadata: { name: "x-system" } } };
  expect(await isOver(signal)).toBe(true);
});

test("ServiceAccountMissing is over when the token request succeeds or fails with another error", async () => {
  const responses: Record<string, Answer> = { [TOKEN]: noNamespace };
  const { identities, api } = await start(responses);
  const err: unknown = await identities.clientFor(X, signal).catch((thrown: unknown) => thrown);
  const { isOver } = err as ServiceAccountMissing;
  const before = api.requests.length;
  expect([await isOver(signal), api.requests.length]).toEqual([false, before + 1]);
  responses[TOKEN] = noAccount;
  expect(await isOver(signal)).toBe(true);
  delete responses[TOKEN];
  expect(await isOver(signal)).toBe(true);
});

test("a client of Identities.clientFor gets the identity of a managed ServiceAccount that is created later", async () => {
  const { namespace: _, serviceAccount: __, ...spec } = X.spec;
  const extension = { ...X, metadata: { ...X.metadata, uid: "1" }, spec } as ClusterExtension;
  const ownerReferences = [{ apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "x", uid: "1" }];
  let permissions: ExtensionPermissions | undefined;
  const { identities, api } = await start({}, "on", () => permissions);
  const client = await identities.clientFor(extension, signal);
  await expect(client.raw("GET", "/whoami")).rejects.toThrow("waiting for permission-manager to create the ServiceAccount");
  permissions = {
    apiVersion: "olm.operatorframework.io/v1alpha1",
    kind: "ExtensionPermissions",
    metadata: { name: "x", ownerReferences },
    status: { namespace: "x-system", serviceAccount: "olmv1-extension-x" },
  };
  await client.raw("GET", "/whoami");
  expect(api.log.some((line) => line.includes("/namespaces/x-system/serviceaccounts/olmv1-extension-x/token"))).toBe(true);
  expect(api.requests.at(-1)?.headers.authorization).toBe("Bearer t1");
});
