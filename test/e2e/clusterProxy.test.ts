import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { OpenShift } from "../support/openShift.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

const FILES = new Map(Object.entries(tinyBundle("1.0.0")).map(([path, text]) => [path, new TextEncoder().encode(text)]));
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment", namespace: "p-system", name: "tiny" };

// Source: S0-089, H-16: programs, flags and permissions as installed.
describeWithPrivateCluster("operator-controller on an OpenShift cluster with a proxy", (cluster) => {
  const flags = ["--max-backoff", "2s"];
  let world: World;

  beforeAll(async () => {
    const openShift = new OpenShift(cluster.client);
    await openShift.install(["proxies"]);
    await openShift.setProxy({ httpProxy: "http://user:s3cr3t@proxy:3128", noProxy: ".svc" });
    world = await World.start(cluster, { extraArgs: { "operator-controller": flags } });
    const image = await world.pushBundle("bundles/p", "1.0.0", "p", FILES);
    const metas = [
      { schema: "olm.package", name: "p", defaultChannel: "stable" },
      { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0" }] },
      {
        schema: "olm.bundle",
        package: "p",
        name: "p.v1.0.0",
        image,
        properties: [{ type: "olm.package", value: { packageName: "p", version: "1.0.0" } }],
      },
    ];
    const text = metas.map((meta) => `${JSON.stringify(meta)}\n`).join("");
    await world.pushCatalog("catalogs/p", "latest", new Map([["catalog.json", new TextEncoder().encode(text)]]));
    await world.serve("p", "quay.io/catalogs/p:latest");
  });

  afterAll(async () => {
    await world?.stop();
    expect(await listDeniedRequests(new AuditTail(cluster.auditLog))).toEqual([]);
  });

  const hasEnvironment = (want: object[]): Promise<void> =>
    eventually(
      async () => {
        const found = await cluster.client.get(DEPLOYMENT);
        expect(found).toMatchObject({ spec: { template: { spec: { containers: [{ name: "manager" }] } } } });
        const { spec } = found as unknown as { spec: { template: { spec: { containers: { env?: object[] }[] } } } };
        expect(spec.template.spec.containers[0]?.env ?? []).toEqual(want);
      },
      { timeoutMs: 60_000 },
    );
  const restartWith = async (...args: string[]): Promise<void> => {
    flags.splice(0, Number.POSITIVE_INFINITY, "--max-backoff", "2s", ...args);
    await world.installation.restart("operator-controller");
  };

  test("operator-controller sets the proxy variables of operators from the cluster proxy or from its flags, and logs no password", async () => {
    const extension = createExtension("p", { packageName: "p" });
    await grantInstaller(cluster.client, extension, renderBundle(loadBundle(FILES), { installNamespace: getNamespace(extension) }));
    await world.apply(extension);
    await hasEnvironment([
      { name: "HTTP_PROXY", value: "http://user:s3cr3t@proxy:3128" },
      { name: "NO_PROXY", value: ".svc" },
    ]);
    await restartWith("--operator-https-proxy", "http://user:s3cr3t@other:3128");
    await hasEnvironment([{ name: "HTTPS_PROXY", value: "http://user:s3cr3t@other:3128" }]);
    await restartWith("--operator-proxy", "none");
    await hasEnvironment([]);
    const log = await readFile(join(world.workDir, "operator-controller.log"), "utf8");
    expect(log).toContain("release needed");
    expect(log).not.toContain("s3cr3t");
  });
});
