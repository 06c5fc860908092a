import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { MEDIA_TYPE, MEDIA_TYPE_KEY } from "../../pkg/bundle/annotations.ts";
import { TerminalError } from "../../pkg/errors/errors.ts";
import { BUNDLE_IMAGE_LIMITS, type Limits } from "../../pkg/oci/limits.ts";
import type { Descriptor } from "../../pkg/oci/manifest.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { CONFIG_DIR_LABEL, findBundleRoot, findCatalogRoot } from "../../pkg/oci/pull/imageFilter.ts";
import { packLayout } from "../../pkg/oci/store/layoutArchive.ts";
import { packChart, writeChartLayout } from "../../release/chart.ts";
import { getImage } from "../../release/project.ts";
import { publishLayout } from "../../release/publishChart.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { insecureRegistry, puller } from "../support/pulling.ts";
import { pushIndex, repository } from "../support/stores.ts";
import { TempFolder } from "../support/tempFolder.ts";

const signal = new AbortController().signal;
const files = new Map([
  ["configs/b/catalog.yaml", Buffer.from("b")],
  ["configs/a/catalog.yaml", Buffer.from("a")],
  ["top", Buffer.alloc(200_000, "content ")],
]);
const labels = { [CONFIG_DIR_LABEL]: "/configs", another: "label" };

