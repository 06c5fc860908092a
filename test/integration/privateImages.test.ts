import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { ClosedRegistry, PASSWORD } from "../support/closedRegistry.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { grantInstaller, serviceAccount } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

/** The compared members of a log line. */
interface LogLine {
  msg: string;
  time: string;
  object?: string;
  condition?: string;
  retryAfterMs?: number;
}

const NAMESPACE = "olmv1-system";
const PRIVATE = "private.example.com";
const CATALOG = [
  { schema: "olm.package", name: "p" },
  { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0" }] },
  {
    schema: "olm.bundle",
    package: "p",
    name: "p.v1.0.0",
    image: `${PRIVATE}/olm/bundle:v1`,
    properties: [{ type: "olm.package", value: { packageName: "p", version: "1.0.0" } }],
  },
];

describeWithPrivateCluster("private images", (cluster) => {
  let dir: string;
  let registry: ClosedRegistry;
  let world: World;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "olmv1-private-"));
    registry = await ClosedRegistry.start();
    const images = {
      catalog: { "configs/catalog.json": CATALOG.map((meta) => JSON.stringify(meta)).join("\n") },
      bundle: tinyBundle("1.0.0"),
    };
    const ofCatalog = { "operators.operatorframework.io.index.configs.v1": "/configs" };
    for (const [name, files] of Object.entries(images))
      await pushImage(registry.target, `olm/${name}`, "v1", {
        files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
        labels: name === "catalog" ? ofCatalog : {},
      });
    const conf = join(dir, "registries.conf");
    await writeFile(conf, `[[registry]]\nprefix = "${PRIVATE}"\nlocation = "${registry.host}"\ninsecure = true\n`);
    const flags = ["--registries-conf", conf, "--global-pull-secret", "default/everybody"];
    world = await World.start(cluster, { extraArgs: { catalogd: flags, "operator-controller": flags } });
  });
  afterAll(async () => {
    await world?.stop();
    await registry?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  async function secret(name: string, form: ".dockerconfigjson" | ".dockercfg", password: string): Promise<void> {
    const entries = { [registry.host]: { auth: btoa(`user:${password}`) } };
    const text = JSON.stringify(form === ".dockercfg" ? entries : { auths: entries });
    await world.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: NAMESPACE },
      type: form === ".dockercfg" ? "kubernetes.io/dockercfg" : "kubernetes.io/dockerconfigjson",
      data: { [form]: Buffer.from(text).toString("base64") },
    });
  }
  const readLog = async (program: "catalogd" | "operator-controller"): Promise<LogLine[]> =>
    (await readFile(join(world.workDir, `${program}.log`), "utf8"))
      .split("\n")
      .filter((line) => line.startsWith("{") && line.endsWith("}"))
      .map((line) => JSON.parse(line) as LogLine);
  async function give(program: "catalogd" | "operator-controller", name: string): Promise<void> {
    const account = { apiVersion: "v1", kind: "ServiceAccount", name: `${program}-controller-manager`, namespace: NAMESPACE };
    await cluster.client.patch(account, { imagePullSecrets: [{ name }] }, { type: "merge" });
  }

  // S0-102, X-15
  test("private images are pulled with the imagePullSecrets of both servers' ServiceAccounts, and corrected Secrets are used at once", async () => {
    await world.apply({
      apiVersion: "olm.operatorframework.io/v1",
      kind: "ClusterCatalog",
      metadata: { name: "private" },
      spec: { source: { type: "Image", image: { ref: `${PRIVATE}/olm/catalog:v1` } } },
    });
    const refused = await world.condition("ClusterCatalog", "private", (c) => c("Progressing")?.reason === "Retrying");
    expect(JSON.stringify(refused["status"])).toContain("authentication required");
    await secret("for-catalogs", ".dockercfg", "guess");
    await give("catalogd", "for-catalogs");
    const failed = await eventually(async () => {
      const last = (await readLog("catalogd")).findLast(({ msg, object }) => msg === "reconcile failed" && object === "private");
      expect(last?.retryAfterMs).toBeGreaterThan(10_000);
      return last;
    });
    await secret("for-catalogs", ".dockercfg", PASSWORD);
    await world.condition("ClusterCatalog", "private", (c) => c("Serving")?.status === "True");
    const served = await eventually(async () => {
      const line = (await readLog("catalogd")).find(({ condition, object }) => condition === "Serving" && object === "private");
      expect(line).toBeDefined(); // the server logs it after the status write
      return line;
    });
    expect(Date.parse(served?.time ?? "") - Date.parse(failed?.time ?? "")).toBeLessThan(failed?.retryAfterMs ?? 0);

    const extension = createExtension("private", { packageName: "p" });
    const namespace = getNamespace(extension);
    const { serviceAccount: account } = extension.spec;
    await grantInstaller(cluster.client, extension, []);
    await serviceAccount(cluster.client, namespace, account?.name ?? "", [EVERYTHING]);
    await world.apply(extension);
    await world.condition("ClusterExtension", "private", (c) => /authentication required/.test(c("Progressing")?.message ?? ""));
    await secret("for-bundles", ".dockerconfigjson", PASSWORD);
    await give("operator-controller", "for-bundles");
    await world.installed("private", "1.0.0");
    for (const program of ["catalogd", "operator-controller"] as const) {
      const log = await readFile(join(world.workDir, `${program}.log`), "utf8");
      expect(log).not.toContain(PASSWORD);
      expect(log).not.toContain(btoa(`user:${PASSWORD}`));
    }
  });
});
