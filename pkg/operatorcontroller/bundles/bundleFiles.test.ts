import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { readBundleFiles } from "./bundleFiles.ts";

const annotationsFor = (manifests: string, metadata = "metadata/"): string =>
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
describe("readBundleFiles", () => {
  const usual = { "manifests/a.yaml": "a", "metadata/annotations.yaml": annotationsFor("manifests/") };

  test.for<[name: string, files: Record<string, string>, paths: string[]]>([
    ["nothing from an empty image", {}, []],
    [
      "files in manifests/ and metadata/ with subfolders, and no others",
      { ...usual, "manifests/sub/b": "b", "etc/passwd": "x", "tests/c": "c", root: "x" },
      ["manifests/a.yaml", "manifests/sub/b", "metadata/annotations.yaml"],
    ],
    [
      "files in folders that the annotations name",
      { "metadata/annotations.yaml": annotationsFor("./a/b/", "c"), "a/b/x": "x", "a/y": "y", "c/z": "z", "manifests/m": "m" },
      ["a/b/x", "c/z", "manifests/m", "metadata/annotations.yaml"],
    ],
    [
      "each file once when a folder is inside of another",
      { "metadata/annotations.yaml": annotationsFor("metadata/deploy/"), "metadata/deploy/x": "x" },
      ["metadata/annotations.yaml", "metadata/deploy/x"],
    ],
    ["nothing from a missing folder", { "metadata/annotations.yaml": annotationsFor("deploy/") }, ["metadata/annotations.yaml"]],
    [
      "nothing from a path that is not a folder",
      { "metadata/annotations.yaml": annotationsFor("deploy/", "deploy/x"), deploy: "x" },
      ["metadata/annotations.yaml"],
    ],
    ["nothing above the image", { "metadata/annotations.yaml": annotationsFor("../") }, ["metadata/annotations.yaml"]],
    ["the default folders when the annotations are not YAML", { ...usual, "metadata/annotations.yaml": "{" }, Object.keys(usual)],
  ])("readBundleFiles reads %s", async ([, files, paths]) => {
    expect(await pathsOf(files)).toEqual(paths);
  });

  test.for<[name: string, links: Record<string, string>, paths: string[] | string]>([
    ["reads a link to a file of the image", { "manifests/b": "../other/b.yaml" }, [...Object.keys(usual), "manifests/b"].sort()],
    [
      "rejects a link to a file of the host",
      { "manifests/b": "/etc/hostname" },
      '"manifests/b" is a link that points outside the bundle image',
    ],
    ["rejects a link outside the image", { "manifests/b": "../../secret" }, '"manifests/b" is a link that points outside the bundle image'],
    ["rejects a link to a missing file", { "manifests/b": "nothing" }, '"manifests/b" is a link that does not point to a file'],
    ["rejects a link to itself", { "manifests/b": "b" }, '"manifests/b" is a link that does not point to a file'],
    ["rejects a link to a folder", { "metadata/b": "../other" }, '"metadata/b" is a link that does not point to a file'],
  ])("readBundleFiles %s", async ([, links, expected]) => {
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

  test("readBundleFiles follows symlinks only to folders inside the image", async () => {
    const files = { "other/m/a.yaml": "a", "metadata/annotations.yaml": annotationsFor("deploy/m/") };
    expect(await pathsOf(files, { deploy: "other" })).toEqual(["deploy/m/a.yaml", "metadata/annotations.yaml"]);
    await expect(pathsOf(files, { deploy: ".." })).rejects.toThrow('"deploy" is a link that points outside the bundle image');
  });

  test("readBundleFiles rejects more than 2,000 files", async () => {
    using folder = new TempFolder();
    const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`manifests/${i}`, ""]));
    const dir = folder.write("image", many);
    expect((await readBundleFiles(dir)).size).toBe(2_000);
    mkdirSync(join(dir, "metadata"));
    folder.write("image", { "metadata/a": "" });
    await expect(readBundleFiles(dir)).rejects.toThrow(
      "bundle is too large: its manifest and metadata folders contain more than 2000 files",
    );
  });

  test("readBundleFiles rejects more than 72 MiB", async () => {
    using folder = new TempFolder();
    const dir = folder.write("image", {});
    const write = (path: string, bytes: number): string => folder.write("image", { [path]: new Uint8Array(bytes) });
    write("manifests/a", 72 * 1024 * 1024);
    expect((await readBundleFiles(dir)).size).toBe(1);
    write("manifests/b", 1);
    await expect(readBundleFiles(dir)).rejects.toThrow("or 75497472 bytes");
  });
});
