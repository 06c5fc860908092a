import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { renderTokenKubeconfig } from "../../pkg/devcluster/kubeconfig.ts";
import { ServiceAccountTokens } from "../../pkg/kube/tokens.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { CONFIG_DIR_LABEL } from "../../pkg/oci/pull/imageFilter.ts";
import { CatalogdAtWork } from "../support/catalogdAtWork.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { type Ended, runCli } from "../support/runCli.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";

const bundle = (version: string, minKubeVersion: string): object => ({
  schema: "olm.bundle",
  package: "lamp",
  name: `lamp.v${version}`,
  image: `quay.io/example/lamp:v${version}`,
  properties: [
    { type: "olm.package", value: { packageName: "lamp", version } },
    { type: "olm.csv.metadata", value: { displayName: "Lamp", minKubeVersion } },
  ],
});
const buildCatalog = (minKubeVersion: string): string =>
  [
    { schema: "olm.package", name: "lamp", defaultChannel: "stable" },
    {
      schema: "olm.channel",
      package: "lamp",
      name: "stable",
      entries: [{ name: "lamp.v1.0.0" }, { name: "lamp.v1.1.0", replaces: "lamp.v1.0.0" }],
    },
    bundle("1.0.0", "1.20.0"),
    bundle("1.1.0", minKubeVersion),
  ]
    .map((meta) => JSON.stringify(meta))
    .join("\n");

