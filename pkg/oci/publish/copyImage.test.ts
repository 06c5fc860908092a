import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { folder, loopbackRegistry } from "../../../test/support/pulling.ts";
import { built, layout, parts, repository, signal } from "../../../test/support/stores.ts";
import { computeDigest } from "../digest.ts";
import { MediaType } from "../manifest.ts";
import type { ImageReader } from "../store/imageStore.ts";
import { packLayout, unpackLayout } from "../store/layoutArchive.ts";
import { LayoutStore } from "../store/layoutStore.ts";
import { buildImage } from "./buildImage.ts";
import { copyImage } from "./copyImage.ts";

const NAMED = { "a/b": "1", "a/c": "2", d: "" };

describe("a built image", () => {
  test("a built image has the same digest for any order of its files, labels and annotations", async () => {
    const digests = new Set<string>();
    const configs = new Set<string>();
    for (const files of [NAMED, { d: "", "a/c": "2", "a/b": "1" }])
      for (const labels of [
        { x: "1", y: "2" },
        { y: "2", x: "1" },
      ]) {
        const { manifest } = await buildImage(await layout(), "", { ...parts(files, labels), annotations: labels }, signal);
        digests.add(manifest.digest);
        configs.add((JSON.parse(manifest.bytes.toString("utf8")) as { config: { digest: string } }).config.digest);
      }
    expect(digests.size).toBe(1);
    // The uncompressed content: a change here changes the digests of all users' images.
    expect([...configs]).toEqual(["sha256:60d3bc3127db4dfd1f4571012eca2cf471a87e3888ab21d39bd26b8d163713ef"]);
  });

  test("a built image has another digest if its content differs", async () => {
    const digests = [NAMED, { ...NAMED, "a/b": "2" }, { ...NAMED, e: "" }].map(async (files) => (await built(files)).manifest.digest);
    expect(new Set(await Promise.all(digests)).size).toBe(3);
  });
});

