import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { Authoring } from "../../../../test/support/authoring.ts";
import { runCli, shownRun } from "../../../../test/support/runCli.ts";

const GOLDENS = join(import.meta.dirname, "../../../../test/goldens/cli");
const CONFIGS = { "operators.operatorframework.io.index.configs.v1": "/configs" };

const buildCatalog = (name: string, entry = `${name}.v1.0.0`) => `schema: olm.package
name: ${name}
defaultChannel: stable
---
schema: olm.channel
package: ${name}
name: stable
entries: [{name: ${entry}}]
---
schema: olm.bundle
package: ${name}
name: ${name}.v1.0.0
image: quay.io/example/${name}-bundle:v1.0.0
properties: [{type: olm.package, value: {packageName: ${name}, version: 1.0.0}}]
`;

let author: Authoring;
beforeEach(async () => {
  author = await Authoring.start();
});

const compose = (...args: string[]) =>
  runCli(["catalog", "compose", "-f", join(author.folder, "catalog.yaml"), ...args, ...author.options]);
/** Placeholder in golden files for the test's temporary folder. */
const shown = (command: string, ended: Parameters<typeof shownRun>[1]) => shownRun(command, ended).replaceAll(author.folder, "…");

// Source: S3-38.
describe("olmv1 catalog compose", () => {
  test("catalog compose combines an image and a folder into one catalog", async () => {
    await author.push("index", "v1", { "configs/etcd/catalog.yaml": buildCatalog("etcd") }, CONFIGS);
    await mkdir(join(author.folder, "own"));
    await author.write("own/all.yaml", buildCatalog("gadget") + "---\n" + buildCatalog("widget"));
    await author.write(
      "catalog.yaml",
      `name: example-operators
repo: quay.io/example/catalog
tag: v1
references:
- {name: etcd-operator, image: "quay.io/example/index:v1"}
- {name: own, path: own, packages: [gadget]}
`,
    );
    const out = join(author.folder, "out");
    const ended = await compose("--output-dir", out);
    await expect(shown("catalog compose -f catalog.yaml --output-dir out", ended)).toMatchFileSnapshot(
      join(GOLDENS, "catalog-compose.txt"),
    );
    const files = await author.read("out");
    expect(Object.keys(files)).toEqual(["etcd-operator/index.yaml", "own/index.yaml"]);
    expect(files["own/index.yaml"]).toContain("name: gadget");
    expect(files["own/index.yaml"]).not.toContain("widget");
    expect((await runCli(["catalog", "validate", out])).code).toBe(0);
    expect((await runCli(["catalog", "build", out, "-t", `${author.host}/all:v1`, "--insecure"])).code).toBe(0);
    const published = await runCli(["catalog", "render", "quay.io/example/all:v1", "-o", "yaml", ...author.options]);
    expect(published).toEqual({ code: 0, out: Object.values(files).join(""), err: "" });
  });

  test("catalog compose rejects a package that two references contain, and reports both references", async () => {
    await author.push("index", "v1", { "configs/catalog.yaml": buildCatalog("etcd") }, CONFIGS);
    await mkdir(join(author.folder, "own"));
    await author.write("own/all.yaml", buildCatalog("etcd"));
    await author.write("catalog.yaml", "name: all\nreferences: [{name: a, image: 'quay.io/example/index:v1'}, {name: b, path: own}]\n");
    const ended = await compose("--output-dir", join(author.folder, "out"));
    await expect(shown("catalog compose -f catalog.yaml --output-dir out", ended)).toMatchFileSnapshot(
      join(GOLDENS, "catalog-compose-shared.txt"),
    );
    await expect(author.read("out")).rejects.toThrow("ENOENT");
  });

  test("catalog compose --force writes nothing when .indexignore excludes an existing file with the path of a composed one", async () => {
    await mkdir(join(author.folder, "own"));
    await author.write("own/all.yaml", buildCatalog("etcd"));
    await author.write("catalog.yaml", "name: all\nreferences: [{name: b, path: own}]\n");
    await mkdir(join(author.folder, "out/b"), { recursive: true });
    await author.write("out/.indexignore", "b/\n");
    await author.write("out/b/index.yaml", "# mine\n");
    const { code, err } = await compose("--output-dir", join(author.folder, "out"), "--force");
    expect([code, err]).toEqual([
      2,
      "olmv1: b/index.yaml exists, but .indexignore excludes it. Move it, or change .indexignore; no changes were made\n",
    ]);
    expect((await author.read("out"))["b/index.yaml"]).toBe("# mine\n");
  });

  test("catalog compose writes nothing when the result is invalid", async () => {
    await author.write("broken.yaml", buildCatalog("etcd", "etcd.v9"));
    await mkdir(join(author.folder, "own"));
    await author.write("own/all.yaml", buildCatalog("etcd", "etcd.v9"));
    await author.write("catalog.yaml", "name: all\nreferences: [{name: b, path: own}]\n");
    const { code, err } = await compose("--output-dir", join(author.folder, "out"));
    expect(code).toBe(1);
    expect(err).toContain('no olm.bundle blobs found in package "etcd" for olm.channel entries [etcd.v9]');
    expect(err).toContain("no files were written");
    await expect(author.read("out")).rejects.toThrow("ENOENT");
  });

  test("catalog compose rejects a non-empty folder without --force, and validates the existing files in it with --force", async () => {
    await mkdir(join(author.folder, "own"));
    await mkdir(join(author.folder, "out"));
    await author.write("own/all.yaml", buildCatalog("gadget"));
    await author.write("out/kept.yaml", buildCatalog("etcd"));
    await author.write("catalog.yaml", "name: all\nreferences: [{name: own, path: own}]\n");
    const out = join(author.folder, "out");
    expect(await compose("--output-dir", out)).toMatchObject({
      code: 2,
      err: `olmv1: output dir "${out}" must be empty; use --force to overwrite composed files and keep others\n`,
    });
    expect(await compose("--output-dir", out, "--force", "-o", "json")).toMatchObject({ code: 0 });
    await author.write("out/kept.yaml", buildCatalog("gadget"));
    const { code, err } = await compose("--output-dir", out, "--force");
    expect([code, err.includes('duplicate package "gadget"')]).toEqual([1, true]);
  });

  test.for<[string, string, string]>([
    ["no references", "name: a\n", "references: must contain at least one catalog"],
    ["no name", "references: [{name: b, path: x}]\n", "name: must be set"],
    [
      "name ..",
      "name: ..\nreferences: [{name: b, path: x}]\n",
      'name: invalid folder name "..": must be a single path element that does not begin with "." or "-"',
    ],
    [
      "a reference with a path as name",
      "name: a\nreferences: [{name: ../b, path: x}]\n",
      'references[0].name: invalid folder name "../b": must be a single path element that does not begin with "." or "-"',
    ],
    [
      "two references with the same name",
      "name: a\nreferences: [{name: b, path: x}, {name: B, path: z}]\n",
      'references[1].name: duplicate name "B": also used by references[0]',
    ],
    ["a reference without an image or path", "name: a\nreferences: [{name: b}]\n", "references[0].image: set either image or path"],
    [
      "a reference with an image and a path",
      "name: a\nreferences: [{name: b, image: x, path: z}]\n",
      "references[0].image: set either image or path",
    ],
    ["an unknown member", "name: a\nrefs: []\n", 'unknown field "refs"'],
  ])("catalog compose rejects a file with %s", async ([, text, error]) => {
    const file = await author.write("catalog.yaml", text);
    expect(await compose()).toMatchObject({ code: 2, out: "", err: `olmv1: ${file}: ${error}\n` });
  });

  test("catalog compose rejects a package that a reference does not contain", async () => {
    await mkdir(join(author.folder, "own"));
    await author.write("own/all.yaml", buildCatalog("gadget"));
    await author.write("catalog.yaml", "name: a\nreferences: [{name: own, path: own, packages: [etcd]}]\n");
    expect(await compose()).toMatchObject({ code: 2, err: 'olmv1: reference "own" does not contain package "etcd"; available: gadget\n' });
  });
});

