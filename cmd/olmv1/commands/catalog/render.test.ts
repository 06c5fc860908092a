import { mkdir, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Authoring } from "../../../../test/support/authoring.ts";
import { runCli, shownRun } from "../../../../test/support/runCli.ts";

const GOLDENS = join(import.meta.dirname, "../../../../test/goldens/cli");
const CONFIGS = "operators.operatorframework.io.index.configs.v1";
const METADATA = "bundle-object-to-csv-metadata";

let author: Authoring;
beforeEach(async () => {
  author = await Authoring.start();
});

const render = (...args: string[]) => runCli(["catalog", "render", ...args, ...author.options]);

describe("olmv1 catalog render", () => {
  test("catalog render prints a bundle image as YAML with ClusterServiceVersion metadata", async () => {
    const image = await author.pushBundle("gadget", "1.0.0");
    const args = [image, "-o", "yaml", "--migrate-level", METADATA];
    await expect(shownRun(`catalog render ${args.join(" ")}`, await render(...args))).toMatchFileSnapshot(
      join(GOLDENS, "catalog-render-image.txt"),
    );
  });

  test("catalog render prints a bundle folder as JSON with its manifests and an image from the template", async () => {
    const args = ["test/goldens/bundles/scoped", "--alpha-image-ref-template", "quay.io/example/{{.Package}}-bundle:v{{.Version}}"];
    await expect(shownRun(`catalog render ${args.join(" ")}`, await render(...args))).toMatchFileSnapshot(
      join(GOLDENS, "catalog-render-folder.txt"),
    );
  });

  test("catalog render prints several catalogs and bundles in the order of opm", async () => {
    await mkdir(join(author.folder, "catalog"));
    await author.write(
      "catalog/b.yaml",
      "schema: olm.package\nname: b\ndefaultChannel: stable\n---\nschema: example.com.note\ntext: hello\n",
    );
    const catalog = await author.push(
      "catalog",
      "latest",
      { "configs/a.json": '{"schema": "olm.package", "name": "a"}' },
      { [CONFIGS]: "/configs" },
    );
    const bundle = await author.pushBundle("b", "1.0.0");
    const { code, out, err } = await render(join(author.folder, "catalog"), bundle, catalog);
    expect([code, err]).toEqual([0, ""]);
    const objects = out.split(/(?<=^\})\n/m).filter((text) => text !== "");
    expect(
      objects.map((text) => JSON.parse(text) as { schema: string; name?: string }).map(({ schema, name }) => `${schema} ${name}`),
    ).toEqual(["olm.package a", "olm.package b", "olm.bundle b.v1.0.0", "example.com.note undefined"]);
  });

  test("catalog render warns about a file that it skips in a bundle folder", async () => {
    await mkdir(join(author.folder, "bundle/metadata"), { recursive: true });
    await mkdir(join(author.folder, "bundle/manifests"));
    await author.write("bundle/metadata/annotations.yaml", "annotations: {operators.operatorframework.io.bundle.package.v1: a}\n");
    await author.write("bundle/manifests/csv.yaml", "kind: ClusterServiceVersion\nmetadata: {name: a.v1}\nspec: {version: 1.0.0}\n");
    await author.write("bundle/manifests/notes.txt", "hello\n");
    const bundle = join(author.folder, "bundle");
    const { code, err } = await render(bundle);
    expect([code, err]).toEqual([
      0,
      `olmv1: warning: ${bundle}: manifests/notes.txt: skipped, because the file contains no object with a kind\n`,
    ]);
  });

  test("catalog render stops a pull on Ctrl-C and leaves no files", async () => {
    const image = await author.pushBundle("gadget", "1.0.0");
    const interrupt = new AbortController();
    author.holdBlobs(() => interrupt.abort());
    const temporary = await author.emptyFolder("tmp");
    vi.stubEnv("TMPDIR", temporary);
    const { code, out } = await runCli(["catalog", "render", image, ...author.options], { signal: interrupt.signal });
    vi.unstubAllEnvs();
    expect([code, out]).toEqual([130, ""]);
    expect(await readdir(temporary)).toEqual([]);
  });

  test.for<[string, Record<string, string>, string]>([
    [
      "a catalog image with a database",
      { "operators.operatorframework.io.index.database.v1": "/database/index.db" },
      'render "quay.io/example/image:v1": sqlite-based index images are no longer supported, migrate to a file-based catalog: not allowed',
    ],
    [
      "an image that is neither a catalog nor a bundle",
      { vendor: "x", maintainer: "y" },
      'render "quay.io/example/image:v1": image type could not be determined, found labels\n  maintainer=y\n  vendor=x',
    ],
    ["an image without labels", {}, 'render "quay.io/example/image:v1": image type could not be determined: image has no labels'],
  ])("catalog render rejects %s", async ([, labels, error]) => {
    const image = await author.push("image", "v1", { "a.txt": "hello" }, labels);
    const { code, err } = await render(image);
    expect([code, err]).toEqual([2, `olmv1: render reference "quay.io/example/image:v1": ${error}\n`]);
  });

  test("catalog render rejects a catalog that contains an object without schema", async () => {
    await author.write("a.yaml", "schema: olm.package\nname: a\n---\nname: b\n");
    const { code, err } = await render(dirname(await author.write("b.yaml", "")));
    expect(code).toBe(2);
    expect(err).toContain("missing root schema field");
  });

  test.for<[string, string[], string]>([
    ["a file", ["package.json"], 'render reference "package.json": ref "package.json" is not a directory: not allowed'],
    [
      "a missing folder",
      ["./nowhere"],
      'render reference "./nowhere": failed to pull image "./nowhere": not an existing folder or an image reference',
    ],
    [
      "a missing image",
      ["quay.io/example/none:v1"],
      'render reference "quay.io/example/none:v1": failed to pull image "quay.io/example/none:v1": ',
    ],
    ["an unknown migration level", ["x", "--migrate-level", "v3"], 'unknown migration level "v3"'],
    ["two migration levels", ["x", "--migrate", "--migrate-level", "none"], "--migrate and --migrate-level cannot be given together"],
    [
      "an unknown field",
      ["x", "--alpha-image-ref-template", "a:{{.Tag}}"],
      'image reference template: ".Tag" is not one of .Package, .Name, .Version',
    ],
    [
      "unbalanced braces in the template",
      ["x", "--alpha-image-ref-template", "a:{{.Name"],
      'image reference template "a:{{.Name": unbalanced braces',
    ],
  ])("rejects %s", async ([, args, error]) => {
    const { code, out, err } = await render(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err.startsWith(`olmv1: ${error}`), err).toBe(true);
  });
});
