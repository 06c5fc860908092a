import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { newResolutionPage } from "../../pkg/operatorcontroller/dryResolution.ts";
import type { ResolutionRecord } from "../../pkg/resolve/resolutionRecord.ts";
import { AccessReviews } from "../../pkg/serving/accessReviews.ts";
import { type MetricsServer, startMetricsServer } from "../../pkg/serving/metricsServer.ts";
import { TlsFiles } from "../../pkg/serving/serverTls.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { createMetrics } from "../../pkg/telemetry/metrics.ts";
import { createCatalog } from "../support/catalogs.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { olmv1 } from "../support/runCli.ts";
import { serverCertificate } from "../support/serverCertificate.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const RBAC = join(import.meta.dirname, "../../config/rbac/metrics.yaml");
const READER = "operator-controller-resolution-reader";
const ENTRIES = [{ name: "p.v1.0.0" }, { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v1.2.0", replaces: "p.v1.1.0" }];
const VERSIONS = ["1.0.0", "1.1.0", "1.2.0"];
const CATALOG = [
  { schema: "olm.package", name: "p" },
  { schema: "olm.channel", package: "p", name: "stable", entries: ENTRIES },
  ...VERSIONS.map((version) => ({
    schema: "olm.bundle",
    package: "p",
    name: `p.v${version}`,
    image: `registry.example/p:v${version}`,
    properties: [{ type: "olm.package", value: { packageName: "p", version } }],
  })),
  { schema: "olm.package", name: "needy" },
  ...["1.0.0", "2.0.0"].map((version) => ({
    schema: "olm.bundle",
    package: "needy",
    name: `needy.v${version}`,
    image: `registry.example/needy:v${version}`,
    properties: [
      { type: "olm.package", value: { packageName: "needy", version } },
      { type: "olm.package.required", value: { packageName: "p", versionRange: `>=1.${version === "1.0.0" ? 2 : 9}.0` } },
    ],
  })),
];

// Source: D-03, D-07, D-25, D-28.
describeWithPrivateCluster("the record of a resolution", (cluster) => {
  const log = createLogger({ component: "test", level: "silent" });
  let world: OperatorWorld;
  let dir: string;
  let server: MetricsServer;
  let dispatcher: Agent;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    dir = await mkdtemp(join(tmpdir(), "olmv1-resolution-"));
    for (const version of VERSIONS) world.bundle(`p.v${version}`, tinyBundle(version));
    await world.serve({ channels: { stable: ENTRIES }, bundles: VERSIONS.map((version) => `p.v${version}`) });
    await servePushedCatalog();
    const { cert, key } = await serverCertificate("localhost");
    const [certFile, keyFile] = [join(dir, "tls.crt"), join(dir, "tls.key")];
    await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)]);
    dispatcher = new Agent({ connect: { ca: cert, servername: "localhost" } });
    server = await startMetricsServer({
      bindAddress: "127.0.0.1:0",
      tls: new TlsFiles({ certFile, keyFile, log }),
      metrics: createMetrics("t"),
      reviews: new AccessReviews({ client: cluster.client, log }),
      log,
      pages: [newResolutionPage(world.controller, () => true)],
    });
    // Selects only this catalog, not the one for the command line.
    const selector = { matchExpressions: [{ key: "tier", operator: "DoesNotExist" }] } as const;
    await world.extension("shown", { catalog: { version: "1.0.0", selector: { matchExpressions: [...selector.matchExpressions] } } });
    await world.conditions("shown", { Progressing: "True/Succeeded", Installed: "True/Succeeded" });
  });
  afterAll(async () => {
    await server?.close();
    await dispatcher?.close();
    await world?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  /** Pushes a catalog to the registry, for clients that pull it themselves. */
  async function servePushedCatalog(): Promise<void> {
    const text = CATALOG.map((meta) => JSON.stringify(meta)).join("\n");
    const { digest } = await pushImage(cluster.registry, "resolution-catalog", "latest", {
      files: new Map([["configs/catalog.json", Buffer.from(text)]]),
      labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
    });
    const ref = `registry.example/resolution-catalog@${digest}`;
    const { status, ...catalog } = createCatalog("pushed", { digest: ref, priority: -1, labels: { tier: "pushed" } });
    const created = await cluster.client.create(catalog);
    await cluster.client.patch({ ...created, name: "pushed" }, { status }, { type: "merge", subresource: "status" });
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host, "registry.example"));
  }

  async function change(version: string): Promise<ClusterExtension> {
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "shown" };
    return cluster.client.patch<ClusterExtension>(ref, { spec: { source: { catalog: { version } } } }, { type: "merge" });
  }

  async function get(path: string, token?: string): Promise<[status: number, text: string]> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await request(server.url + path, { headers, dispatcher });
    return [answer.statusCode, await answer.body.text()];
  }

  async function account(name: string, role?: string): Promise<string> {
    const namespace = "olmv1-system";
    await cluster.client.create({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } });
    if (role !== undefined)
      await cluster.client.create({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
        subjects: [{ kind: "ServiceAccount", name, namespace }],
      });
    return new ServiceAccountTokens(cluster.client).tokenFor(namespace, name)();
  }

  test("status lists available updates and why the newest version is excluded, and is not written again", async () => {
    const before = await world.get("shown");
    expect(before.status?.availableUpdates).toEqual([]);
    expect(before.status?.blockedUpdate).toMatchObject({ version: "1.2.0", bundle: "p.v1.2.0", catalog: "c", reason: "VersionRange" });
    await change("1.x");
    await eventually(async () => expect((await world.get("shown")).status?.install?.bundle.version).toBe("1.2.0"), { timeoutMs: 60_000 });
    await world.conditions("shown", { Ready: "True/Succeeded" });
    const after = await world.get("shown");
    expect([after.status?.availableUpdates, after.status?.blockedUpdate]).toEqual([[], undefined]);
    const [{ resourceVersion }, annotations] = [after.metadata, { "olm.operatorframework.io/reconcile-requested-at": "now" }];
    const ref = { apiVersion: after.apiVersion, kind: after.kind, name: "shown" };
    await cluster.client.patch(ref, { metadata: { annotations } }, { type: "merge" });
    const served = await eventually(async () => {
      const found = await world.get("shown");
      expect(found.status?.lastHandledReconcileAt).toBe("now");
      return found;
    });
    const { lastHandledReconcileAt: _, ...rest } = served.status ?? {};
    expect([rest, served.metadata.resourceVersion === resourceVersion]).toEqual([after.status, false]);
  });

  test("an Event reports each selected bundle with the reason", async () => {
    const resolved = await eventually(async () => {
      const events = (await world.events("shown")).filter((event) => event.startsWith("Resolved: "));
      expect(events.length).toBeGreaterThanOrEqual(3);
      return events;
    });
    expect(resolved).toContain('Resolved: bundle "p.v1.0.0" (version 1.0.0) of catalog "c": the only version matching "1.0.0"');
    expect(resolved.some((event) => event.includes('successor of "p.v1.1.0" by replaces in channel "stable"'))).toBe(true);
  });

  test("operator-controller serves resolution records only to authorized clients, and a record contains only the selected catalogs", async () => {
    const role = (parseYamlDocuments(await readFile(RBAC, "utf8")) as KubeObject[]).find(({ metadata }) => metadata.name === READER);
    await cluster.client.create(role as KubeObject);
    const [reader, stranger] = [await account("reader", READER), await account("stranger")];
    const path = "/debug/resolution/shown";
    const text = await eventually(async () => {
      const [status, body] = await get(path, reader);
      expect(status, body).toBe(200);
      return body;
    });
    const record = JSON.parse(text) as ResolutionRecord;
    expect(record.asked?.installed).toEqual({ bundle: "p.v1.2.0", version: "1.2.0" });
    expect(record.outcome).toMatchObject({ kind: "resolved", edge: "stay", winner: { bundle: "p.v1.2.0", catalog: "c" } });
    expect(record.catalogs.map(({ catalog }) => catalog)).toEqual(["c"]);
    expect(text).not.toContain("pushed");
    expect(await get(path)).toEqual([401, "Unauthorized\n"]);
    expect(await get(path, "made-up")).toEqual([401, "Unauthorized\n"]);
    expect((await get(path, stranger))[0]).toBe(403);
    expect((await get("/debug/resolution/nobody", stranger))[0]).toBe(403);
    expect(await get("/debug/resolution/nobody", reader)).toEqual([
      404,
      'ClusterExtension "nobody" does not exist or has no spec.source.catalog\n',
    ]);
    for (const other of ["/debug/resolution/", "/debug/resolution/a/b", "/debug/resolution/a%2fb", "/debug"])
      expect((await get(other, reader))[0], other).toBe(404);
  });

  test("olmv1 resolve and why-not explain why a version is selected or not, and report unreadable catalogs and missing extensions", async () => {
    const access = ["--kubeconfig", cluster.kubeconfig, "--registries-conf", join(dir, "registries.conf")];
    const folder = ["--catalog-dir", `here=${dir}/files`];
    const known = await olmv1("resolve", "p", ...access, "--catalog", "pushed", "--installed", "1.0.0", "--explain");
    expect([known.code, known.err]).toEqual([0, ""]);
    expect(known.out).toContain("bundle: p.v1.1.0 (version 1.1.0) of catalog pushed, by replaces in channel stable\n");
    const needy = await olmv1("resolve", "needy", ...access, "--catalog", "pushed");
    expect([needy.code, needy.err]).toEqual([0, ""]);
    expect(needy.out).toContain("bundle: needy.v1.0.0 (version 1.0.0) of catalog pushed\n");
    expect(needy.out).toContain('\nnote: bundle "needy.v2.0.0" is not selected: ');
    expect(needy.out).not.toContain("not checked");
    const silent = await olmv1("resolve", "shown", ...access, "-o", "json");
    expect(JSON.parse(silent.out)).toMatchObject({
      catalogs: [{ catalog: "c", state: "silent" }],
      outcome: { reason: "CatalogUnavailable" },
    });
    expect(silent.code).toBe(1);
    const whyNot = await olmv1("why-not", "1.0.0", "--extension", "shown", ...access, ...folder);
    expect([whyNot.code, whyNot.out]).toEqual([2, ""]);
    expect(whyNot.err).toContain("read catalog ");
    const unknown = await olmv1("why-not", "1.0.0", "--extension", "nobody", ...access);
    expect([unknown.code, unknown.err]).toEqual([2, 'olmv1: ClusterExtension "nobody" not found; run olmv1 list to list all extensions\n']);
    await writeFile(join(dir, "catalog.json"), CATALOG.map((meta) => JSON.stringify(meta)).join("\n"));
    const given = await olmv1("why-not", "1.1.0", "--extension", "shown", ...access, "--catalog-dir", `here=${dir}/catalog.json`);
    expect([given.code, given.err]).toEqual([1, ""]);
    expect(given.out.split("\n").slice(0, 3)).toEqual([
      "1.1.0 of package p is not selected for ClusterExtension shown",
      "p.v1.1.0 (version 1.1.0) of catalog here, priority 0:",
      '  upgradeEdges: it has no upgrade edge from "p.v1.2.0"',
    ]);
  });
});