describe("olmv1 catalog dockerfile", () => {
  const dockerfile = (...args: string[]) => runCli(["catalog", "dockerfile", ...args]);

  test("catalog dockerfile writes the file next to the folder, and does not overwrite an existing file", async () => {
    const folder = join(author.folder, "catalog");
    await mkdir(folder);
    const written = await dockerfile(`${folder}/`, "-i", "scratch", "-l", "vendor=example,release=3");
    expect(written).toEqual({ code: 0, out: `${folder}.Dockerfile\n`, err: "" });
    const text = (await author.read("."))["catalog.Dockerfile"];
    await expect(text).toMatchFileSnapshot(join(GOLDENS, "catalog.Dockerfile"));
    expect(await dockerfile(folder)).toMatchObject({
      code: 2,
      err: `olmv1: path "${folder}.Dockerfile": file already exists; use --force to overwrite it\n`,
    });
    expect(await dockerfile(folder, "--force", "-o", "jsonpath={.baseImage}")).toMatchObject({
      code: 0,
      out: "quay.io/operator-framework/opm:latest",
    });
  });

  test.for<[string, string[], string]>([
    ["a file in place of a folder", ["package.json"], 'provided root path "package.json" is not a directory'],
    ["builder image scratch", ["docs", "-b", "scratch"], 'invalid builder image: "scratch"'],
    ["an invalid label", ["docs", "-l", "x"], 'invalid label "x"'],
    ["two aliases of an option", ["docs", "-i", "a", "--binary-image", "b"], "--binary-image is an alias of --base-image: use one of them"],
  ])("catalog dockerfile rejects %s", async ([, args, error]) => {
    expect(await dockerfile(...args)).toMatchObject({ code: 2, out: "", err: `olmv1: ${error}\n` });
  });
});
