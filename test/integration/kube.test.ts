import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { Client } from "../../pkg/kube/client.ts";
import { isConflict, isForbidden, KindNotServed, KubeError } from "../../pkg/kube/errors.ts";
import { EventRecorder } from "../../pkg/kube/events.ts";
import type { WatchEvent } from "../../pkg/kube/request.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { describeWithCluster, eventually, type TestCluster } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const SERVICE_ACCOUNT = { apiVersion: "v1", kind: "ServiceAccount" };

const configMap = (namespace: string, name: string, data: Record<string, string> = {}): KubeObject => ({
  ...CONFIG_MAP,
  metadata: { name, namespace },
  data,
});
const thrownBy = (call: Promise<unknown>): Promise<unknown> => call.then(() => undefined).catch((err: unknown) => err);

/** Returns the user that the API server sees. */
async function whoAmI(client: Client): Promise<string> {
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const answer = (await client.raw("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)) as KubeObject;
  return (answer["status"] as { userInfo: { username: string } }).userInfo.username;
}

/** Creates a ServiceAccount with rules in its namespace, and a client with its identity. */
async function scopedClient(cluster: TestCluster, namespace: string, name: string, rules: object[] = []): Promise<Client> {
  const metadata = { name, namespace };
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1" };
  await cluster.client.create({ ...SERVICE_ACCOUNT, metadata });
  await cluster.client.create({ ...rbac, kind: "Role", metadata, rules });
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name };
  await cluster.client.create({ ...rbac, kind: "RoleBinding", metadata, subjects, roleRef });
  return cluster.client.withToken(new ServiceAccountTokens(cluster.client).tokenFor(namespace, name));
}

describeWithCluster("a client of the API server", (cluster) => {
  let namespace = "";
  beforeAll(async () => {
    namespace = await cluster.namespace("kube");
  });

  test("a client for a ServiceAccount acts as that ServiceAccount, although its parent has a client certificate", async () => {
    const scoped = await scopedClient(cluster, namespace, "installer");
    const admin = await whoAmI(cluster.client);
    expect(admin).not.toContain("serviceaccount");
    for (let i = 0; i < 3; i++) {
      expect(await whoAmI(scoped)).toBe(`system:serviceaccount:${namespace}:installer`);
      expect(await whoAmI(cluster.client)).toBe(admin);
    }
    const many = await Promise.all(Array.from({ length: 20 }, (_, i) => whoAmI(i % 2 ? scoped : cluster.client)));
    expect(new Set(many)).toEqual(new Set([admin, `system:serviceaccount:${namespace}:installer`]));
    expect(many.every((who, i) => (i % 2 === 0) === (who === admin))).toBe(true);
  });

  test("a client requests a new token when the API server rejects the token because its ServiceAccount was recreated", async () => {
    const name = "renewed";
    await cluster.client.create({ ...SERVICE_ACCOUNT, metadata: { name, namespace } });
    const source = new ServiceAccountTokens(cluster.client).tokenFor(namespace, name);
    const scoped = cluster.client.withToken(source);
    const first = await source();
    await whoAmI(scoped);
    await cluster.client.delete({ ...SERVICE_ACCOUNT, name, namespace });
    await cluster.client.create({ ...SERVICE_ACCOUNT, metadata: { name, namespace } });
    await eventually(async () => {
      expect(await whoAmI(scoped)).toBe(`system:serviceaccount:${namespace}:${name}`);
      expect(await source()).not.toBe(first);
    });
  });

  test("the error for a failed token request reports a missing ServiceAccount or namespace", async () => {
    const tokens = new ServiceAccountTokens(cluster.client);
    expect(await thrownBy(tokens.tokenFor(namespace, "nobody")())).toMatchObject({
      status: 404,
      message: 'serviceaccounts "nobody" not found',
    });
    const scoped = cluster.client.withToken(tokens.tokenFor(namespace, "nobody"));
    const err = await thrownBy(scoped.get({ ...CONFIG_MAP, name: "x", namespace }));
    expect(err).not.toBeInstanceOf(KubeError);
    expect(err).toMatchObject({ message: 'get a token: serviceaccounts "nobody" not found' });
  });

  test("a 403 error contains verb, resource, name and namespace", async () => {
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "patch", "create"] }];
    const scoped = await scopedClient(cluster, namespace, "lesser", rules);
    await eventually(() => scoped.apply(configMap(namespace, "allowed"), { fieldManager: "m" }));
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "denied", namespace } };
    const err = await thrownBy(scoped.apply(secret, { fieldManager: "m" }));
    const user = `system:serviceaccount:${namespace}:lesser`;
    const text = `secrets "denied" is forbidden: User "${user}" cannot patch resource "secrets" in API group "" in the namespace "${namespace}"`;
    expect([isForbidden(err), (err as Error).message]).toEqual([true, text]);
  });

  test("an apply that conflicts with another manager fails with 409 and the field, and force overrides the field", async () => {
    await cluster.client.apply(configMap(namespace, "shared", { a: "1" }), { fieldManager: "first" });
    const err = await thrownBy(cluster.client.apply(configMap(namespace, "shared", { a: "2" }), { fieldManager: "second" }));
    expect(isConflict(err)).toBe(true);
    expect((err as Error).message).toBe('Apply failed with 1 conflict: conflict with "first": .data.a');
    const dry = await cluster.client.apply(configMap(namespace, "shared", { a: "3" }), {
      fieldManager: "second",
      force: true,
      dryRun: true,
    });
    expect(dry["data"]).toEqual({ a: "3" });
    const forced = await cluster.client.apply(configMap(namespace, "shared", { a: "2" }), { fieldManager: "second", force: true });
    expect(forced["data"]).toEqual({ a: "2" });
    const again = await cluster.client.apply(configMap(namespace, "shared", { a: "2" }), { fieldManager: "second", force: true });
    expect(again.metadata.resourceVersion).toBe(forced.metadata.resourceVersion);
  });

  test("Client.replace with a stale resourceVersion and Client.delete with a wrong uid fail with 409", async () => {
    const created = await cluster.client.create(configMap(namespace, "versioned"));
    const ref = { ...CONFIG_MAP, name: "versioned", namespace };
    await cluster.client.patch(ref, { data: { a: "1" } }, { type: "merge" });
    expect(isConflict(await thrownBy(cluster.client.replace({ ...created, data: { b: "1" } })))).toBe(true);
    expect(isConflict(await thrownBy(cluster.client.delete(ref, { uid: "00000000-0000-0000-0000-000000000000" })))).toBe(true);
    expect(await cluster.client.delete(ref, { uid: created.metadata.uid ?? "" })).toBe(true);
    expect(await cluster.client.delete(ref)).toBe(false);
    expect(await cluster.client.get(ref)).toBeUndefined();
  });

  test("a request with an invalid object fails with 422", async () => {
    const err = await thrownBy(cluster.client.create(configMap(namespace, "Not_A_Name")));
    expect(err).toMatchObject({ status: 422, reason: "Invalid" });
  });

  test("a JSON patch and a strategic merge patch change only their fields", async () => {
    await cluster.client.create(configMap(namespace, "patched", { a: "1" }));
    const ref = { ...CONFIG_MAP, name: "patched", namespace };
    await cluster.client.patch(ref, [{ op: "replace", path: "/data/a", value: "2" }], { type: "json" });
    const after = await cluster.client.patch(ref, { data: { b: "3" } }, { type: "strategic" });
    expect(after["data"]).toEqual({ a: "2", b: "3" });
  });

  test("an object name with capitals and colons is sent unchanged", async () => {
    const name = cluster.name("My:ClusterRole");
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
    await cluster.client.create({ ...role, metadata: { name }, rules: [] });
    expect((await cluster.client.get({ ...role, name }))?.metadata.name).toBe(name);
    expect(await cluster.client.delete({ ...role, name })).toBe(true);
  });

  test("a list with many pages is complete", async () => {
    const ns = await cluster.namespace("pages");
    const names = Array.from({ length: 25 }, (_, i) => `item-${String(i).padStart(2, "0")}`);
    await Promise.all(names.map((name) => cluster.client.create(configMap(ns, name))));
    const { items, resourceVersion } = await cluster.client.list(CONFIG_MAP, { namespace: ns, limit: 4 });
    expect(items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("item-"))).toEqual(names);
    expect(items.every(({ kind, apiVersion }) => kind === "ConfigMap" && apiVersion === "v1")).toBe(true);
    expect(Number(resourceVersion)).toBeGreaterThan(0);
    const one = await cluster.client.list(CONFIG_MAP, { namespace: ns, fieldSelector: "metadata.name=item-07" });
    expect(one.items).toHaveLength(1);
  });

  test("Client.resourceFor finds a kind only while its CRD exists", async () => {
    const group = `${cluster.name("g")}.example.com`;
    const kind = { apiVersion: `${group}/v1`, kind: "Thing" };
    const err = await thrownBy(cluster.client.get({ ...kind, name: "x", namespace }));
    expect(err).toBeInstanceOf(KindNotServed);
    expect((err as Error).message).toBe(`no matches for kind "Thing" in version "${group}/v1"`);
    const definition = thingDefinition(group);
    await cluster.client.create(definition);
    const spec = { minimum: -9223372036854775808n, "x-kubernetes-preserve-unknown-fields": true, nested: [{ unknown: { deep: null } }] };
    const thing = { ...kind, metadata: { name: "x", namespace }, spec };
    await eventually(() => cluster.client.apply(thing, { fieldManager: "m" }));
    expect(await cluster.client.resourceFor(kind)).toMatchObject({ resource: "things", namespaced: true });
    const { body } = await cluster.client.request("GET", `/apis/${group}/v1/namespaces/${namespace}/things/x`);
    const raw = await text(body);
    expect(raw).toContain('"minimum":-9223372036854775808');
    expect(raw).toContain('"x-kubernetes-preserve-unknown-fields":true');
    await cluster.client.delete({ ...definition, name: definition.metadata.name });
    await eventually(async () => expect(await thrownBy(cluster.client.list(kind))).toBeInstanceOf(KindNotServed));
  });

  test("a watch reports changes since the list, and ends when its signal aborts", async () => {
    const { resourceVersion } = await cluster.client.list(CONFIG_MAP, { namespace });
    const stop = new AbortController();
    const events: WatchEvent[] = [];
    const watching = (async () => {
      const fieldSelector = "metadata.name=watched";
      for await (const event of cluster.client.watch(CONFIG_MAP, { namespace, fieldSelector, resourceVersion, signal: stop.signal }))
        events.push(event);
    })();
    await cluster.client.create(configMap(namespace, "watched", { a: "1" }));
    await cluster.client.create(configMap(namespace, "not-watched"));
    await cluster.client.patch({ ...CONFIG_MAP, name: "watched", namespace }, { data: { a: "2" } }, { type: "merge" });
    await cluster.client.delete({ ...CONFIG_MAP, name: "watched", namespace });
    await eventually(() => expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]));
    expect(events[1]?.object).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "watched" }, data: { a: "2" } });
    stop.abort();
    await watching;
  });

  test("many watches of several ServiceAccounts share a few connections", async () => {
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }];
    const clients = [await scopedClient(cluster, namespace, "many-one", rules), await scopedClient(cluster, namespace, "many-two", rules)];
    const { resourceVersion } = await eventually(
      async () => (await Promise.all(clients.map((client) => client.list(CONFIG_MAP, { namespace }))))[0]!,
    );
    let connections = 0;
    const count = (): void => void connections++;
    subscribe("undici:client:connected", count);
    onTestFinished(() => void unsubscribe("undici:client:connected", count));
    const stop = new AbortController();
    const seen = new Set<string>();
    const watches = Array.from({ length: 250 }, async (_, i) => {
      const selection = { namespace, fieldSelector: `metadata.name=many-${i}`, metadataOnly: true };
      for await (const { object } of clients[i % 2]!.watch(CONFIG_MAP, { ...selection, resourceVersion, signal: stop.signal }))
        seen.add(object.metadata.name);
    });
    await eventually(async () => {
      for (const i of [0, 1, 124, 249]) await cluster.client.apply(configMap(namespace, `many-${i}`), { fieldManager: "m" });
      expect(seen).toEqual(new Set(["many-0", "many-1", "many-124", "many-249"]));
    });
    stop.abort();
    await Promise.all(watches);
    expect(connections).toBeGreaterThan(0);
    expect(connections).toBeLessThanOrEqual(6);
  });

  test("a watch of the metadata of one object returns no other fields, and needs permission only for that name", async () => {
    const rules = [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["mine"], verbs: ["get", "list", "watch"] }];
    const scoped = await scopedClient(cluster, namespace, "watcher", rules);
    const secret = { apiVersion: "v1", kind: "Secret" };
    await cluster.client.create({
      ...secret,
      metadata: { name: "mine", namespace, labels: { step: "1" } },
      stringData: { password: "hidden" },
    });
    const selection = { namespace, fieldSelector: "metadata.name=mine", metadataOnly: true };
    const { items, resourceVersion } = await eventually(() => scoped.list(secret, selection));
    expect(items).toMatchObject([{ ...secret, metadata: { name: "mine", labels: { step: "1" } } }]);
    expect(items[0]).not.toHaveProperty("data");
    expect(isForbidden(await thrownBy(scoped.list(secret, { namespace, metadataOnly: true })))).toBe(true);
    const watch = scoped.watch(secret, { ...selection, resourceVersion, timeoutSeconds: 60 });
    const next = watch.next();
    await cluster.client.patch({ ...secret, name: "mine", namespace }, { metadata: { labels: { step: "2" } } }, { type: "merge" });
    const { value } = (await next) as { value: WatchEvent };
    await watch.return(undefined);
    expect(value).toMatchObject({ type: "MODIFIED", object: { ...secret, metadata: { labels: { step: "2" } } } });
    expect(value.object).not.toHaveProperty("data");
    const got = await cluster.client.get({ ...secret, name: "mine", namespace }, { metadataOnly: true });
    expect([got?.kind, got?.["data"]]).toEqual(["Secret", undefined]);
  });

  test("EventRecorder counts repeated Events about an object", async () => {
    const recorder = new EventRecorder(cluster.client, { component: "operator-controller", log: { debug: () => undefined } });
    const about = await cluster.client.create(configMap(namespace, "eventful"));
    for (let i = 0; i < 3; i++) recorder.record(about, "Warning", "Failed", "it did not work");
    recorder.record(about, "Normal", "Installed", "it worked");
    await recorder.flush();
    const { items } = await cluster.client.list(
      { apiVersion: "v1", kind: "Event" },
      { namespace, fieldSelector: "involvedObject.name=eventful" },
    );
    const recorded = new Map(items.map((event) => [event["reason"], [event["type"], event["message"], event["count"]]]));
    expect(recorded).toEqual(
      new Map([
        ["Failed", ["Warning", "it did not work", 3]],
        ["Installed", ["Normal", "it worked", 1]],
      ]),
    );
    expect(items).toHaveLength(2);
  });

  test("EventRecorder writes an Event about a cluster-scoped object to namespace default", async () => {
    const recorder = new EventRecorder(cluster.client, { component: "test", log: { debug: () => undefined } });
    const about = await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: namespace });
    recorder.record(about ?? configMap("", ""), "Normal", "Seen", "seen");
    await recorder.flush();
    const query = { namespace: "default", fieldSelector: `involvedObject.name=${namespace}` };
    expect((await cluster.client.list({ apiVersion: "v1", kind: "Event" }, query)).items).toHaveLength(1);
  });

  test("a client without a valid credential gets a 401 error", async () => {
    const stranger = cluster.client.withToken(() => Promise.resolve("not-a-token"));
    expect(await thrownBy(stranger.get({ ...CONFIG_MAP, name: "x", namespace }))).toMatchObject({ status: 401, message: "Unauthorized" });
  });

  const second = { client: undefined as Client | undefined };
  afterAll(() => second.client?.close());

  test("closing a client ends its watches and the watches of its token clients", async () => {
    const own = (second.client = Client.fromKubeConfig(cluster.kubeconfig));
    const { resourceVersion } = await own.list(CONFIG_MAP, { namespace });
    const watching = thrownBy(Array.fromAsync(own.watch(CONFIG_MAP, { namespace, resourceVersion })));
    await new Promise((resolve) => setTimeout(resolve, 200));
    await own.close();
    expect(await watching).toBeInstanceOf(Error);
  });
});