// Source: D-28, D-31.
describeWithPrivateCluster("commands for ClusterCatalogs", (cluster) => {
  let catalogd: CatalogdAtWork;
  let dir: string;
  beforeAll(async () => {
    await cluster.installCrds();
    dir = await mkdtemp(join(tmpdir(), "olmv1-cli-"));
    await writeFile(join(dir, "registries.conf"), insecureRegistry(cluster.registry.host));
    catalogd = await CatalogdAtWork.start(cluster, insecureRegistry(cluster.registry.host));
  });
  afterAll(async () => {
    await catalogd?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<Ended> =>
    runCli([...args, "--kubeconfig", cluster.kubeconfig], { width: 200, env: { XDG_CACHE_HOME: join(dir, "cache") } });
  const views = (...args: string[]): Promise<Ended> => run(...args, "--registries-conf", join(dir, "registries.conf"));
  async function push(
    repository: string,
    text: string,
    labels: Record<string, string> = { [CONFIG_DIR_LABEL]: "/configs" },
  ): Promise<string> {
    await pushImage(cluster.registry, repository, "v1", { files: new Map([["configs/catalog.json", Buffer.from(text)]]), labels });
    return `${cluster.registry.host}/${repository}:v1`;
  }

  test("olmv1 catalog adds a catalog and waits until it is served, and lists, shows and removes the catalog", async () => {
    const ref = await push("cli/lamps", buildCatalog("1.20.0"));
    expect((await run("catalog", "list")).err).toContain("the cluster has no ClusterCatalog");
    expect((await run("catalog", "add", "lamps", ref, "--dry-run=server")).out).toContain("lamps created (server dry run)\n");
    expect(await catalogd.get("lamps")).toBeUndefined();
    const added = await run("catalog", "add", "lamps", ref, "--priority", "7", "--label", "a=b", "--poll-interval", "1h", "--wait");
    expect(added).toEqual({ code: 0, out: "clustercatalog.olm.operatorframework.io/lamps is served\n", err: "" });
    const again = await run("catalog", "add", "lamps", ref);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining(`ClusterCatalog "lamps" already exists with image ${ref}`)]);

    expect((await run("catalog", "list")).out).toMatch(new RegExp(`^NAME .*\nlamps +serving +7 +${ref} +\\d+s\n$`));
    expect((await run("catalog", "list", "-o", "wide")).out).toContain("sha256:");
    expect((await run("catalog", "list", "-o", "name")).out).toBe("clustercatalog.olm.operatorframework.io/lamps\n");
    expect((await run("catalog", "get", "lamps", "-o", "jsonpath={.metadata.labels.a}")).out).toBe("b");
    expect((await run("catalog", "get", "lamps")).out).toContain("Serving:      True (Available)");
    const { spec } = JSON.parse((await run("catalog", "get", "lamps", "-o", "json")).out) as ClusterCatalog;
    expect([spec.priority, spec.source.image?.pollIntervalMinutes]).toEqual([7, 60]);
    expect((await run("catalog", "get", "lights")).err).toContain('ClusterCatalog "lights" not found');
  });

  test("olmv1 search reads the content of served catalogs, and pulls each image only once", async () => {
    const found = await views("search", "lamp");
    expect(found).toEqual({ code: 0, out: expect.stringMatching(/^PACKAGE .*\nlamp +stable +1\.1\.0/) as string, err: "" });
    expect(await readdir(join(dir, "cache/olmv1/catalogs"))).toEqual([expect.stringMatching(/^sha256-[0-9a-f]{64}$/)]);
    // The registry is stopped, so the command reads the cache folder.
    expect((await run("show", "lamp", "-o", "jsonpath={.version.bundle}")).out).toBe("lamp.v1.1.0");
    expect((await run("catalog", "search", "lamps", "-o", "name")).out).toBe("lamp\n");
    const proposed = await runCli(["__complete", "show", "--kubeconfig", cluster.kubeconfig, "l"], {
      env: { XDG_CACHE_HOME: join(dir, "cache") },
    });
    expect(proposed.out).toBe("lamp\n:4\n");
  });

  test("olmv1 versions, graph, show and search print which bundles are installed", async () => {
    const extension = await cluster.client.create(createExtension("my-lamp", { packageName: "lamp" }));
    const status = { conditions: [], install: { bundle: { name: "lamp.v1.0.0", version: "1.0.0" } } };
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "my-lamp" },
      { status },
      { type: "merge", subresource: "status" },
    );
    expect((await run("versions", "lamp")).out).toMatch(/1\.1\.0 .*direct.*\n1\.0\.0 .*installed \(my-lamp\)/);
    expect((await run("graph", "lamp")).out).toContain("● 1.0.0  installed by my-lamp\n");
    expect((await run("show", "lamp")).out).toContain("1.0.0 by ClusterExtension my-lamp");
    expect((await run("search")).out).toMatch(/INSTALLED.*\nlamp .*1\.0\.0/);
    const removed = await run("catalog", "remove", "lamps", "--dry-run=server");
    expect(removed.out).toContain("lamps deleted (server dry run)\n");
    expect(removed.out).toContain("  my-lamp: lamp 1.0.0\n");
    for (const [catalog, isReported] of [
      ["lamps", true],
      ["other", false],
    ] as const) {
      await cluster.client.patch(
        { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "my-lamp" },
        { status: { install: { catalog } } },
        { type: "merge", subresource: "status" },
      );
      const { out } = await run("catalog", "remove", "lamps", "--dry-run=server");
      expect(out.includes("  my-lamp: lamp 1.0.0\n")).toBe(isReported);
    }
    await cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: extension.metadata.name });
  });

  test("olmv1 search prints which packages the user can install in the cluster", async () => {
    expect((await run("search", "--installable", "-o", "name")).out).toBe("lamp\n");
    await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "readers" } }, { fieldManager: "test" });
    await serviceAccount(cluster.client, "readers", "reader", [
      { apiGroups: ["olm.operatorframework.io"], resources: ["clustercatalogs"], verbs: ["list"] },
    ]);
    const token = join(dir, "token");
    await writeFile(token, await new ServiceAccountTokens(cluster.client).tokenFor("readers", "reader")());
    const kubeconfig = join(dir, "kubeconfig");
    await writeFile(kubeconfig, await renderTokenKubeconfig(cluster.kubeconfig, token));
    const asReader = (...args: string[]): Promise<Ended> =>
      runCli([...args, "--kubeconfig", kubeconfig], { env: { XDG_CACHE_HOME: join(dir, "cache") } });
    const answer = JSON.parse((await asReader("search", "-o", "json")).out) as { items: object[] };
    expect(answer.items).toMatchObject([{ package: "lamp", installable: false, hindrances: ["you may not create ClusterExtensions"] }]);
    const { code, err } = await asReader("search", "--installable");
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("no match among 1 package in 1 catalog; 1 package would match without --installable"),
    ]);
  });

  test("olmv1 commands report why a catalog is not served", async () => {
    const ref = await push("cli/no-catalog", "nothing", {});
    const { code, out } = await run("catalog", "add", "wrong", ref, "--wait", "--timeout", "10m");
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /^clustercatalog\.olm\.operatorframework\.io\/wrong is not served: .*label.*Build a catalog image with olmv1 catalog build/,
      ),
    ]);
    expect((await views("search", "lamp")).err).toBe('olmv1: skipped catalog wrong: catalog "wrong" is not being served\n');
    const removed = await run("catalog", "remove", "wrong");
    expect(removed).toMatchObject({ code: 0, out: "clustercatalog.olm.operatorframework.io/wrong deleted\n", err: "" });
  });

  test("olmv1 catalog add --wait exits at once when the image does not exist", async () => {
    const ref = `${cluster.registry.host}/cli/nowhere:v1`;
    const { code, out, err } = await run("catalog", "add", "nowhere", ref, "--wait", "--timeout", "10m");
    const text =
      /^clustercatalog\.olm\.operatorframework\.io\/nowhere is not served: .*manifest unknown.*\. Check the image name and tag\n$/;
    expect([code, out, err]).toEqual([1, expect.stringMatching(text), ""]);
    const { status } = (await catalogd.get("nowhere")) ?? {};
    expect(status?.failure).toEqual({ reason: "not_found" });
    await run("catalog", "remove", "nowhere");
  });

  test("olmv1 catalog add --wait exits at once when the content is invalid", async () => {
    const ref = await push("cli/broken", `${buildCatalog("1.20.0")}\n{"schema": "olm.channel", "name": ]}\n`);
    const { code, out, err } = await run("catalog", "add", "broken", ref, "--wait", "--timeout", "10m");
    const text =
      /^clustercatalog\.olm\.operatorframework\.io\/broken is not served: .*catalog\.json: document 5.*List the errors with olmv1 catalog validate\n$/;
    expect([code, out, err]).toEqual([1, expect.stringMatching(text), ""]);
    expect((await catalogd.get("broken"))?.status?.failure).toEqual({ reason: "content" });
    await run("catalog", "remove", "broken");
  });

  test("olmv1 search reports packages that need another Kubernetes version", async () => {
    const ref = await push("cli/later", buildCatalog("1.99.0"));
    await run("catalog", "add", "later", ref, "--wait");
    const { items } = JSON.parse((await views("search", "--catalog", "later", "-o", "json")).out) as { items: { hindrances: string[] }[] };
    expect(items[0]?.hindrances).toEqual([expect.stringContaining("its minKubeVersion is 1.99.0")]);
    expect(await run("catalog", "remove", "later")).toEqual({
      code: 0,
      out: "clustercatalog.olm.operatorframework.io/later deleted\n",
      err: "",
    });
    await eventually(async () => expect(await catalogd.get("later")).toBeUndefined());
  });
});
