import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { type RegistryServer, startRegistry } from "../../pkg/devcluster/registryServer.ts";
import { buildSampleBundles, buildSampleCatalog, SAMPLE_PACKAGE, SAMPLE_VERSIONS } from "../../pkg/devcluster/sample/sample.ts";
import { parseYaml, parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { createExtension } from "../support/extensions.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { runCli } from "../support/runCli.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { pushSignatures, Signer } from "../support/signing.ts";
import { pushIndex } from "../support/stores.ts";
import { World } from "../support/world.ts";

const RELATED = 16;

interface Mirrored {
  mapping: Record<string, string>;
  images: { source: string; destination: string; status: string; digest: string; attached: number }[];
  catalog: string;
}

describeWithPrivateCluster("a mirrored catalog", (cluster) => {
  let dir: string;
  let source: RegistryServer;
  let world: World;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "olmv1-mirror-"));
    source = await startRegistry(dir, () => undefined);
    world = await World.start(cluster);
  });
  afterAll(async () => {
    await world?.stop();
    await source?.stop();
    await rm(dir, { recursive: true, force: true });
  });

  /** Runs a command that must succeed. @returns its output. */
  async function olmv1(...args: string[]): Promise<string> {
    const { code, out, err } = await runCli(args);
    if (code !== 0) throw new Error(`olmv1 ${args.join(" ")} ended with ${code}: ${err}`);
    return out.trim();
  }

  async function write(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<string> {
    for (const [path, content] of files) {
      await mkdir(dirname(join(dir, folder, path)), { recursive: true });
      await writeFile(join(dir, folder, path), content);
    }
    return join(dir, folder);
  }

  /** Pushes images for the bundles: one for two platforms, the first by tag, one signed. */
  async function relatedImages(): Promise<string[]> {
    const target = { host: source.host, insecure: true };
    const shared = Buffer.alloc(1_500_000, "shared by all");
    const images: string[] = [];
    for (let at = 0; at < RELATED; at++) {
      const repository = `things/thing-${at}`;
      const { digest } = await pushImage(target, repository, "v1", { files: new Map([["big", shared]]), labels: { at: String(at) } });
      images.push(`${source.host}/${repository}${at === 0 ? ":v1" : `@${digest}`}`);
      if (at === 1) await pushSignatures(target, repository, digest, [new Signer().claim(digest, `${source.host}/${repository}`)]);
    }
    const platforms = ["amd64", "arm64"].map(async (architecture) => {
      const image = await pushImage(target, "things/both", architecture, { files: new Map([["a", Buffer.from(architecture)]]) });
      return { ...image, platform: { os: "linux", architecture } };
    });
    const index = await pushIndex(target, "things/both", "v1", await Promise.all(platforms));
    return [...images, `${source.host}/things/both@${index.digest}`];
  }

  test("operator-controller installs an extension from a mirror when the source registry is not available", async () => {
    const bundles: string[] = [];
    for (const { version, files } of buildSampleBundles()) {
      const folder = await write(`bundle-${version}`, files);
      bundles.push(await olmv1("bundle", "build", folder, "-t", `${source.host}/team/hello-bundle:v${version}`, "--insecure"));
    }
    const related = await relatedImages();
    const catalog = Buffer.concat([...buildSampleCatalog("quay.io").values()].flatMap((text) => [text, Buffer.from("\n---\n")])).toString(
      "utf8",
    );
    const documents = parseYamlDocuments(catalog).filter((document) => document !== null) as KubeObject[];
    const metas = documents.map((meta) => {
      if (meta["schema"] !== "olm.bundle") return meta;
      const at = SAMPLE_VERSIONS.findIndex((version) => String(meta["name"]).endsWith(`v${version}`));
      return { ...meta, image: bundles[at], relatedImages: related.map((image, i) => ({ name: `thing-${i}`, image })) };
    });
    const folder = await write("hello", new Map([["catalog.json", Buffer.from(metas.map((meta) => JSON.stringify(meta)).join("\n"))]]));
    const built = await olmv1("catalog", "build", folder, "-t", `oci:${join(dir, "layout")}:v1`);
    const pushed = await olmv1("catalog", "push", `oci:${join(dir, "layout")}:v1`, `${source.host}/team/hello:v1`, "--insecure");
    expect(pushed.split("@")[1]).toBe(built.split("@")[1]);

    await writeFile(join(dir, "source.conf"), insecureRegistry(source.host));
    const mirror = async (...where: string[]): Promise<Mirrored> =>
      JSON.parse(await olmv1("catalog", "mirror", ...where, "--registries-conf", join(dir, "source.conf"), "-o", "json")) as Mirrored;
    const disk = `oci:${join(dir, "disk")}`;
    const first = await mirror(`${source.host}/team/hello:v1`, disk);
    expect(first.images.map(({ status }) => status)).toEqual(Array.from({ length: RELATED + 5 }, () => "copied"));
    expect(first.images.filter(({ attached }) => attached > 0).map((image) => image.source)).toEqual([related[1]]);
    for (const { source: from, digest } of first.images) if (from.includes("@")) expect(from.split("@")[1]).toBe(digest);
    const again = await mirror(`${source.host}/team/hello:v1`, disk);
    expect(again.images.map(({ status }) => status)).toEqual(Array.from({ length: RELATED + 5 }, () => "present"));

    await source.stop();
    const target = [`${cluster.registry.host}/olm/mirror`, "--to-dir", join(dir, "manifests"), "--insecure", "--block-sources"];
    const arrived = await mirror(disk, ...target);
    const facts = ({ images }: Mirrored): unknown => images.map(({ digest, attached, status }) => ({ digest, attached, status }));
    expect(facts(arrived)).toEqual(facts(first));
    await writeFile(join(world.workDir, "registries.conf"), await readFile(join(dir, "manifests/registries.conf")));
    const clusterCatalog = parseYaml(await readFile(join(dir, "manifests/clusterCatalog.yaml"), "utf8")) as KubeObject;
    expect(clusterCatalog.metadata.name).toBe("hello");
    await world.apply(clusterCatalog);
    await world.condition("ClusterCatalog", "hello", (c) => c("Serving")?.status === "True", 60_000);
    const extension = createExtension("mirrored", { packageName: SAMPLE_PACKAGE, version: "1.1.0" });
    const namespace = getNamespace(extension);
    const objects = buildSampleBundles().flatMap(({ files }) => renderBundle(loadBundle(files), { installNamespace: namespace }));
    await grantInstaller(cluster.client, extension, objects);
    await world.apply(extension);
    await world.installed("mirrored", "1.1.0");
  });
});
