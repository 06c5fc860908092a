import { afterEach, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { Controller } from "../../pkg/controller/controller.ts";
import { getStoreKey, Informer, type InformerOptions, type ListerWatcher } from "../../pkg/controller/informer.ts";
import { WorkQueue } from "../../pkg/controller/workQueue.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { createLogger, type Logger } from "../../pkg/telemetry/log.ts";
import { describeWithCluster, describeWithPrivateCluster, eventually } from "../support/cluster.ts";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const RBAC = "rbac.authorization.k8s.io/v1";
const configMap = (namespace: string, name: string): KubeObject => ({
  ...CONFIG_MAP,
  metadata: { name, namespace, labels: { test: "informer" } },
});

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface Followed {
  informer: Informer;
  /** "add name" and so on, in order. */
  seen: string[];
  lines: Record<string, unknown>[];
  log: Logger;
}

/** An informer that runs until the test ends. */
function follow(client: ListerWatcher, options: InformerOptions<KubeObject>): Followed {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    component: "test",
    level: "debug",
    destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const informer = new Informer(client, CONFIG_MAP, { labelSelector: "test=informer", ...options }, log);
  const seen: string[] = [];
  informer.onEvent(({ type, object }) => void seen.push(`${type} ${object.metadata.name}`));
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  open.push(async () => {
    stop.abort();
    await running;
  });
  return { informer, seen, lines, log };
}

const interruptions = ({ lines }: Followed): unknown[] =>
  lines.filter(({ msg }) => msg === "watch interrupted").map(({ reason }) => reason);

describeWithCluster("an informer on the API server", (cluster) => {
  test("an informer starts when its missing permissions are granted", async () => {
    const namespace = await cluster.namespace("informer");
    const metadata = { name: "reader", namespace };
    await cluster.client.create({ apiVersion: "v1", kind: "ServiceAccount", metadata });
    await cluster.client.create(configMap(namespace, "first"));
    const scoped = cluster.client.withToken(new ServiceAccountTokens(cluster.client).tokenFor(namespace, "reader"));
    const followed = follow(scoped, { namespace, maxBackoffMs: 500 });
    await eventually(() => expect(interruptions(followed).length).toBeGreaterThan(1));
    expect(interruptions(followed)[0]).toContain(`cannot list resource "configmaps" in API group "" in the namespace "${namespace}"`);
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }];
    await cluster.client.create({ apiVersion: RBAC, kind: "Role", metadata, rules });
    const subjects = [{ kind: "ServiceAccount", ...metadata }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" };
    await cluster.client.create({ apiVersion: RBAC, kind: "RoleBinding", metadata, subjects, roleRef });
    await followed.informer.synced;
    await cluster.client.create(configMap(namespace, "second"));
    await eventually(() => expect(followed.seen).toEqual(["add first", "add second"]));
  });

  test("a controller with an informer reconciles each object once, and again only when the object changes", async () => {
    const namespace = await cluster.namespace("controller");
    const { informer, log } = follow(cluster.client, { namespace });
    const queue = new WorkQueue({ baseDelayMs: 10 });
    informer.onEvent(({ type, object }) => {
      if (type !== "delete") queue.add(getStoreKey(object));
    });
    const reconcile = async (key: string): Promise<undefined> => {
      const [ns = "", name = ""] = key.split("/");
      const object = informer.get(name, ns);
      if (!object || object.metadata.annotations?.["done"] !== undefined) return undefined;
      await cluster.client.patch({ ...CONFIG_MAP, name, namespace: ns }, { metadata: { annotations: { done: "yes" } } }, { type: "merge" });
      return undefined;
    };
    const stop = new AbortController();
    const running = new Controller({ name: "test", queue, reconcile, workers: 2, log }).run(stop.signal);
    open.push(async () => {
      stop.abort();
      await running;
    });
    await Promise.all(["a", "b", "c"].map((name) => cluster.client.create(configMap(namespace, name))));
    await eventually(async () => {
      const { items } = await cluster.client.list(CONFIG_MAP, { namespace, labelSelector: "test=informer" });
      expect(items.map(({ metadata }) => [metadata.name, metadata.annotations?.["done"]])).toEqual(
        ["a", "b", "c"].map((name) => [name, "yes"]),
      );
    });
    expect(informer.list()).toHaveLength(3);
  });
});

describeWithPrivateCluster("an informer over a restart of its API server", (cluster, dev) => {
  test("an informer misses no changes when its API server restarts", async () => {
    const namespace = await cluster.namespace("informer");
    await cluster.client.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa", namespace } });
    const user: Client = cluster.client;
    const subjects = [{ kind: "ServiceAccount", name: "sa", namespace }];
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    await user.create({ apiVersion: RBAC, kind: "RoleBinding", metadata: { name: "view", namespace }, subjects, roleRef });
    const scoped = user.withToken(new ServiceAccountTokens(user).tokenFor(namespace, "sa"));
    const all = [follow(user, { namespace, maxBackoffMs: 1_000 }), follow(scoped, { namespace, maxBackoffMs: 1_000 })];
    for (const { informer } of all) await informer.synced;
    await user.create(configMap(namespace, "before"));
    await user.create(configMap(namespace, "deleted"));
    for (const { seen } of all) await eventually(() => expect(seen).toEqual(["add before", "add deleted"]));

    await dev().restart("kube-apiserver");
    await user.delete({ ...CONFIG_MAP, name: "deleted", namespace });
    await user.create(configMap(namespace, "after"));

    for (const { seen, informer } of all) {
      await eventually(() => expect(seen.slice(2).sort()).toEqual(["add after", "delete deleted"]));
      expect(
        informer
          .list()
          .map(({ metadata }) => metadata.name)
          .sort(),
      ).toEqual(["after", "before"]);
    }
    for (const followed of all) expect(interruptions(followed).length).toBeGreaterThan(0);
  });

  test("client.watch throws on status 410 (Expired), and an informer lists again", async () => {
    await dev().restart("kube-apiserver"); // its watch cache starts now, so that revision 1 is too old
    const err: unknown = await eventually(() =>
      Array.fromAsync(cluster.client.watch(CONFIG_MAP, { resourceVersion: "1", timeoutSeconds: 10 })).catch((thrown: unknown) => thrown),
    );
    expect(err).toMatchObject({ status: 410, reason: "Expired", message: expect.stringContaining("too old resource version: 1") });

    const namespace = await cluster.namespace("informer");
    await cluster.client.create(configMap(namespace, "before"));
    let watches = 0;
    const stale: ListerWatcher = {
      list: (...args) => cluster.client.list(...args),
      watch: (gvk, options) => cluster.client.watch(gvk, watches++ === 0 ? { ...options, resourceVersion: "1" } : options),
    };
    const followed = follow(stale, { namespace });
    await followed.informer.synced;
    await eventually(() => expect(interruptions(followed)).toEqual([expect.stringContaining("too old resource version")]));
    await cluster.client.create(configMap(namespace, "after"));
    await eventually(() => expect(followed.seen).toEqual(["add before", "add after"]));
    expect(watches).toBe(2);
  });
});
