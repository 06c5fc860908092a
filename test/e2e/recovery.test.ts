import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { buildSampleCatalog, SAMPLE_PACKAGE } from "../../pkg/devcluster/sample/sample.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { problemText } from "../support/problems.ts";
import { SAMPLE_CATALOG_REF, SampleWorld } from "../support/sampleWorld.ts";
import type { World } from "../support/world.ts";

/** Shorter than the API server's timeout for a request that waits in admission. */
const STOP_WITHIN_MS = 20_000;

describeWithPrivateCluster("recovery", (cluster, dev) => {
  let sample: SampleWorld;
  let world: World;

  beforeAll(async () => {
    sample = await SampleWorld.start(cluster);
    world = sample.world;
  });
  afterEach(() => sample.clear());
  afterAll(async () => {
    await world?.stop();
  });

  const unpin = (extension: ClusterExtension): Promise<KubeObject> =>
    cluster.client.patch(
      { ...extension, name: extension.metadata.name },
      { spec: { source: { catalog: { version: null } } } },
      { type: "merge" },
    );

  test("operator-controller continues an install after being killed", async () => {
    const created = await sample.extension("install", { version: "1.0.0" });
    await using gate = await sample.gateFor(created);
    gate.close();
    await world.apply(created);
    await gate.holds();
    expect(await sample.end("operator-controller", "SIGKILL")).toContain("SIGKILL");
    expect(await sample.releases("install")).toEqual(["v1 pending-install"]);
    const half = await sample.owned("install");
    expect(half.length).toBeGreaterThan(0);
    expect(half.length).toBeLessThan(sample.wanted("1.0.0", created).length);
    gate.open();
    await world.installation.restart("operator-controller");
    await world.installed("install", "1.0.0");
    expect(await sample.releases("install")).toEqual(["v1 deployed"]);
    expect(await sample.owned("install")).toEqual(sample.wanted("1.0.0", created));
  });

  test("operator-controller continues an upgrade after being killed, and prunes old objects", async () => {
    const created = await sample.installed("upgrade", "1.0.0");
    await using gate = await sample.gateFor(created);
    gate.close();
    await unpin(created);
    await gate.holds();
    await sample.end("operator-controller", "SIGKILL");
    expect(await sample.releases("upgrade")).toEqual(["v1 deployed", "v2 pending-upgrade"]);
    expect((await world.extension("upgrade"))?.status?.install?.bundle.version).toBe("1.0.0");
    gate.open();
    await world.installation.restart("operator-controller");
    await world.installed("upgrade", "1.2.0");
    expect(await sample.releases("upgrade")).toEqual(["v1 superseded", "v2 deployed"]);
    expect(await sample.owned("upgrade")).toEqual(sample.wanted("1.2.0", created));
  });

  test("operator-controller stops cleanly during an install, and continues after a restart", async () => {
    const created = await sample.extension("stop", { version: "1.0.0" });
    await using gate = await sample.gateFor(created);
    gate.close();
    await world.apply(created);
    await gate.holds();
    const busy = Array.from({ length: 10 }, (_, i) => createExtension(`busy-${i}`, { packageName: "no-such-operator" }));
    await Promise.all(busy.map((other) => world.apply(other)));
    const started = performance.now();
    expect(await sample.end("operator-controller", "SIGTERM")).toContain("exit code 0");
    expect(performance.now() - started).toBeLessThan(STOP_WITHIN_MS);
    expect(await sample.releases("stop")).toEqual(["v1 pending-install"]);
    expect((await sample.events("stop")).filter((event) => event.startsWith("ApplyFailed"))).toEqual([]);
    gate.open();
    await world.installation.restart("operator-controller");
    await world.installed("stop", "1.0.0");
    expect(await sample.releases("stop")).toEqual(["v1 deployed"]);
  });

  test("operator-controller installs the new version when spec.version changes during an install", async () => {
    const created = await sample.extension("edited", { version: "1.0.0" });
    await using gate = await sample.gateFor(created);
    gate.close();
    await world.apply(created);
    await gate.holds();
    await world.apply({
      ...created,
      spec: { ...created.spec, source: { ...created.spec.source, catalog: { packageName: SAMPLE_PACKAGE, version: "1.1.0" } } },
    });
    gate.open();
    await world.installed("edited", "1.1.0");
    expect(await sample.releases("edited")).toEqual(["v1 superseded", "v2 deployed"]);
    expect(await sample.owned("edited")).toEqual(sample.wanted("1.1.0", created));
  });

  test("operator-controller leaves no objects of an extension that is deleted during an install, and installs a new extension of that name", async () => {
    const created = await sample.extension("brief", { version: "1.0.0" });
    {
      await using gate = await sample.gateFor(created);
      gate.close();
      await world.apply(created);
      await gate.holds();
      await cluster.client.delete({ ...created, name: "brief" });
      gate.open();
      await eventually(async () => expect(await world.extension("brief")).toBeUndefined());
    }
    expect(await sample.owned("brief")).toEqual([]);
    expect(await sample.releases("brief")).toEqual([]);
    await world.apply(created);
    await world.installed("brief", "1.0.0");
    expect(await sample.releases("brief")).toEqual(["v1 deployed"]);
  });

  test("operator-controller installs one of two conflicting extensions, and reports that extension as the owner on the other extension", async () => {
    const names = ["left", "right"] as const;
    for (const created of await Promise.all(names.map((name) => sample.extension(name, { version: "1.0.0" })))) void world.apply(created);
    const bothDone = async (): Promise<[winner: string, loser: string]> => {
      const found = await Promise.all(names.map((name) => world.extension(name)));
      const winner = names.find((_, i) => found[i]?.status?.install !== undefined) ?? "nobody";
      const loser = names.find((name) => name !== winner) ?? "";
      expect(problemText(found[names.indexOf(loser as "left")]?.status)).toContain(`belongs to ClusterExtension "${winner}"`);
      return [winner, loser];
    };
    const [winner, loser] = await eventually(bothDone);
    expect((await world.extension(loser))?.status?.install).toBeUndefined();
    expect(await sample.owned(winner)).toEqual(sample.wanted("1.0.0", createExtension(winner, { packageName: SAMPLE_PACKAGE })));
    expect(await sample.owned(loser)).toEqual([]);
    await world.removed("ClusterExtension", winner);
    await world.installed(loser, "1.0.0");
  });

  test("operator-controller corrects deleted and changed objects, and lists them in an Event", async () => {
    const created = await sample.installed("drift", "1.0.0");
    const deployed = await sample.releases("drift");
    await sample.damageIsRepaired(created);
    await eventually(async () => {
      const messages = (await sample.events("drift")).filter((event) => event.startsWith("DriftCorrected")).join("\n");
      expect(messages).toContain("ConfigMap drift-system/hello-operator-phrases (created)");
      expect(messages).toContain("Service drift-system/hello-operator-metrics (updated)");
    });
    expect(await sample.releases("drift")).toEqual(deployed);
  });

  test("operator-controller still reconciles the installed bundle when its catalog is deleted, and reports the missing catalog", async () => {
    const created = await sample.installed("alone", "1.0.0");
    await world.removed("ClusterCatalog", "sample");
    const kept = await world.condition("ClusterExtension", "alone", (_, object) =>
      problemText((object as ClusterExtension).status).includes("no ClusterCatalog matches"),
    );
    const { conditions } = (kept as ClusterExtension).status ?? {};
    expect(findCondition(conditions, "Progressing")).toMatchObject({
      status: "True",
      reason: "Succeeded",
      message: "Desired state reached",
    });
    expect(findCondition(conditions, "Installed")?.status).toBe("True");
    expect(findCondition(conditions, "Deprecated")).toMatchObject({ status: "Unknown", reason: "DeprecationStatusUnknown" });
    await sample.damageIsRepaired(created);
    expect(await sample.owned("alone")).toEqual(sample.wanted("1.0.0", created));
    await world.serve("sample", SAMPLE_CATALOG_REF);
    await world.condition(
      "ClusterExtension",
      "alone",
      (c, object) => c("Progressing")?.message === "Desired state reached" && problemText((object as ClusterExtension).status) === "",
    );
  });

  test("operator-controller corrects drift when an upgrade cannot be resolved", async () => {
    const created = await sample.installed("pinned", "1.0.0");
    await world.apply({
      ...created,
      spec: { ...created.spec, source: { ...created.spec.source, catalog: { ...created.spec.source.catalog, version: "7.0.0" } } },
    });
    await world.condition("ClusterExtension", "pinned", (c) => c("Progressing")?.message.includes('matching version "7.0.0"') ?? false);
    await sample.damageIsRepaired(created);
  });

  test("operator-controller installs an extension after the API server restarts", async () => {
    await dev().restart("kube-apiserver");
    const created = await sample.installed("after-restart", "1.0.0");
    expect(await sample.owned("after-restart")).toEqual(sample.wanted("1.0.0", created));
  });

  test("catalogd serves stored content after a restart while the registry is down, and keeps the status", async () => {
    const all = async (): Promise<string> => (await fetch(`${world.installation.catalogs}/catalogs/sample/api/v1/all`)).text();
    const catalog = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "sample" };
    const [content, status] = [await all(), (await cluster.client.get(catalog))?.["status"]];
    expect(content).toContain(SAMPLE_PACKAGE);
    process.kill(dev().pid("registry")!, "SIGKILL");
    try {
      await world.installation.restart("catalogd");
      expect(await eventually(all)).toBe(content);
      await world.condition("ClusterCatalog", "sample", (c) => c("Serving")?.status === "True");
      expect((await cluster.client.get(catalog))?.["status"]).toEqual(status);
    } finally {
      await dev().restart("registry");
    }
  });

  test("operator-controller upgrades an extension automatically when the tag of its catalog moves", async () => {
    const files = buildSampleCatalog("quay.io");
    const old = new Map([...files].map(([path, text]) => [path.replace("configs/", ""), oldestOnly(text)]));
    await world.pushCatalog("catalogs/moving", "latest", old);
    await world.serve("moving", "quay.io/catalogs/moving:latest", { priority: 1 });
    const created = await sample.extension("follower", {
      selector: { matchLabels: { "olm.operatorframework.io/metadata.name": "moving" } },
    });
    await world.apply(created);
    await world.installed("follower", "1.0.0");
    await world.pushCatalog("catalogs/moving", "latest", new Map([...files].map(([path, text]) => [path.replace("configs/", ""), text])));
    const poll = { spec: { source: { image: { pollIntervalMinutes: 5 } } } };
    await cluster.client.patch({ apiVersion: API_VERSION, kind: "ClusterCatalog", name: "moving" }, poll, { type: "merge" });
    await world.installed("follower", "1.2.0");
    await world.removed("ClusterCatalog", "moving");
  });

  test("operator-controller reports how to delete an extension whose namespace and ServiceAccount no longer exist", async () => {
    const created = await sample.installed("homeless", "1.0.0");
    const namespace = { apiVersion: "v1", kind: "Namespace", name: getNamespace(created) };
    await cluster.client.delete(namespace);
    await eventually(async () => expect(await cluster.client.get(namespace)).toBeUndefined());
    await world.problems("homeless", (problems) => problems.includes("does not exist"));
    expect((await world.extension("homeless"))?.status?.install?.bundle.version).toBe("1.0.0");
    const ref = { apiVersion: API_VERSION, kind: "ClusterExtension", name: "homeless" };
    await cluster.client.delete(ref);
    await world.problems("homeless", (problems) => problems.includes("force-delete=true"));
    await cluster.client.patch(ref, { metadata: { annotations: { "olm.operatorframework.io/force-delete": "true" } } }, { type: "merge" });
    await eventually(async () => expect(await world.extension("homeless")).toBeUndefined());
    await eventually(async () =>
      expect((await sample.events("homeless")).join("\n")).toContain(
        "UninstalledByGarbageCollector: the controller leaves the objects to the garbage collector",
      ),
    );
    await eventually(async () => expect(await sample.owned("homeless")).toEqual(["CustomResourceDefinition greetings.hello.example.com"]));
    await sample.installed("heir", "1.0.0");
    expect(await sample.owned("heir")).toContain("CustomResourceDefinition greetings.hello.example.com");
  });

  test("operator-controller deletes all objects of an extension when a foreground deletion removes the releases first", async () => {
    const created = await sample.installed("foreground", "1.0.0");
    await cluster.client.delete({ ...created, name: "foreground" }, { propagationPolicy: "Foreground" });
    await eventually(async () => expect(await world.extension("foreground")).toBeUndefined(), { timeoutMs: 60_000 });
    await eventually(async () => {
      const kept = (await sample.events("foreground")).filter((text) => text.startsWith("Kept"));
      expect([await sample.owned("foreground"), kept]).toEqual([[], []]);
    });
    expect(await sample.releases("foreground")).toEqual([]);
  });

  test("operator-controller keeps all objects after a deletion with --cascade=orphan, and a new extension adopts them without new Pods", async () => {
    const created = await sample.installed("orphan", "1.0.0");
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: getNamespace(created), name: "hello-operator" };
    const before = await cluster.client.get(deployment);
    await garbageCollected(cluster.client, getNamespace(created));
    await cluster.client.delete({ ...created, name: "orphan" }, { propagationPolicy: "Orphan" });
    await eventually(async () => expect(await world.extension("orphan")).toBeUndefined(), { timeoutMs: 60_000 });
    expect(await sample.owned("orphan")).toEqual(sample.wanted("1.0.0", created));
    expect(await sample.releases("orphan")).toEqual(["v1 deployed"]);
    await world.apply(created);
    await world.installed("orphan", "1.0.0");
    await eventually(async () => expect(await sample.releases("orphan")).toEqual(["v1 superseded", "v2 deployed"]));
    const after = await cluster.client.get(deployment);
    expect([after?.metadata.uid, after?.metadata.generation]).toEqual([before?.metadata.uid, before?.metadata.generation]);
    expect(after?.metadata.ownerReferences?.[0]?.uid).toBe((await world.extension("orphan"))?.metadata.uid);
    expect(await sample.owned("orphan")).toEqual(sample.wanted("1.0.0", created));
  });
});