describe("a copy", () => {
  test("copyImage keeps the digest, and does not send content that already exists at the destination", async () => {
    const registry = await loopbackRegistry();
    const { store, manifest } = await built(NAMED);
    const to = await repository(`${registry.host}/app`);
    const copied = await copyImage(store, manifest, to, { tag: "v1", signal });
    expect(copied).toMatchObject({ digest: manifest.digest, outcome: "copied", manifests: [manifest.digest] });
    expect(registry.has("app", manifest.digest)).toBe(true);
    expect(await to.has("v1", signal)).toBe(manifest.digest);
    const before = registry.requests.length;
    expect(await copyImage(store, manifest, to, { tag: "v1", signal })).toMatchObject({ outcome: "present", bytes: 0 });
    expect(registry.requests.slice(before).map(({ method }) => method)).toEqual(["HEAD", "HEAD"]);
  });

  test("copyImage copies an index with the image of each platform, byte for byte", async () => {
    const { store, manifest: one } = await built(NAMED, "one");
    const { manifest: two } = await buildImage(store, "two", parts({ other: "x" }), signal);
    const entry = ({ digest, bytes, mediaType }: typeof one, architecture: string) => ({
      mediaType,
      digest,
      size: bytes.byteLength,
      platform: { os: "linux", architecture },
    });
    const bytes = Buffer.from(
      `{ "schemaVersion": 2,\n "mediaType": "${MediaType.dockerList}", "manifests": ${JSON.stringify([entry(one, "amd64"), entry(two, "arm64")])}}`,
    );
    const index = { bytes, mediaType: MediaType.dockerList, digest: computeDigest(bytes) };
    await store.putManifest(index, "v1", signal);
    const registry = await loopbackRegistry();
    const to = await repository(`${registry.host}/app`);
    const copied = await copyImage(store, await store.manifest("v1", signal), to, { tag: "v1", signal });
    expect(copied.manifests).toEqual([one.digest, two.digest, index.digest]);
    const back = await layout();
    await copyImage(to, await to.manifest("v1", signal), back, { tag: "v1", signal });
    expect((await back.manifest("v1", signal)).bytes.equals(bytes)).toBe(true);
    expect(await blobsOf(back)).toEqual(await blobsOf(store));
  });

  test("copyImage resumes when the connection to the source breaks", async () => {
    const [source, target] = [await loopbackRegistry(), await loopbackRegistry()];
    const large = randomBytes(3_000_000);
    const image = source.addImage("app", "v1", { layers: [large] });
    const layer = computeDigest(large);
    let broken = 0;
    source.misbehave = (req, res) => {
      if (!req.url?.endsWith(layer) || broken++ > 0) return false;
      res.writeHead(200, { "content-length": large.byteLength });
      res.write(large.subarray(0, 2_000_000), () => res.destroy());
      return true;
    };
    const [from, to] = [await repository(`${source.host}/app`), await repository(`${target.host}/copy`)];
    await copyImage(from, await from.manifest("v1", signal), to, { tag: "v1", signal });
    expect(target.blob(layer).equals(large)).toBe(true);
    expect(target.has("copy", image.digest)).toBe(true);
    expect(source.requests.filter(({ path }) => path.endsWith(layer)).at(-1)?.headers.range).toMatch(/^bytes=\d{4,}-$/);
    expect(target.requests.filter(({ method }) => method === "PATCH")).toHaveLength(1);
  });

  test("an image that is copied to an archive and back keeps its digest and bytes", async () => {
    const { store, manifest } = await built(NAMED);
    const dir = await folder();
    await packLayout(store.dir, join(dir, "one.tar"), signal);
    await unpackLayout(join(dir, "one.tar"), dir, signal);
    const back = new LayoutStore(dir, "oci-archive:one.tar");
    expect(await back.manifest("", signal)).toMatchObject({ digest: manifest.digest });
    expect(await blobsOf(back)).toEqual(await blobsOf(store));
  });

  test("copyImage throws when a blob is damaged", async () => {
    const { store, manifest, layer } = await built({ a: "1" });
    const { manifest: other, layer: otherLayer } = await buildImage(store, "other", parts({ a: "2" }), signal);
    const reader: ImageReader = {
      name: "damaged",
      manifest: (reference, aborted) => store.manifest(reference, aborted),
      find: (reference, aborted) => store.find(reference, aborted),
      blob: (blob, aborted) => (offset) => store.blob(blob.digest === layer.digest ? otherLayer : blob, aborted)(offset),
    };
    expect(other.digest).not.toBe(manifest.digest);
    const to = await layout();
    await expect(copyImage(reader, manifest, to, { tag: "v1", signal })).rejects.toThrow(
      /Digest did not match|bytes in its descriptor|is truncated/,
    );
    expect(await to.entries()).toEqual([]);
  });
});

describe("a layout", () => {
  test("a layout lists the tags of its images", async () => {
    const { store } = await built(NAMED);
    await expect(store.manifest("v2", signal)).rejects.toThrow("oci:layout has no image v2; available: v1");
    await buildImage(store, "v3", parts({}), signal);
    await expect(store.manifest("", signal)).rejects.toThrow("oci:layout has several images: specify a tag; available: v1, v3");
    await expect(new LayoutStore(await folder(), "oci:x").manifest("", signal)).rejects.toThrow(
      "oci:x is not an OCI image layout: index.json is missing",
    );
  });

  test("a layout moves a tag when another image is copied to the tag", async () => {
    const { store } = await built(NAMED);
    const { manifest } = await buildImage(store, "v1", parts({ a: "1" }), signal);
    expect((await store.manifest("v1", signal)).digest).toBe(manifest.digest);
    expect(await store.entries()).toHaveLength(1);
  });
});

async function blobsOf(store: LayoutStore): Promise<string[]> {
  return (await readdir(join(store.dir, "blobs/sha256"))).sort();
}
