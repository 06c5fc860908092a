import { mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folder } from "../../../test/support/pulling.ts";
import { layout, parts, signal } from "../../../test/support/stores.ts";
import { buildImage } from "../publish/buildImage.ts";
import { LayoutStore } from "./layoutStore.ts";

test.for(["oci-layout", "blobs", "blobs/sha256", "blobs/sha512", "blobs/part-1-1"])(
  "LayoutStore.create rejects a folder when its %s is a link, and writes nothing",
  async (name) => {
    const { dir } = await layout();
    const outside = await folder();
    await writeFile(join(outside, "oci-layout"), "precious");
    await mkdir(join(outside, "blobs"));
    const path = join(dir, name);
    await rename(path, join(outside, "replaced")).catch(() => undefined); // most exist
    await symlink(join(outside, name === "oci-layout" ? name : "blobs"), path);
    await expect(new LayoutStore(dir, "oci:x").create()).rejects.toThrow(
      `cannot write to ${dir}: ${path} is a link. Use a new folder or an empty one`,
    );
    expect([await readFile(join(outside, "oci-layout"), "utf8"), await readdir(join(outside, "blobs"))]).toEqual(["precious", []]);
  },
);

test("LayoutStore writes through no link when the link appears after create()", async () => {
  const store = await layout();
  const { manifest } = await buildImage(store, "v1", parts({ a: "1" }), signal);
  const other = await layout();
  const outside = join(await folder(), "outside");
  await symlink(outside, join(other.dir, `blobs/part-${manifest.digest.replace(":", "-")}`));
  await expect(other.putManifest(manifest, "v1", signal)).rejects.toThrow("ELOOP");
  await expect(readFile(outside)).rejects.toThrow("ENOENT");
});

test("LayoutStore.create keeps the images of a layout", async () => {
  const { dir } = await layout();
  const store = new LayoutStore(dir, "oci:x");
  const { manifest } = await buildImage(store, "v1", parts({ a: "1" }), signal);
  await new LayoutStore(dir, "oci:x").create();
  expect((await store.find("v1", signal))?.digest).toBe(manifest.digest);
});
