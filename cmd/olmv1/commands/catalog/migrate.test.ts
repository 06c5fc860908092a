import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { Authoring, authoredBundle } from "../../../../test/support/authoring.ts";
import { runCli, shownRun } from "../../../../test/support/runCli.ts";

const GOLDENS = join(import.meta.dirname, "../../../../test/goldens/cli");
const TEMPLATE = "quay.io/example/{{.Package}}-bundle:v{{.Version}}";
const MANIFEST = "packageName: gadget\nchannels: [{name: stable, currentCSV: gadget.v1.1.0}]\n";

let author: Authoring;
beforeEach(async () => {
  author = await Authoring.start();
});

const at = (path: string) => join(author.folder, path);
const migrate = (...args: string[]) => runCli(["catalog", "migrate", ...args, ...author.options], { width: 200 });

/** A package with two versions; the newer one replaces the older one. */
async function writePackage(folder: string, manifest = MANIFEST): Promise<void> {
  const files: Record<string, string> = { "gadget.package.yaml": manifest };
  for (const version of ["1.0.0", "1.1.0"]) {
    const bundle = authoredBundle("gadget", version);
    const csv = bundle["manifests/csv.yaml"]?.replace(
      "\n  version:",
      version === "1.0.0" ? "\n  version:" : "\n  replaces: gadget.v1.0.0\n  version:",
    );
    files[`${version}/gadget.clusterserviceversion.yaml`] = csv ?? "";
    files[`${version}/gadgets.crd.yaml`] = bundle["manifests/crd.yaml"] ?? "";
  }
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(at(`${folder}/${path}`)), { recursive: true });
    await author.write(`${folder}/${path}`, text);
  }
}

describe("olmv1 catalog migrate", () => {
  test("catalog migrate converts package manifests to a catalog and bundles", async () => {
    await writePackage("gadget");
    const args = ["--bundle-image-template", TEMPLATE, "--bundles-dir", at("bundles"), "--migrate"];
    const ended = await migrate(at("gadget"), at("catalog"), ...args);
    const shown = shownRun(`catalog migrate gadget catalog --bundle-image-template '${TEMPLATE}' --bundles-dir bundles --migrate`, ended);
    const catalog = await author.read("catalog");
    expect(Object.keys(catalog)).toEqual(["gadget/catalog.yaml"]);
    await expect(
      `${shown}$ cat catalog/gadget/catalog.yaml\n${catalog["gadget/catalog.yaml"]}`.replaceAll(`${author.folder}/`, ""),
    ).toMatchFileSnapshot(join(GOLDENS, "catalog-migrate.txt"));
    expect((await runCli(["catalog", "validate", at("catalog")])).code).toBe(0);
    const rendered = await runCli([
      "catalog",
      "render",
      at("bundles/gadget/1.1.0"),
      "--alpha-image-ref-template",
      TEMPLATE,
      "--migrate",
      "-o",
      "yaml",
    ]);
    expect(rendered.err).toBe("");
    expect(catalog["gadget/catalog.yaml"]?.endsWith(rendered.out)).toBe(true);
  });

  test("catalog migrate converts several packages in one folder, and warns about bundles without images", async () => {
    await writePackage("all/gadget");
    await writePackage("all/other", MANIFEST.replace("packageName: gadget", "packageName: other"));
    const { code, out, err } = await migrate(at("all"), at("catalog"), "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ packages: [{ name: "gadget", channels: 1, bundles: 2 }, { name: "other" }] });
    expect(err).toContain("warning");
    expect(err).toContain("the bundles have no image");
  });

  test("catalog migrate reports all errors at once and writes nothing", async () => {
    await writePackage(
      "gadget",
      "packageName: gadget\nchannels: [{name: a, currentCSV: gadget.v2.0.0}, {name: b, currentCSV: gadget.v1.1.0}]\n",
    );
    const { code, err } = await migrate(at("gadget"), at("catalog"), "--bundle-image-template", TEMPLATE);
    expect([code, err]).toEqual([
      1,
      'error: channel "a" refers to "gadget.v2.0.0", which no folder of the package contains\n' +
        'error: package "gadget" has several channels and no defaultChannel\nolmv1: no files were written\n',
    ]);
    await expect(author.read("catalog")).rejects.toThrow("ENOENT");
  });

  test("catalog migrate writes nothing when the catalog would be invalid", async () => {
    await writePackage("gadget");
    const csv = authoredBundle("gadget", "1.0.0")["manifests/csv.yaml"] ?? "";
    await author.write(
      "gadget/1.0.0/gadget.clusterserviceversion.yaml",
      csv.replace("\n  version:", "\n  replaces: gadget.v1.1.0\n  version:"),
    );
    const { code, err } = await migrate(at("gadget"), at("catalog"), "--bundle-image-template", TEMPLATE);
    expect(code).toBe(1);
    expect(err).toContain("no channel head found in graph");
  });

  test("catalog migrate reads a catalog from an image and writes one file per package", async () => {
    const files = {
      "configs/all.json":
        '{"schema": "olm.package", "name": "b", "defaultChannel": "x"}{"schema": "olm.channel", "package": "b", "name": "x", "entries": [{"name": "b.v1"}]}{"schema": "olm.bundle", "package": "b", "name": "b.v1", "image": "quay.io/example/b", "properties": [{"type": "olm.package", "value": {"packageName": "b", "version": "1.0.0"}}]}',
    };
    const image = await author.push("catalog", "v1", files, { "operators.operatorframework.io.index.configs.v1": "/configs" });
    expect((await migrate(image, at("catalog"), "--format", "json")).code).toBe(0);
    expect(Object.keys(await author.read("catalog"))).toEqual(["b/catalog.json"]);
  });

  test("catalog migrate rejects a non-empty target folder", async () => {
    expect(await migrate(at("gadget"), author.folder)).toMatchObject({
      code: 2,
      err: `olmv1: output dir "${author.folder}" must be empty\n`,
    });
  });

  test("catalog migrate rejects an image that is not a catalog", async () => {
    const { code, err } = await migrate(await author.push("bundle", "v1", { a: "b" }, {}), at("catalog"));
    expect(code).toBe(2);
    expect(err).toMatch(/^olmv1: render catalog image: render reference "quay\.io\/example\/bundle:v1": /);
  });
});
