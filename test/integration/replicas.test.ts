import { readlink, truncate } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { RegistryProxy } from "../support/registryProxy.ts";
import { ReplicaService } from "../support/replicaService.ts";
import { type Replica, Replicas, readyz } from "../support/replicas.ts";

const LABELS = { "operators.operatorframework.io.index.configs.v1": "/configs" };
const ALL = "/catalogs/shared/api/v1/all";

describeWithPrivateCluster("several catalogds", (cluster) => {
  let replicas: Replicas;
  let first: Replica;
  let second: Replica;

  beforeAll(async () => {
    replicas = await Replicas.start(cluster, "catalogd");
    first = await replicas.add("first");
    await replicas.ready(first);
  });
  afterAll(() => replicas?.stop());

  /** @returns digest and line of the content. */
  async function push(version: number): Promise<{ digest: string; line: string }> {
    const line = `{"defaultChannel":"v${version}","name":"foo","schema":"olm.package"}\n`;
    const rest = `{"schema":"olm.channel","package":"foo","name":"v${version}","entries":[{"name":"foo.v1"}]}
{"schema":"olm.bundle","package":"foo","name":"foo.v1","image":"quay.io/foo/bundle:v1","properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}]}\n`;
    const files = new Map([["configs/catalog.json", Buffer.from(line + rest)]]);
    const { digest } = await pushImage(cluster.registry, "test/shared", "latest", { files, labels: LABELS });
    return { digest, line };
  }
  async function apply(name: string, priority: number, spec: object = {}): Promise<void> {
    const source = { type: "Image", image: { ref: "quay.io/test/shared:latest" } };
    await cluster.client.apply(
      { apiVersion: API_VERSION, kind: "ClusterCatalog", metadata: { name }, spec: { source, priority, ...spec } },
      { fieldManager: "test", force: true },
    );
  }
  const statusDigest = async (name: string): Promise<string | undefined> =>
    (
      await cluster.client.get<ClusterCatalog>({ apiVersion: API_VERSION, kind: "ClusterCatalog", name })
    )?.status?.resolvedSource?.image.ref.split("@")[1];
  const get = (replica: Replica, path = ALL): Promise<Response> => fetch(replica.content + path);
  async function serves(replica: Replica, { digest, line }: { digest: string; line: string }): Promise<void> {
    await eventually(async () => {
      const answer = await get(replica);
      expect([answer.status, answer.headers.get("olm-catalog-digest")]).toEqual([200, digest]);
      expect(await answer.text()).toContain(line);
    });
  }

  test("a new replica loads the image in the status although the tag has moved, serves the same bytes, and writes nothing", async () => {
    await replicas.leads(first);
    const old = await push(1);
    await apply("shared", 1);
    await serves(first, old);
    await eventually(async () => expect(await statusDigest("shared")).toBe(old.digest));
    await push(2);
    second = await replicas.add("second");
    const text = await replicas.ready(second);
    expect(text).toMatch(/serving ok: 1 of 1 catalogs\n\[\+\]leader ok: \S+ leads\n/);
    const [one, other] = [await get(first), await get(second)];
    for (const header of ["etag", "last-modified", "olm-catalog-digest", "content-length"])
      expect(other.headers.get(header)).toBe(one.headers.get(header));
    expect(other.headers.get("olm-catalog-digest")).toBe(old.digest);
    expect(await other.text()).toBe(await one.text());
  });

  test("a follower serves new content like the leader, and stops serving content when the leader does", async () => {
    const next = await push(3);
    await apply("shared", 2);
    for (const replica of [first, second]) await serves(replica, next);
    await apply("passing", 1);
    for (const replica of [first, second])
      await eventually(async () => expect((await get(replica, "/catalogs/passing/api/v1/all")).status).toBe(200));
    await apply("passing", 1, { availabilityMode: "Unavailable" });
    for (const replica of [first, second])
      await eventually(async () => expect((await get(replica, "/catalogs/passing/api/v1/all")).status).toBe(404));
    await cluster.client.delete({ apiVersion: API_VERSION, kind: "ClusterCatalog", name: "passing" });
    expect(await replicas.writesOf(second)).toEqual([]);
    expect((await replicas.writesOf(first)).length).toBeGreaterThan(0);
  });

  test("a replica that cannot load content is unready until its deadline, and responds to requests for that content with 503", async () => {
    const lost = await replicas.add("lost", ["--load-deadline=5s"], { registry: "127.0.0.1:1" });
    await eventually(async () => expect((await readyz(lost)).text).toContain("[-]serving failed"));
    const answer = await get(lost);
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await replicas.ready(lost)).toContain(
      "serving ok: 0 of 1 catalogs; the content reported in the status is not stored yet: shared",
    );
    expect((await get(lost, "/catalogs/unknown/api/v1/all")).status).toBe(404);
    await eventually(async () => {
      const metrics = await (await fetch(`${lost.probes}/metrics`)).text();
      expect(metrics).toMatch(/catalogd_catalog_behind\{catalog="shared"\} 1/);
      expect(metrics).toMatch(/catalogd_follower_load_failures_total\{catalog="shared"\} [1-9]/);
      expect(metrics).toMatch(/leader_election_master_status\{name="catalogd-operator-lock"\} 0/);
    });
    await lost.process.stop();
  });

  test("no request fails when the leader stops, and the follower leads at once", async () => {
    const service = new ReplicaService([first, second], ALL);
    await sleep(500);
    await first.process.stop();
    await replicas.leads(second);
    await sleep(500);
    expect((await service.stop()).map(({ failure }) => failure)).toEqual([]);
    expect(service.withdrawn.has(first)).toBe(true);
    expect(service.requests.filter(({ replica }) => replica === first).length).toBeGreaterThan(0);
    const next = await push(4);
    await apply("shared", 4);
    await serves(second, next);
  });

  test("no request fails after a killed leader is removed from the Service, and the follower leads and resolves the moved tag", async () => {
    first = await replicas.add("third");
    await replicas.ready(first);
    const service = new ReplicaService([first, second], ALL);
    await sleep(500);
    process.kill(second.process.pid ?? 0, "SIGKILL");
    await eventually(() => expect(service.endpoints).toEqual([first]));
    await replicas.leads(first);
    const next = await push(5);
    await apply("shared", 5);
    await serves(first, next);
    const failed = await service.stop();
    const withdrawnAt = service.withdrawn.get(second) ?? 0;
    expect(failed.filter(({ replica, from }) => replica !== second || from > withdrawnAt)).toEqual([]);
    expect(service.requests.filter(({ from }) => from > withdrawnAt).length).toBeGreaterThan(10);
    expect(service.requests.at(-1)?.text).toContain(next.line);
  });

  test("a leader whose process was suspended for longer than its Lease writes nothing when it resumes, and becomes a follower", async () => {
    const leader = first;
    const follower = await replicas.add("fourth");
    await replicas.ready(follower);
    await replicas.leads(leader);
    const pid = leader.process.pid ?? 0;
    process.kill(pid, "SIGSTOP");
    let before: number;
    let next: { digest: string; line: string };
    try {
      await replicas.leads(follower);
      next = await push(6);
      await apply("shared", 6);
      await serves(follower, next);
      before = (await replicas.writesOf(leader)).length;
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await serves(leader, next);
    await eventually(async () => expect((await readyz(leader)).text).toMatch(/leader ok: \S+ leads\n/));
    const written = (await replicas.writesOf(leader)).slice(before);
    expect(written.filter(({ objectRef }) => objectRef?.resource !== "leases")).toEqual([]);
    expect(written.filter(({ responseStatus }) => (responseStatus?.code ?? 0) < 400)).toEqual([]);
    expect((await readyz(follower)).text).toContain("leader ok: this process leads");
  });

  test("a leader that loses content while the registry is down gives up its Lease, and serves the content again when the registry is up", async () => {
    await using registry = await RegistryProxy.start(cluster.registry.host);
    const others = replicas.running;
    const loser = await replicas.add("fifth", ["--gc-interval=1s"], { registry: registry.host });
    await replicas.ready(loser);
    for (const other of others) await other.process.stop();
    await replicas.leads(loser);
    const keeper = await replicas.add("sixth");
    await replicas.ready(keeper);
    const digest = await statusDigest("shared");
    await registry.down();
    const kept = join(loser.cacheDir, "catalogs/shared");
    await truncate(join(kept, await readlink(join(kept, "current")), "catalog.jsonl"), 10);
    await replicas.leads(keeper);
    expect((await get(loser)).status).toBe(503);
    const answer = await get(keeper);
    expect([answer.status, answer.headers.get("olm-catalog-digest"), await statusDigest("shared")]).toEqual([200, digest, digest]);
    const { status } =
      (await cluster.client.get<ClusterCatalog>({ apiVersion: API_VERSION, kind: "ClusterCatalog", name: "shared" })) ?? {};
    expect(findCondition(status?.conditions, "Serving")).toMatchObject({ status: "True" });
    await registry.up();
    await eventually(async () => expect((await get(loser)).status).toBe(200));
    expect((await readyz(keeper)).text).toContain("leader ok: this process leads");
  });

  // As a Deployment with the strategy of config/manager: first an additional replica, then one of the old ones stops, and so on.
  test("no request fails during a rolling update, and a new replica leads afterwards", async () => {
    const old = replicas.running;
    expect(old.length).toBe(2);
    const service = new ReplicaService(old, ALL);
    const fresh: Replica[] = [];
    for (const [index, leaving] of old.entries()) {
      const joining = await replicas.add(`rolled-${index}`);
      await replicas.ready(joining);
      service.add(joining);
      fresh.push(joining);
      await leaving.process.stop();
    }
    await eventually(async () => {
      const reports = await Promise.all(fresh.map(async (replica) => (await readyz(replica)).text));
      expect(reports.filter((text) => text.includes("leader ok: this process leads"))).toHaveLength(1);
    });
    await sleep(500);
    expect((await service.stop()).map(({ failure }) => failure)).toEqual([]);
    for (const replica of [...old, ...fresh])
      expect(service.requests.filter((request) => request.replica === replica).length).toBeGreaterThan(0);
  });
});
