import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION, SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { LEASE, type Lease } from "../../pkg/controller/lease.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { LEASE_MS, type Replica, Replicas } from "../support/replicas.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { SmallPackage } from "../support/smallPackage.ts";

/** Extensions that are reconciled during a failover. */
const EXTENSIONS = 12;
const QUICK = ["--recheck-interval=2s", "--max-backoff=1s"];

// Source: I-31; the fence is the numbered release.
describeWithPrivateCluster("several operator-controllers", (cluster) => {
  let catalogs: Replicas;
  let controllers: Replicas;
  let leader: Replica;
  let next: Replica;
  let createdCount = 0;

  beforeAll(async () => {
    catalogs = await Replicas.start(cluster, "catalogd");
    await catalogs.add("catalogd");
    controllers = await Replicas.start(cluster, "operator-controller");
    leader = await controllers.add("c0", QUICK);
    await controllers.leads(leader);
    next = await controllers.add("c1", QUICK);
    await controllers.ready(next);
  });
  afterAll(async () => {
    await controllers?.stop();
    await catalogs?.stop();
  });

  /** Creates extensions of separate packages with their dependencies, without applying them; `version` is the requested one. */
  async function extensions(): Promise<ClusterExtension[]> {
    const packages = Array.from(
      { length: EXTENSIONS },
      () => new SmallPackage(`small-${createdCount++}`, { version: "1.0.0", noise: 20_000 }),
    );
    const metas: object[] = [];
    for (const pack of packages) {
      for (const of of pack.versions) {
        const labels = { "operators.operatorframework.io.bundle.package.v1": pack.name };
        const { digest } = await pushImage(cluster.registry, `bundles/${pack.name}`, "v1", { files: pack.bundleFiles(of), labels });
        metas.push(...pack.catalogMetas(() => `quay.io/bundles/${pack.name}@${digest}`));
      }
      const extension = pack.extension();
      await grantInstaller(cluster.client, extension, pack.objects(getNamespace(extension)));
    }
    const name = `catalog-${createdCount}`;
    const files = new Map([["configs/catalog.json", Buffer.from(metas.map((meta) => JSON.stringify(meta)).join("\n"))]]);
    const labels = { "operators.operatorframework.io.index.configs.v1": "/configs" };
    const { digest } = await pushImage(cluster.registry, name, "v1", { files, labels });
    await cluster.client.apply(
      {
        apiVersion: API_VERSION,
        kind: "ClusterCatalog",
        metadata: { name },
        spec: { source: { type: "Image", image: { ref: `quay.io/${name}@${digest}` } } },
      },
      { fieldManager: "test", force: true },
    );
    await eventually(async () => {
      const catalog = await cluster.client.get({ apiVersion: API_VERSION, kind: "ClusterCatalog", name });
      const { conditions } = (catalog?.["status"] ?? {}) as { conditions?: never };
      expect(findCondition(conditions, "Serving")?.status).toBe("True");
    });
    return packages.map((pack) => pack.extension());
  }
  const apply = (desired: readonly ClusterExtension[]): Promise<unknown> =>
    Promise.all(desired.map((extension) => cluster.client.apply(extension, { fieldManager: "test", force: true })));
  /** Returns the releases of all extensions, as "NAME.vN". */
  async function releases(): Promise<string[]> {
    const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Secret" }, { namespace: SYSTEM_NAMESPACE, metadataOnly: true });
    return items.flatMap(({ metadata: { labels } }) => (labels?.["version"] ? [`${labels["name"]}.v${labels["version"]}`] : []));
  }

  /** Expects that each is installed, with exactly one release. */
  async function installedOnce(desired: readonly ClusterExtension[]): Promise<void> {
    await eventually(
      async () => {
        for (const { metadata } of desired) {
          const live = await cluster.client.get<ClusterExtension>({
            apiVersion: API_VERSION,
            kind: CLUSTER_EXTENSION,
            name: metadata.name,
          });
          expect([metadata.name, findCondition(live?.status?.conditions, "Progressing")]).toEqual([
            metadata.name,
            expect.objectContaining({ reason: "Succeeded" }),
          ]);
        }
      },
      { timeoutMs: 60_000 },
    );
    const names = new Set(desired.map(({ metadata }) => `${metadata.name}.`));
    const found = (await releases()).filter((release) => names.has(release.slice(0, release.indexOf(".") + 1)));
    expect(found.sort()).toEqual(desired.map(({ metadata }) => `${metadata.name}.v1`).sort());
  }
  /** Returns the writes since `from`, except Leases and access reviews. */
  const writesSince = async (from: number): Promise<string[]> =>
    (await cluster.auditEvents())
      .filter(({ verb }) => !["get", "list", "watch"].includes(verb))
      .filter(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp ?? "") >= from)
      .filter(({ responseStatus }) => (responseStatus?.code ?? 0) < 400)
      .filter(
        ({ objectRef }) => !["leases", "events", "selfsubjectaccessreviews", "selfsubjectrulesreviews"].includes(objectRef?.resource ?? ""),
      )
      .map(({ verb, user, objectRef }) => `${user.username} ${verb} ${objectRef?.resource} ${objectRef?.name}`)
      .filter((line) => line.includes("installer") || line.includes("operator-controller"));

  /** Records the holders of the Lease from now on, in order. */
  async function followHolders(): Promise<{ seen: string[]; stop: () => Promise<void> }> {
    const seen: string[] = [];
    const stop = new AbortController();
    const selection = { namespace: SYSTEM_NAMESPACE, fieldSelector: "metadata.name=9c4404e7.operatorframework.io" };
    const { resourceVersion } = await cluster.client.list(LEASE, selection);
    const running = (async () => {
      for await (const { object } of cluster.client.watch<Lease>(LEASE, { ...selection, resourceVersion, signal: stop.signal }))
        seen.push(object.spec?.holderIdentity ?? "");
    })().catch((err: unknown) => {
      if (!stop.signal.aborted) throw err;
    });
    return {
      seen,
      stop: () => {
        stop.abort();
        return running;
      },
    };
  }

  test("a leader that stops during reconciles is replaced at once, and every extension is installed once", async () => {
    const desired = await extensions();
    await apply(desired);
    await eventually(async () => expect((await releases()).length).toBeGreaterThan(0), { intervalMs: 20 });
    const holders = await followHolders();
    const from = performance.now();
    const stopping = leader.process.stop();
    await controllers.leads(next);
    console.log(`the other one led after ${Math.round(performance.now() - from)} ms`);
    await stopping;
    // The Lease was released, so no replica had to wait until it expires.
    await eventually(() => expect(holders.seen).toContain(""));
    await holders.stop();
    await installedOnce(desired);
    [leader, next] = [next, await controllers.add("c2", QUICK)];
    await controllers.ready(next);
  });

  test("a leader that is killed during reconciles is replaced after its Lease expires, and every extension is installed once", async () => {
    const desired = await extensions();
    const before = (await releases()).length;
    await apply(desired);
    await eventually(async () => expect((await releases()).length).toBeGreaterThan(before), { intervalMs: 20 });
    process.kill(leader.process.pid ?? 0, "SIGKILL");
    await controllers.leads(next);
    await installedOnce(desired);
    [leader, next] = [next, await controllers.add("c3", QUICK)];
    await controllers.ready(next);
  });

  test("a leader whose process was suspended for longer than its Lease exits when it resumes, and applies nothing", async () => {
    const desired = await extensions();
    const before = (await releases()).length;
    const beganAt = Date.now();
    await apply(desired);
    await eventually(async () => expect((await releases()).length).toBeGreaterThan(before), { intervalMs: 20 });
    process.kill(leader.process.pid ?? 0, "SIGSTOP");
    let resumedAt: number;
    try {
      await sleep(LEASE_MS);
      await controllers.leads(next);
      await installedOnce(desired);
      // The new leader has finished its writes.
      await eventually(async () => expect(await writesSince(Date.now() - 3_000)).toEqual([]));
    } finally {
      resumedAt = Date.now();
      process.kill(leader.process.pid ?? 0, "SIGCONT");
    }
    await eventually(() => expect(leader.process.ended).toContain("leader election lost"));
    // A request that was partially sent when the process was suspended is completed when it resumes. A server-side apply of the same object is
    // harmless then, and a release is protected by its number; no other write and no new write of an extension is permitted.
    const late = await writesSince(resumedAt);
    expect(late.filter((line) => !line.includes(" patch "))).toEqual([]);
    expect(late.length).toBeLessThanOrEqual(EXTENSIONS);
    expect((await writesSince(beganAt)).length).toBeGreaterThan(3 * EXTENSIONS);
    await installedOnce(desired);
  });
});
