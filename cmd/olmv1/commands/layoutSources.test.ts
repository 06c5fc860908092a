import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Ended, runCli } from "../../../test/support/runCli.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";

const GOLDENS = join(import.meta.dirname, "../../../test/goldens");
const CATALOG = join(GOLDENS, "cli/fixtures/catalogs/harbour");
const BUNDLE = join(GOLDENS, "bundles/scoped");

const temporary = new TempFolder();
afterAll(() => temporary[Symbol.dispose]());
const resolvePath = (name: string): string => join(temporary.path, name);

async function runOk(...args: string[]): Promise<Ended> {
  const ended = await runCli(args);
  if (ended.code !== 0) throw new Error(`olmv1 ${args.join(" ")} exited with ${ended.code}: ${ended.err}`);
  return ended;
}

/** Replaces the name of the source and durations. */
function normalize({ code, out, err }: Ended, source: string): unknown {
  return { code, out: out.replaceAll(source, "SOURCE"), err: err.replaceAll(source, "SOURCE").replaceAll(/\d+\.\d s/g, "N s") };
}

/** Builds image `v1`. @returns three references to it. */
async function buildImages(name: string, kind: "catalog" | "bundle", folder: string): Promise<string[]> {
  await runOk(kind, "build", folder, "-t", `oci:${resolvePath(name)}:v1`, "--force");
  await runOk(kind, "push", `oci:${resolvePath(name)}:v1`, `oci-archive:${resolvePath(`${name}.tar`)}:v1`);
  return [`oci:${resolvePath(name)}:v1`, `oci-archive:${resolvePath(`${name}.tar`)}`, resolvePath(name)];
}

describe("a catalog in a layout is read like its folder", () => {
  let sources: string[];
  beforeAll(async () => {
    sources = await buildImages("harbour", "catalog", CATALOG);
  });
  const packageName = ["lighthouse-operator"];
  const extract = ["catalog", "extract"];

  test.for<[name: string, args: (source: string) => string[]]>([
    ["catalog validate", (source) => ["catalog", "validate", source]],
    ["catalog render", (source) => ["catalog", "render", source]],
    ["catalog images", (source) => ["catalog", "images", source, "--packages", "beacon-db"]],
    ["catalog diff", (source) => ["catalog", "diff", source, CATALOG]],
    ["catalog search", (source) => ["catalog", "search", source, "beacon", "--no-cache"]],
    ["catalog mirror", (source) => ["catalog", "mirror", source, "localhost:1", "--dry-run", "--packages", "beacon-db", "--name", "x"]],
    ["catalog extract", (source) => [...extract, source, resolvePath("part"), "--packages", "beacon-db", "--dry-run", "-o", "json"]],
    ["catalog migrate", (source) => ["catalog", "migrate", source, resolvePath(`migrated-${source.length}`)]],
    ["search", (source) => ["search", "beacon", "--catalog-dir", `x=${source}`, "--no-cache"]],
    ["show", (source) => ["show", ...packageName, "--catalog-dir", `x=${source}`, "--no-cache"]],
    ["versions", (source) => ["versions", ...packageName, "--catalog-dir", `x=${source}`, "--no-cache"]],
    ["graph", (source) => ["graph", ...packageName, "--catalog-dir", `x=${source}`, "--no-cache"]],
    ["resolve", (source) => ["resolve", ...packageName, "--catalog-dir", `x=${source}`]],
    ["why-not", (source) => ["why-not", ...packageName, "1.0.0", "--catalog-dir", `x=${source}`]],
  ])("%s prints the same for a catalog in a layout as for its folder", async ([, args]) => {
    const want = normalize(await runCli(args(CATALOG)), CATALOG);
    for (const source of sources) {
      const got = normalize(await runCli(args(source)), source);
      expect(got, source).toEqual(args(source)[1] === "migrate" ? { ...(want as Ended), out: expect.any(String) } : want);
    }
  });

  test("search --catalog-image names the catalog in a layout after the folder of the layout", async () => {
    const { out } = await runOk("search", "beacon", "--catalog-image", `oci:${resolvePath("harbour")}:v1`, "--no-cache", "-o", "json");
    expect(out).toContain('"catalog": "harbour"');
  });

  test("bundle render rejects a catalog in a layout", async () => {
    const { code, err } = await runCli(["bundle", "render", `oci:${resolvePath("harbour")}:v1`]);
    expect([code, err]).toEqual([2, expect.stringContaining(`image oci:${resolvePath("harbour")}:v1 is a catalog, not a bundle`)]);
  });
});

describe("a bundle in a layout is read like its folder", () => {
  let sources: string[];
  beforeAll(async () => {
    sources = await buildImages("scoped", "bundle", BUNDLE);
  });

  test.for<[name: string, args: (source: string) => string[]]>([
    ["bundle validate", (source) => ["bundle", "validate", source]],
    ["bundle render", (source) => ["bundle", "render", source]],
    ["bundle config-schema", (source) => ["bundle", "config-schema", source]],
    ["rbac", (source) => ["rbac", source, "--namespace", "x", "--service-account", "x"]],
    ["catalog render", (source) => ["catalog", "render", source, "--alpha-image-ref-template", "quay.io/x/{{.Name}}:v1"]],
  ])("%s prints the same for a bundle in a layout as for its folder", async ([, args]) => {
    const want = normalize(await runOk(...args(BUNDLE)), BUNDLE);
    for (const source of sources) expect(normalize(await runCli(args(source)), source), source).toEqual(want);
  });

  test("catalog add-bundle rejects a bundle in a layout", async () => {
    const { code, err } = await runCli([
      "catalog",
      "add-bundle",
      CATALOG,
      `oci:${resolvePath("scoped")}:v1`,
      "--channels",
      "stable",
      "--dry-run",
    ]);
    expect([code, err]).toEqual([2, expect.stringContaining("cannot determine the image of the bundle")]);
  });
});