describeWithCluster("images in a real registry", (cluster) => {
  const createMirrored = () => puller({ conf: insecureRegistry(cluster.registry.host, "quay.io") });

  test.for(["gzip", "zstd", "none"] as const)("an image that is pushed with %s compression is pulled unchanged", async (compression) => {
    const repository = cluster.name("ns/app");
    const pushed = await pushImage(cluster.registry, repository, "v1", { files, labels, compression });
    const { puller: p } = await createMirrored();
    const pulled = await p.pull("ext", `quay.io/${repository}:v1`, { signal });
    expect(pulled).toMatchObject({ canonical: `quay.io/${repository}@${pushed.digest}`, digest: pushed.digest, labels });
    for (const [path, content] of files) expect(content.equals(await readFile(join(pulled.dir, path)))).toBe(true);
    expect(await p.resolve(`quay.io/${repository}:v1`, signal)).toEqual({ canonical: pulled.canonical, digest: pushed.digest });
  });

  test("the digest of unpacked content does not depend on the order of its files", async () => {
    const repository = cluster.name("ns/app");
    const shuffled = new Map([...files].reverse());
    const one = await pushImage(cluster.registry, repository, "one", { files, labels: { b: "2", a: "1" } });
    const two = await pushImage(cluster.registry, repository, "two", { files: shuffled, labels: { a: "1", b: "2" } });
    expect(two).toEqual(one);
  });

  test("only the catalog folder of a catalog image is unpacked", async () => {
    const repository = cluster.name("ns/catalog");
    await pushImage(cluster.registry, repository, "latest", { files, labels });
    const { puller: p } = await createMirrored();
    const pulled = await p.pull("catalog", `quay.io/${repository}:latest`, { signal, filter: findCatalogRoot });
    expect(pulled.root).toBe("configs");
    expect(await readFile(join(pulled.dir, "configs/a/catalog.yaml"), "utf8")).toBe("a");
    await expect(readFile(join(pulled.dir, "top"))).rejects.toThrow("ENOENT");
  });

  // Source: H-01, S0-014.
  test("a pull of a bundle rejects a catalog and other media types before it requests any layer", async () => {
    const { puller: p } = await createMirrored();
    const pulling = async (repository: string, ofImage: Readonly<Record<string, string>>): Promise<unknown> => {
      const { digest } = await pushImage(cluster.registry, repository, "v1", { files, labels: ofImage });
      return p.pull("ext", `quay.io/${repository}@${digest}`, { signal, filter: findBundleRoot });
    };
    await expect(pulling(cluster.name("ns/catalog"), labels)).rejects.toThrow("is a catalog, not a bundle");
    const chart = pulling(cluster.name("ns/chart"), { [MEDIA_TYPE_KEY]: "helm" });
    await expect(chart).rejects.toThrow('bundles of media type "helm" are not supported, only "registry+v1" is');
    expect(await pulling(cluster.name("ns/bundle"), { [MEDIA_TYPE_KEY]: MEDIA_TYPE })).toMatchObject({ root: "" });
  });

  test.for<[what: string, limits: Partial<Limits>, says: string]>([
    ["layers", { layers: 0 }, "error copying image: the image has more than 0 layers"],
    ["compressed bytes", { compressedBytes: 100 }, "error copying image: the compressed layers are larger than 100 bytes in total"],
    [
      "decompressed bytes",
      { totalBytes: 100_000 },
      "error applying image: error applying layer[0]: the layers have more than 100000 bytes after decompression",
    ],
    ["bytes in one file", { fileBytes: 199_999 }, 'error applying image: error applying layer[0]: file "top" is larger than 199999 bytes'],
    ["entries", { entries: 2 }, "error applying image: error applying layer[0]: the layers have more than 2 entries"],
    [
      "bytes in a path",
      { pathBytes: 21 },
      "error applying image: error applying layer[0]: an entry name or link target is longer than 21 bytes",
    ],
    [
      "folders in each other",
      { pathDepth: 1 },
      "error applying image: error applying layer[0]: directories are nested more than 1 levels deep",
    ],
  ])("a bundle with more %s than permitted is rejected with a terminal error, and its files are deleted", async ([, limits, says]) => {
    const repository = cluster.name("ns/large");
    const { digest } = await pushImage(cluster.registry, repository, "v1", { files });
    const testPuller = await puller({
      conf: insecureRegistry(cluster.registry.host, "quay.io"),
      limits: { ...BUNDLE_IMAGE_LIMITS, ...limits },
    });
    const ref = `quay.io/${repository}@${digest}`;
    const refused = new TerminalError("Blocked", `${says}; cannot unpack image ${ref}: rebuild the image, or use another one`);
    await expect(testPuller.puller.pull("ext", ref, { signal, filter: findBundleRoot })).rejects.toThrow(refused);
    expect(await testPuller.entries("ext")).toEqual([]);
  });

  test("a pull of an index selects the image for the current platform", async () => {
    const repository = cluster.name("ns/multi");
    const images = await Promise.all(
      ["amd64", "arm64"].map(async (architecture) => ({
        ...(await pushImage(cluster.registry, repository, architecture, { files: new Map([["arch", Buffer.from(architecture)]]) })),
        platform: { os: "linux", architecture },
      })),
    );
    const index = await pushIndex(cluster.registry, repository, "v1", images);
    for (const [arch, want] of [
      ["x64", "amd64"],
      ["arm64", "arm64"],
    ] as const) {
      const { puller: p } = await puller({ conf: insecureRegistry(cluster.registry.host, "quay.io"), arch });
      const pulled = await p.pull("ext", `quay.io/${repository}:v1`, { signal });
      expect(pulled.digest).toBe(index.digest);
      expect(await readFile(join(pulled.dir, "arch"), "utf8")).toBe(want);
    }
  });

  test("a pull by tag returns the new image when the tag has moved, and a pull by digest returns the old image", async () => {
    const repository = cluster.name("ns/app");
    const first = await pushImage(cluster.registry, repository, "v1", { files: new Map([["a", Buffer.from("1")]]) });
    const second = await pushImage(cluster.registry, repository, "v1", { files: new Map([["a", Buffer.from("2")]]) });
    const { puller: p } = await createMirrored();
    const read = async (ref: string): Promise<string> => readFile(join((await p.pull("ext", ref, { signal })).dir, "a"), "utf8");
    expect(await read(`quay.io/${repository}:v1`)).toBe("2");
    expect(await read(`quay.io/${repository}@${first.digest}`)).toBe("1");
    expect(await read(`quay.io/${repository}@${second.digest}`)).toBe("2");
  });

  test("the error for a missing image contains the message of the registry", async () => {
    const { puller: p } = await createMirrored();
    const { host } = cluster.registry;
    await expect(p.pull("ext", "quay.io/no/such:v1", { signal })).rejects.toThrow(
      `error creating image source: reading manifest v1 in ${host}/no/such: manifest unknown`,
    );
  });

  test("a large layer is transferred completely", async () => {
    const repository = cluster.name("ns/large");
    const content = randomBytes(40 * 1024 * 1024);
    await pushImage(cluster.registry, repository, "v1", { files: new Map([["big", content]]) });
    const { puller: p } = await createMirrored();
    const { dir } = await p.pull("ext", `quay.io/${repository}:v1`, { signal });
    expect(content.equals(await readFile(join(dir, "big")))).toBe(true);
  });

  test("a release's chart has the same digest in the layout and in the registry, where Helm reads the metadata and Artifact Hub its own tag", async () => {
    using folder = new TempFolder();
    const chart = await packChart(getImage("1.2.3", `sha256:${"a".repeat(64)}`));
    const layout = join(folder.path, "layout");
    const digest = await writeChartLayout(layout, chart, signal);
    const archive = join(folder.path, "chart.oci.tar");
    await packLayout(layout, archive, signal);
    const name = cluster.name("charts/olmv1");
    const published = await publishLayout(archive, { repository: `${cluster.registry.host}/${name}`, insecure: true }, signal);
    const [version = ""] = published.keys();
    expect(published.get(version)).toBe(digest);
    expect([...published.keys()]).toEqual([version, "artifacthub.io"]);
    const store = await repository(`${cluster.registry.host}/${name}`);
    const manifest = JSON.parse((await store.manifest(version, signal)).bytes.toString("utf8")) as {
      config: Descriptor;
      layers: Descriptor[];
    };
    const read = async (blob: Descriptor): Promise<Buffer> => buffer(store.blob(blob, signal)(0));
    expect(manifest.config.mediaType).toBe("application/vnd.cncf.helm.config.v1+json");
    expect(JSON.parse((await read(manifest.config)).toString("utf8"))).toMatchObject({ name: "olmv1", version });
    const [layer] = manifest.layers;
    expect(layer?.mediaType).toBe("application/vnd.cncf.helm.chart.content.v1.tar+gzip");
    expect((await read(layer!)).equals(chart)).toBe(true);
  });
});
