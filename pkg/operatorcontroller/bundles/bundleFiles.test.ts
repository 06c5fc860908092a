import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { readBundleFiles } from "./bundleFiles.ts";

const stating = (manifests: string, metadata = "metadata/"): string =>
  JSON.stringify({
    annotations: {
      "operators.operatorframework.io.bundle.manifests.v1": manifests,
      "operators.operatorframework.io.bundle.metadata.v1": metadata,
    },
  });

async function pathsOf(files: Readonly<Record<string, string>>, links: Readonly<Record<string, string>> = {}): Promise<string[]> {
  using folder = new TempFolder();
  const dir = folder.write("image", files);
  for (const [path, target] of Object.entries(links)) symlinkSync(target, join(dir, path));
  return [...(await readBundleFiles(dir)).keys()].sort();
}

// Source: H-01, I-10 and I-11.
describe("the files of a bundle image that are read", () => {
  const usual = { "manifests/a.yaml": "a", "metadata/annotations.yaml": stating("manifests/") };

  test.for<[name: string, files: Record<string, string>, paths: string[]]>([
    ["none in an empty image", {}, []],
    [
      "those in manifests/ and metadata/, and below, and no others",
      { ...usual, "manifests/sub/b": "b", "etc/passwd": "x", "tests/c": "c", root: "x" },
      ["manifests/a.yaml", "manifests/sub/b", "metadata/annotations.yaml"],
    ],
    [
      "those in folders that the annotations state, too",
      { "metadata/annotations.yaml": stating("./a/b/", "c"), "a/b/x": "x", "a/y": "y", "c/z": "z", "manifests/m": "m" },
      ["a/b/x", "c/z", "manifests/m", "metadata/annotations.yaml"],
    ],
    [
      "each once where one folder is within another",
      { "metadata/annotations.yaml": stating("metadata/deploy/"), "metadata/deploy/x": "x" },
      ["metadata/annotations.yaml", "metadata/deploy/x"],
    ],
    ["none in a folder that is not there", { "metadata/annotations.yaml": stating("deploy/") }, ["metadata/annotations.yaml"]],
    [
      "none in what is no folder",
      { "metadata/annotations.yaml": stating("deploy/", "deploy/x"), deploy: "x" },
      ["metadata/annotations.yaml"],
    ],
    ["none above the image", { "metadata/annotations.yaml": stating("../") }, ["metadata/annotations.yaml"]],
    ["the usual ones where the annotations are no YAML", { ...usual, "metadata/annotations.yaml": "{" }, Object.keys(usual)],
  ])("%s", async ([, files, paths]) => {
    expect(await pathsOf(files)).toEqual(paths);
  });

  test.for<[name: string, links: Record<string, string>, paths: string[] | string]>([
    ["a link to a file of the image is that file", { "manifests/b": "../other/b.yaml" }, [...Object.keys(usual), "manifests/b"].sort()],
    [
      "a link to a file of the machine is refused",
      { "manifests/b": "/etc/hostname" },
      '"manifests/b" is a link that leads out of the bundle image',
    ],
    ["a link out of the image is refused", { "manifests/b": "../../secret" }, '"manifests/b" is a link that leads out of the bundle image'],
    ["a link to nothing is refused", { "manifests/b": "nothing" }, '"manifests/b" is a link that leads to no file'],
    ["a link to itself is refused", { "manifests/b": "b" }, '"manifests/b" is a link that leads to no file'],
    ["a link to a folder is refused", { "metadata/b": "../other" }, '"metadata/b" is a link that leads to no file'],
  ])("%s", async ([, links, expected]) => {
    using folder = new TempFolder();
    folder.write(".", { secret: "x" });
    const dir = folder.write("image", { ...usual, "other/b.yaml": "b" });
    for (const [path, target] of Object.entries(links)) symlinkSync(target, join(dir, path));
    if (typeof expected === "string") await expect(readBundleFiles(dir)).rejects.toThrow(expected);
    else {
      const files = await readBundleFiles(dir);
      expect([...files.keys()].sort()).toEqual(expected);
      expect(Buffer.from(files.get("manifests/b") ?? "").toString()).toBe("b");
    }
  });

  test("a folder may be a link within the image, but not out of it", async () => {
    const files = { "other/m/a.yaml": "a", "metadata/annotations.yaml": stating("deploy/m/") };
    expect(await pathsOf(files, { deploy: "other" })).toEqual(["deploy/m/a.yaml", "metadata/annotations.yaml"]);
    await expect(pathsOf(files, { deploy: ".." })).rejects.toThrow('"deploy" is a link that leads out of the bundle image');
  });

  test("2,000 files, and no more", async () => {
    using folder = new TempFolder();
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`manifests/${i}`, ""]));
    const dir = folder.write("image", many);
    expect((await readBundleFiles(dir)).size).toBe(2_000);
    mkdirSync(join(dir, "metadata"));
    folder.write("image", { "metadata/a": "" });
    await expect(readBundleFiles(dir)).rejects.toThrow("bundle is too large: its image holds more than the 2000 files");
  });

  test("72 MiB, and no more", async () => {
    using folder = new TempFolder();
    const dir = folder.write("image", {});
    const write = (path: string, bytes: number): string => folder.write("image", { [path]: new Uint8Array(bytes) });
    write("manifests/a", 72 * 1024 * 1024);
    expect((await readBundleFiles(dir)).size).toBe(1);
    write("manifests/b", 1);
    await expect(readBundleFiles(dir)).rejects.toThrow("or 75497472 bytes allowed in the folders of manifests and metadata");
  });
});
