import { cp, link, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { folder } from "../../../test/support/pulling.ts";
import { layout, parts, signal } from "../../../test/support/stores.ts";
import { type TarEntry, tarball } from "../../../test/support/tarball.ts";
import { parsePlace } from "../imagePlace.ts";
import { CATALOG_IMAGE_LIMITS } from "../limits.ts";
import { SignaturePolicy } from "../policy/signaturePolicy.ts";
import { buildImage } from "../publish/buildImage.ts";
import { packLayout } from "./layoutArchive.ts";
import { LayoutImages } from "./layoutImages.ts";

const ALL = (): { root: string } => ({ root: "" });
const ANYTHING = { default: [{ type: "insecureAcceptAnything" }] };

/** Reads the image at a location. */
async function read(place: string, policy: object = ANYTHING): Promise<string> {
  const file = join(await folder(), "policy.json");
  await writeFile(file, JSON.stringify(policy));
  const images = await LayoutImages.open(new SignaturePolicy(() => ({ file, required: true }), pino({ enabled: false })));
  onTestFinished(() => images.close());
  const parsed = parsePlace(place);
  if (parsed.kind === "registry") throw new Error("no layout");
  return images.withImage(parsed, ALL, { limits: CATALOG_IMAGE_LIMITS, signal }, ({ dir }) => readFile(join(dir, "text"), "utf8"));
}

/** Creates a layout with one image, or two. */
async function made(
  ...tags: string[]
): Promise<{ dir: string; blob: (which: "manifest" | "layer") => string; digest: string; layer: string }> {
  const store = await layout();
  let digests = { manifest: "", layer: "" };
  for (const tag of tags) {
    const { manifest, layer } = await buildImage(store, tag, parts({ text: `image ${tag}` }), signal);
    digests = { manifest: manifest.digest, layer: layer.digest };
  }
  const blob = (which: "manifest" | "layer"): string => join(store.dir, "blobs", digests[which].replace(":", "/"));
  return { dir: store.dir, blob, digest: digests.manifest, layer: digests.layer };
}

describe("reading an image in a layout", () => {
  test("reading an image in a layout works by tag, by digest, and without either if it is the only one", async () => {
    const { dir, digest } = await made("v1", "v2");
    expect(await read(`oci:${dir}:v1`)).toBe("image v1");
    expect(await read(`oci:${dir}@${digest}`)).toBe("image v2");
    const single = await made("v1");
    expect(await read(`oci:${single.dir}`)).toBe("image v1");
    const archive = join(single.dir, "../one.tar");
    await packLayout(single.dir, archive, signal);
    expect(await read(`oci-archive:${archive}:v1`)).toBe("image v1");
  });

  test("reading an image in a layout follows links inside the layout's folder", async () => {
    const { dir, blob } = await made("v1");
    await rename(blob("layer"), join(dir, "kept"));
    await symlink("../../kept", blob("layer"));
    expect(await read(`oci:${dir}`)).toBe("image v1");
  });
});

type Layout = Awaited<ReturnType<typeof made>>;

// A layout is untrusted.
test.for<[name: string, harm: (layout: Layout) => Promise<void>, says: (layout: Layout) => string]>([
  [
    "without index.json",
    ({ dir }) => rm(join(dir, "index.json")),
    ({ dir }) => `oci:${dir} is not an OCI image layout: index.json is missing`,
  ],
  [
    "with an invalid index.json",
    ({ dir }) => writeFile(join(dir, "index.json"), "[]"),
    ({ dir }) => `oci:${dir}: index.json is malformed: `,
  ],
  [
    "with a digest that is a path",
    ({ dir }) =>
      writeFile(
        join(dir, "index.json"),
        JSON.stringify({ schemaVersion: 2, manifests: [{ mediaType: "", digest: "sha256:../../../etc/passwd", size: 1 }] }),
      ),
    ({ dir }) => `oci:${dir}: index.json is malformed: manifests.0.digest: is not a sha256, sha384 or sha512 digest`,
  ],
  ["without its manifest", ({ blob }) => rm(blob("manifest")), ({ dir, digest }) => `oci:${dir} is incomplete: blob ${digest} is missing`],
  [
    "with another manifest",
    ({ blob }) => writeFile(blob("manifest"), "{}"),
    ({ dir, digest }) => `oci:${dir}: blob ${digest} is damaged: Digest did not match`,
  ],
  ["without a layer", ({ blob }) => rm(blob("layer")), ({ dir, layer }) => `oci:${dir} is incomplete: blob ${layer} is missing`],
  [
    "with another layer",
    async ({ blob }) => writeFile(blob("layer"), Buffer.alloc((await readFile(blob("layer"))).byteLength)),
    ({ dir, layer }) => `oci:${dir}: blob ${layer} is damaged: Digest did not match`,
  ],
  [
    "with a layer that is cut off",
    async ({ blob }) => writeFile(blob("layer"), (await readFile(blob("layer"))).subarray(0, 9)),
    ({ dir, layer }) => `oci:${dir}: blob ${layer} is damaged: ${layer} is truncated: received 9 of `,
  ],
  [
    "with a layer outside the folder",
    async ({ dir, blob }) => {
      await rename(blob("layer"), join(dir, "../outside"));
      await symlink(join(dir, "../outside"), blob("layer"));
    },
    () => ", which is outside the layout",
  ],
  [
    "with blobs outside the folder",
    async ({ dir }) => {
      await rename(join(dir, "blobs"), join(dir, "../blobs"));
      await symlink("../blobs", join(dir, "blobs"));
    },
    () => ", which is outside the layout",
  ],
  [
    "with a folder in place of a layer",
    async ({ blob }) => {
      await rm(blob("layer"));
      await mkdir(blob("layer"));
    },
    () => "is not a regular file",
  ],
  [
    "with an index.json outside the folder",
    async ({ dir }) => {
      await rename(join(dir, "index.json"), join(dir, "../index.json"));
      await symlink("../index.json", join(dir, "index.json"));
    },
    () => ", which is outside the layout",
  ],
])("a layout %s is rejected", async ([, harm, says]) => {
  const whole = await made("v1");
  const dir = join(whole.dir, "../harmed");
  await cp(whole.dir, dir, { recursive: true });
  const harmed = { ...whole, dir, blob: (which: "manifest" | "layer"): string => whole.blob(which).replace(whole.dir, dir) };
  await harm(harmed);
  await expect(read(`oci:${dir}`)).rejects.toThrow(says(harmed));
});

test("the error for a missing image or file lists the images or files that exist", async () => {
  const { dir } = await made("v1", "v2");
  await expect(read(`oci:${dir}`)).rejects.toThrow("has several images: specify a tag; available: v1, v2");
  await expect(read(`oci:${dir}:v3`)).rejects.toThrow("has no image v3; available: v1, v2");
  await expect(read(`oci:${dir}-gone`)).rejects.toThrow(`oci:${dir}-gone: the folder does not exist`);
  await expect(read(`oci:${join(dir, "index.json")}`)).rejects.toThrow(
    `is a file: use oci-archive:${join(dir, "index.json")} for a layout in a tar archive`,
  );
  await expect(read(`oci-archive:${dir}`)).rejects.toThrow(`reading ${dir}: it is a folder: use oci:PATH for a layout in a folder`);
  await expect(read(`oci-archive:${dir}/gone.tar`)).rejects.toThrow("the file does not exist");
});

test.for<[name: string, entries: TarEntry[], says: string]>([
  ["a member above the archive", [{ name: "../index.json", content: "{}" }], 'entry "../index.json" has a path outside the archive'],
  [
    "a member above the archive after a folder",
    [{ name: "blobs/../../x", content: "" }],
    'entry "blobs/../../x" has a path outside the archive',
  ],
  ["a member with an absolute path", [{ name: "/etc/x", content: "" }], 'entry "/etc/x" has a path outside the archive'],
  ["a link in place of index.json", [{ name: "index.json", type: "2", linkname: "/etc/passwd" }], "index.json is missing"],
  ["no files of a layout", [{ name: "other", content: "" }], "index.json is missing"],
])("an archive with %s is rejected", async ([, entries, says]) => {
  const file = join(await folder(), "layout.tar");
  await writeFile(file, tarball(entries));
  await expect(read(`oci-archive:${file}`)).rejects.toThrow(says);
});

test("the error for a compressed archive describes how to decompress it", async () => {
  const file = join(await folder(), "layout.tar.gz");
  await writeFile(file, gzipSync(tarball([{ name: "oci-layout", content: "{}" }])));
  await expect(read(`oci-archive:${file}`)).rejects.toThrow("it is compressed: decompress it with gunzip");
});

// containers-policy.json(5): scopes of transport "oci" are paths; signatures in layouts are not
// supported.
test("an image in a layout is checked with the signature policy", async () => {
  const { dir } = await made("v1");
  const signed = [{ type: "signedBy", keyType: "GPGKeys", keyPath: "/x" }];
  await expect(read(`oci:${dir}:v1`, { default: [{ type: "reject" }] })).rejects.toThrow(
    `Source image rejected: Running image oci:${dir}:v1 is rejected by policy.`,
  );
  await expect(read(`oci:${dir}`, { default: signed })).rejects.toThrow("A signature was required, but no signature exists");
  const taken = (scope: string): object => ({
    default: [{ type: "reject" }],
    transports: { oci: { [scope]: ANYTHING.default, "/other": signed } },
  });
  for (const scope of ["", dir, join(dir, ".."), `${dir}:v1`]) expect(await read(`oci:${dir}:v1`, taken(scope))).toBe("image v1");
  await expect(read(`oci:${dir}:v1`, taken(`${dir}:v2`))).rejects.toThrow("is rejected by policy");
});

test("a file of a layout with two hard links is read once", async () => {
  const { dir, blob } = await made("v1");
  await link(blob("layer"), join(dir, "again"));
  expect(await read(`oci:${dir}`)).toBe("image v1");
});
