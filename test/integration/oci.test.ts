import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CONFIG_DIR_LABEL, catalogRoot } from "../../pkg/oci/catalogRoot.ts";
import { pushImage, pushIndex } from "../../pkg/oci/push.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { insecureRegistry, puller } from "../support/pulling.ts";

const signal = new AbortController().signal;
const files = new Map([
  ["configs/b/catalog.yaml", Buffer.from("b")],
  ["configs/a/catalog.yaml", Buffer.from("a")],
  ["top", Buffer.alloc(200_000, "content ")],
]);
const labels = { [CONFIG_DIR_LABEL]: "/configs", another: "label" };

describeWithCluster("images in a real registry", (cluster) => {
  const mirrored = () => puller({ conf: insecureRegistry(cluster.registry.host, "quay.io") });

  test.for(["gzip", "zstd", "none"] as const)("what is pushed with %s compression is what is pulled", async (compression) => {
    const repository = cluster.name("ns/app");
    const pushed = await pushImage(cluster.registry, repository, "v1", { files, labels, compression });
    const { puller: p } = await mirrored();
    const pulled = await p.pull("ext", `quay.io/${repository}:v1`, { signal });
    expect(pulled).toMatchObject({ canonical: `quay.io/${repository}@${pushed.digest}`, digest: pushed.digest, labels });
    for (const [path, content] of files) expect(content.equals(await readFile(join(pulled.dir, path)))).toBe(true);
    expect(await p.resolve(`quay.io/${repository}:v1`, signal)).toEqual({ canonical: pulled.canonical, digest: pushed.digest });
  });

  test("the same content has the same digest, whatever the order it comes in", async () => {
    const repository = cluster.name("ns/app");
    const shuffled = new Map([...files].reverse());
    const one = await pushImage(cluster.registry, repository, "one", { files, labels: { b: "2", a: "1" } });
    const two = await pushImage(cluster.registry, repository, "two", { files: shuffled, labels: { a: "1", b: "2" } });
    expect(two).toEqual(one);
  });

  test("a catalog gives its directory only", async () => {
    const repository = cluster.name("ns/catalog");
    await pushImage(cluster.registry, repository, "latest", { files, labels });
    const { puller: p } = await mirrored();
    const pulled = await p.pull("catalog", `quay.io/${repository}:latest`, { signal, filter: catalogRoot });
    expect(pulled.root).toBe("configs");
    expect(await readFile(join(pulled.dir, "configs/a/catalog.yaml"), "utf8")).toBe("a");
    await expect(readFile(join(pulled.dir, "top"))).rejects.toThrow("ENOENT");
  });

  test("an index leads to the image of the platform", async () => {
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

  test("a tag that moves is followed; the digest stays what it was", async () => {
    const repository = cluster.name("ns/app");
    const first = await pushImage(cluster.registry, repository, "v1", { files: new Map([["a", Buffer.from("1")]]) });
    const second = await pushImage(cluster.registry, repository, "v1", { files: new Map([["a", Buffer.from("2")]]) });
    const { puller: p } = await mirrored();
    const read = async (ref: string): Promise<string> => readFile(join((await p.pull("ext", ref, { signal })).dir, "a"), "utf8");
    expect(await read(`quay.io/${repository}:v1`)).toBe("2");
    expect(await read(`quay.io/${repository}@${first.digest}`)).toBe("1");
    expect(await read(`quay.io/${repository}@${second.digest}`)).toBe("2");
  });

  test("what does not exist is said as the registry says it", async () => {
    const { puller: p } = await mirrored();
    const { host } = cluster.registry;
    await expect(p.pull("ext", "quay.io/no/such:v1", { signal })).rejects.toThrow(
      `error creating image source: reading manifest v1 in ${host}/no/such: manifest unknown`,
    );
  });

  test("a large layer arrives whole", async () => {
    const repository = cluster.name("ns/large");
    const content = randomBytes(40 * 1024 * 1024);
    await pushImage(cluster.registry, repository, "v1", { files: new Map([["big", content]]) });
    const { puller: p } = await mirrored();
    const { dir } = await p.pull("ext", `quay.io/${repository}:v1`, { signal });
    expect(content.equals(await readFile(join(dir, "big")))).toBe(true);
  });
});
