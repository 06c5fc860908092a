import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import { findBinaries } from "../../pkg/devcluster/binaries.ts";
import { Component } from "../../pkg/devcluster/component.ts";
import { renderRegistryConfig } from "../../pkg/devcluster/flags.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ConnectProxy } from "../support/connectProxy.ts";
import { createExtension } from "../support/extensions.ts";
import { EVERYTHING } from "../support/loneExtension.ts";
import { serverCertificate } from "../support/serverCertificate.ts";
import { grantInstaller, serviceAccount } from "../support/serviceAccounts.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { World } from "../support/world.ts";

/** A host that only the proxy can resolve. */
const MIRROR = "mirror.example.com";
/** A name that no resolver can resolve. */
const ORIGIN = "origin.example.com";
const PASSWORD = "s3cr3t-of-the-test";
/** bcrypt of the password */
const HTPASSWD = "user:$2a$04$VE.04pjpQXAGHKw4Yo5KiOsaleqlCdYJ1sZCHh4iW3KcqahwnTFxi\n";
const CATALOG = [
  { schema: "olm.package", name: "p" },
  { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0" }] },
  {
    schema: "olm.bundle",
    package: "p",
    name: "p.v1.0.0",
    image: `${ORIGIN}/bundle:v1`,
    properties: [{ type: "olm.package", value: { packageName: "p", version: "1.0.0" } }],
  },
];

describeWithPrivateCluster("both programs", (cluster) => {
  let dir: string;
  let world: World;
  let proxy: ConnectProxy;
  const registries: Component[] = [];

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "olmv1-programs-"));
    const [open = 0, closed = 0] = await findFreePorts(2);
    await startRegistries(open, closed);
    const target = { host: `127.0.0.1:${open}`, insecure: true };
    const images = {
      catalog: { "configs/catalog.json": CATALOG.map((meta) => JSON.stringify(meta)).join("\n") },
      bundle: tinyBundle("1.0.0"),
    };
    const ofCatalog = { "operators.operatorframework.io.index.configs.v1": "/configs" };
    for (const [name, files] of Object.entries(images))
      await pushImage(target, `olm/${name}`, "v1", {
        files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
        labels: name === "catalog" ? ofCatalog : {},
      });
    proxy = await ConnectProxy.start(() => closed);
    world = await World.start(cluster, startOptions(await accessFlags(), { HTTPS_PROXY: proxy.url }));
  });

  afterAll(async () => {
    await world?.stop();
    proxy?.stop();
    for (const registry of registries) await registry.stop();
    await rm(dir, { recursive: true, force: true });
  });

  /** Two registries with the same images: one to push to, and one with its own certificate and required login. */
  async function startRegistries(open: number, closed: number): Promise<void> {
    const binaries = await findBinaries(() => undefined);
    const { cert, key } = await serverCertificate(MIRROR);
    const paths = { cert: join(dir, "registry.crt"), key: join(dir, "registry.key"), htpasswd: join(dir, "htpasswd") };
    await mkdir(join(dir, "registry"));
    await mkdir(join(dir, "authorities"));
    await writeFile(paths.cert, cert);
    await writeFile(paths.key, key);
    await writeFile(join(dir, "authorities", "registry.crt"), cert);
    await writeFile(paths.htpasswd, HTPASSWD);
    const secured =
      `  tls: {certificate: ${JSON.stringify(paths.cert)}, key: ${JSON.stringify(paths.key)}}\n` +
      `auth:\n  htpasswd: {realm: test, path: ${JSON.stringify(paths.htpasswd)}}\n`;
    for (const [name, port, more] of [
      ["open", open, ""],
      ["closed", closed, secured],
    ] as const) {
      const config = join(dir, `${name}.yaml`);
      await writeFile(config, renderRegistryConfig({ dataDir: dir, ports: { registry: port } }) + more);
      const registry = Component.start({
        name: "registry",
        binary: binaries.registry,
        args: ["serve", config],
        logFile: join(dir, `${name}.log`),
        // A registry with a certificate responds to plain HTTP with 400.
        ready: async () => (await fetch(`http://127.0.0.1:${port}/v2/`)).status < 500,
      });
      registries.push(registry);
      await registry.ready(30_000);
    }
  }

  async function accessFlags(): Promise<string[]> {
    const conf = `[[registry]]\nprefix = "${ORIGIN}"\nlocation = "${ORIGIN}"\n[[registry.mirror]]\nlocation = "${MIRROR}/olm"\n`;
    await writeFile(join(dir, "registries.conf"), conf);
    await writeFile(join(dir, "auth.json"), JSON.stringify({ auths: { [MIRROR]: { auth: btoa(`user:${PASSWORD}`) } } }));
    const files = { "registries-conf": "registries.conf", "auth-file": "auth.json", "pull-cas-dir": "authorities" };
    return Object.entries(files).flatMap(([flag, name]) => [`--${flag}`, join(dir, name)]);
  }

  // S0-102: catalogs and bundles have the same credentials, authorities, mirrors and proxies
  test("both servers pull images through a proxy from a mirror that requires a login and has a private CA", async () => {
    await world.serve("mirrored", `${ORIGIN}/catalog:v1`);
    expect(proxy.seen).toContain(`${MIRROR}:443`);
    const catalog = await world.condition("ClusterCatalog", "mirrored", (c) => c("Progressing")?.reason === "Succeeded");
    // Regardless of the mirror that it came from.
    expect(catalog).toMatchObject({ status: { resolvedSource: { image: { ref: expect.stringMatching(`^${ORIGIN}/catalog@sha256:`) } } } });
    const before = proxy.seen.length;
    const extension = createExtension("mirrored", { packageName: "p" });
    const namespace = getNamespace(extension);
    const { serviceAccount: account } = extension.spec;
    await grantInstaller(cluster.client, extension, []); // permission to mint its token
    await serviceAccount(cluster.client, namespace, account?.name ?? "", [EVERYTHING]);
    await world.apply(extension);
    await world.installed("mirrored", "1.0.0");
    expect(proxy.seen.slice(before)).toContain(`${MIRROR}:443`);
    for (const program of ["catalogd", "operator-controller"])
      expect(await readFile(join(world.workDir, `${program}.log`), "utf8")).not.toContain(PASSWORD);
  });

  test("every server exposes exactly the metrics in the reference", async () => {
    const page = await readFile(join(import.meta.dirname, "../../docs/reference/metrics.md"), "utf8");
    for (const [program, url] of Object.entries(world.installation.probes)) {
      const sections = page.split("\n## ").filter((section) => {
        const [title = ""] = section.split("\n", 1);
        return title === "All servers" || title.split(/, | and /).includes(program);
      });
      const lines = [...sections.join("\n").matchAll(/^- ((?:`\w+`,? )+)\((\w+)/gm)];
      const named = lines.flatMap(([, names = "", type]) => [...names.matchAll(/\w+/g)].map(([name]) => `${name} ${type}`));
      const others = [...Object.keys(world.installation.probes), "console"].filter((other) => other !== program);
      const documented = named.filter((line) => others.every((other) => !line.startsWith(`${other.replaceAll("-", "_")}_`)));
      const text = await (await fetch(`${url}/metrics`)).text();
      const shown = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
      expect(documented.length).toBeGreaterThan(10);
      expect(shown.filter((line) => !/^(process|nodejs)_/.test(line)).sort()).toEqual(documented.sort());
    }
  });
});

function startOptions(flags: string[], env: Record<string, string>): Parameters<typeof World.start>[1] {
  return { extraArgs: { catalogd: flags, "operator-controller": flags }, env: { catalogd: env, "operator-controller": env } };
}
