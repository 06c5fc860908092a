import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseYaml } from "../../../pkg/golang/yaml.ts";
import type { ResolutionRecord } from "../../../pkg/resolve/resolutionRecord.ts";
import { olmv1 } from "../../../test/support/runCli.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";

const folder = new TempFolder();
const PAGE = join(import.meta.dirname, "../../../docs/how-to/explain-resolution.md");
const VERSIONS = ["1.0.0", "1.1.0", "1.2.0", "2.0.0"];
const createProperties = (version: string, packageName: string): object[] => [{ type: "olm.package", value: { packageName, version } }];
const bundle = (version: string, name = "p"): object => ({
  schema: "olm.bundle",
  package: name,
  name: `${name}.v${version}`,
  image: `registry.example/p:v${version}`,
  properties: createProperties(version, name),
});
const channel = (name: string, entries: object[]): object => ({ schema: "olm.channel", package: "p", name, entries });
const toJsonLines = (...metas: object[]): string => metas.map((meta) => JSON.stringify(meta)).join("\n");

beforeAll(() => {
  folder.write("main", {
    "catalog.json": toJsonLines(
      { schema: "olm.package", name: "p" },
      channel("stable", [{ name: "p.v1.0.0" }, { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v1.2.0", replaces: "p.v1.1.0" }]),
      channel("fast", [{ name: "p.v2.0.0", replaces: "p.v1.2.0" }]),
      ...VERSIONS.map((version) => bundle(version)),
    ),
  });
  folder.write("other", { "catalog.json": toJsonLines({ schema: "olm.package", name: "q" }) });
  const catalog = { packageName: "p", version: "1.x", selector: { matchLabels: { a: "b" } } };
  const spec = { namespace: "x", source: { sourceType: "Catalog", catalog } };
  const status = { install: { bundle: { name: "p.v1.0.0", version: "1.0.0" } } };
  const extension = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", metadata: { name: "x" }, spec, status };
  folder.write("files", { "extension.json": JSON.stringify(extension) });
});
afterAll(() => folder[Symbol.dispose]());

const main = (): string => `c=${join(folder.path, "main")}`;
const file = (): string => join(folder.path, "files/extension.json");

/** Source: D-07, D-28 (offline mode). None of these commands reads a cluster. */
test.for<[why: string, args: () => string[], code: number, lines: string[]]>([
  [
    "resolve prints the bundle for a new installation",
    () => ["resolve", "p", "--catalog-dir", main()],
    0,
    ["bundle: p.v2.0.0 (version 2.0.0) of catalog c", 'why: bundle "p.v2.0.0" (version 2.0.0) of catalog "c": highest of 4 versions'],
  ],
  [
    "resolve --explain lists the bundles that each filter removed, and the next candidate",
    () => ["resolve", "p", "--catalog-dir", main(), "--installed", "1.0.0", "--version", "<2", "--explain"],
    0,
    [
      "package p",
      "  installed: p.v1.0.0 (version 1.0.0)",
      "  channels: all",
      "  version: <2",
      "  upgradeConstraintPolicy: CatalogProvided",
      "",
      "CATALOG  PRIORITY  BUNDLES  VERSION RANGE  UPGRADE EDGES  BEST",
      "c        0         4        3              2              1.1.0",
      "",
      'catalog c, removed by versionRange (required: matching "<2"):',
      '  p.v2.0.0: "<2" excludes it',
      'catalog c, removed by upgradeEdges (required: a direct successor of "p.v1.0.0"):',
      '  p.v1.2.0: it has no upgrade edge from "p.v1.0.0"',
      "",
      "bundle: p.v1.1.0 (version 1.1.0) of catalog c, by replaces in channel stable",
      "next: p.v1.0.0 (version 1.0.0) of catalog c: version 1.1.0 is higher than 1.0.0",
      'why: bundle "p.v1.1.0" (version 1.1.0) of catalog "c": highest of 2 versions matching "<2", successor of "p.v1.0.0" by replaces in channel "stable"; version 1.2.0 is higher, but has no upgrade edge from "p.v1.0.0"',
    ],
  ],
  [
    "resolve reads the installed bundle from a file, and options replace its spec",
    () => ["resolve", "-f", file(), "--catalog-dir", main(), "--channel", "stable"],
    0,
    [
      "bundle: p.v1.1.0 (version 1.1.0) of catalog c, by replaces in channel stable",
      'why: bundle "p.v1.1.0" (version 1.1.0) of catalog "c": highest of 2 versions in channels [stable] matching "1.x", successor of "p.v1.0.0" by replaces in channel "stable"; version 1.2.0 is higher, but has no upgrade edge from "p.v1.0.0"',
    ],
  ],
  [
    "resolve explains why no bundle matches",
    () => ["resolve", "p", "--catalog-dir", main(), "--version", "3.x"],
    1,
    [
      'no bundle: no bundles found for package "p" matching version "3.x"',
      'why: catalog "c": 4 bundles, none matching "3.x": the highest version is 2.0.0',
    ],
  ],
  [
    "why-not lists the intermediate versions of an upgrade path",
    () => ["why-not", "p", "2.0.0", "--catalog-dir", main(), "--catalog-dir", join(folder.path, "other"), "--installed", "p.v1.0.0"],
    1,
    [
      "2.0.0 of package p is not selected",
      "p.v2.0.0 (version 2.0.0) of catalog c, priority 0:",
      '  upgradeEdges: it has no upgrade edge from "p.v1.0.0"',
      "    upgrade through [1.1.0 1.2.0] first; set upgradeConstraintPolicy to SelfCertified to upgrade directly, without an upgrade edge",
      "not in: catalog other",
      "selected: p.v1.1.0 (version 1.1.0) of catalog c",
    ],
  ],
  [
    "why-not reads the extension from a file",
    () => ["why-not", "2.0.0", "-f", file(), "--installed", "none", "--catalog-dir", main()],
    1,
    [
      "2.0.0 of package p is not selected for ClusterExtension x",
      "p.v2.0.0 (version 2.0.0) of catalog c, priority 0:",
      '  versionRange: spec.source.catalog.version "1.x" excludes it',
      '    change the range, for example to "2.0.0", or remove the range',
      "selected: p.v1.2.0 (version 1.2.0) of catalog c",
    ],
  ],
  [
    "why-not suggests adjacent versions when the version does not exist",
    () => ["why-not", "p", "1.1.5", "--catalog-dir", main()],
    1,
    [
      "1.1.5 of package p is not in catalog c",
      "next lower: p.v1.1.0 (version 1.1.0) of catalog c",
      "next higher: p.v1.2.0 (version 1.2.0) of catalog c",
      "highest: p.v2.0.0 (version 2.0.0) of catalog c",
      "selected: p.v2.0.0 (version 2.0.0) of catalog c",
    ],
  ],
  [
    "why-not reports that the version is selected",
    () => ["why-not", "p", "2.0.0", "--catalog-dir", main(), "--catalog", "c"],
    0,
    ["2.0.0 of package p is selected", "p.v2.0.0 (version 2.0.0) of catalog c, priority 0: selected"],
  ],
])("offline %s", async ([, args, code, lines]) => {
  const ended = await olmv1(...args());
  expect(ended.err).toBe("");
  expect(ended.out.split("\n")).toEqual([...lines, ""]);
  expect(ended.code).toBe(code);
});

test.for<[why: string, args: () => string[], err: string]>([
  ["resolve without a package or file", () => ["resolve", "--catalog-dir", main()], "specify one ClusterExtension or package, or one file"],
  ["an unknown name for --catalog", () => ["resolve", "p", "--catalog-dir", main(), "--catalog", "d"], '--catalog: catalog "d" not found'],
  ["a missing folder", () => ["resolve", "p", "--catalog-dir", "/nowhere"], "read catalog /nowhere: "],
  ["why-not without a version", () => ["why-not", "p", "--catalog-dir", main()], "specify an extension or package, and a version"],
  ["an invalid version", () => ["why-not", "p", "newest", "--catalog-dir", main()], '"newest" is not a version such as 1.2.3'],
  [
    "a package that differs from that of the extension",
    () => ["why-not", "q", "1.0.0", "-f", file(), "--catalog-dir", main()],
    "installs package",
  ],
  ["an unknown option", () => ["resolve", "p", "--nonsense"], "unknown option"],
])("resolution command fails for %s", async ([, args, err]) => {
  const ended = await olmv1(...args());
  expect(ended.err).toContain(err);
  expect([ended.out, ended.code]).toEqual(["", 2]);
});

test("resolve prints the complete resolution record as JSON and YAML", async () => {
  const args = ["resolve", "p", "--catalog-dir", main(), "--channel", "fast", "-o"];
  const [json, yaml] = await Promise.all([olmv1(...args, "json"), olmv1(...args, "yaml")]);
  const record = JSON.parse(json.out) as ResolutionRecord;
  expect(record).toMatchObject({
    formatVersion: 1,
    package: "p",
    outcome: { kind: "resolved", winner: { bundle: "p.v2.0.0", catalog: "c" } },
  });
  expect(parseYaml(yaml.out)).toEqual(record);
});

test("docs/how-to/explain-resolution.md shows the output of resolve and why-not", async () => {
  const name = "hello-operator";
  const getBundleName = (version: string): string => `${name}.v${version}`;
  const entries = ["1.0.0", "1.1.0", "1.2.0"].map((version, i, all) => ({
    name: getBundleName(version),
    ...(i === 0 ? {} : { replaces: getBundleName(all[i - 1] ?? "") }),
  }));
  const metas = [
    { schema: "olm.package", name },
    { schema: "olm.channel", package: name, name: "stable", entries },
    { schema: "olm.channel", package: name, name: "fast", entries: [{ name: getBundleName("2.0.0"), replaces: getBundleName("1.2.0") }] },
    ...VERSIONS.map((version) => bundle(version, name)),
  ];
  const spec = {
    namespace: "hello",
    source: { sourceType: "Catalog", catalog: { packageName: name, channels: ["stable"], version: "1.x" } },
  };
  const status = { install: { bundle: { name: getBundleName("1.0.0"), version: "1.0.0" } } };
  const extension = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", metadata: { name: "hello" }, spec, status };
  const dir = folder.write("guide", { "catalog.json": toJsonLines(...metas), "extension.yaml": JSON.stringify(extension) });
  const options = ["-f", join(dir, "extension.yaml"), "--catalog-dir", `operators=${join(dir, "catalog.json")}`];
  const page = readFileSync(PAGE, "utf8");
  const outputs = await Promise.all([olmv1("resolve", ...options, "--explain"), olmv1("why-not", "2.0.0", ...options)]);
  for (const { out } of outputs) expect(page).toContain(`\n\`\`\`\n${out}\`\`\`\n`);
});