/**
 * Resolves when the garbage collector has observed all objects created so far. It would later delete unobserved objects instead of orphaning them.
 */
async function garbageCollected(client: Client, namespace: string): Promise<void> {
  const configMap = { apiVersion: "v1", kind: "ConfigMap" };
  const owner = await client.create<KubeObject>({ ...configMap, metadata: { name: "owner", namespace } });
  const ownerReferences = [{ ...configMap, name: "owner", uid: owner.metadata.uid ?? "" }];
  await client.create({ ...configMap, metadata: { name: "owned", namespace, ownerReferences } });
  await client.delete({ ...configMap, namespace, name: "owner" });
  await eventually(async () => expect(await client.get({ ...configMap, namespace, name: "owned" })).toBeUndefined(), { timeoutMs: 60_000 });
}

/** Returns the sample's catalog with its first version only. */
function oldestOnly(catalog: Uint8Array): Uint8Array {
  const documents = Buffer.from(catalog).toString("utf8").split("\n---\n");
  const kept = documents
    .filter((text) => !/^schema: olm\.bundle/m.test(text) || text.includes("name: hello-operator.v1.0.0"))
    .filter((text) => !/^name: candidate/m.test(text))
    .map((text) =>
      /^schema: olm\.channel/m.test(text) ? text.replace(/entries:[^]*$/, "entries:\n  - name: hello-operator.v1.0.0\n") : text,
    );
  return Buffer.from(kept.join("\n---\n"), "utf8");
}
