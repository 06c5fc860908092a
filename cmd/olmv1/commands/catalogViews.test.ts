import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PackageView } from "../../../pkg/browse/details/packageView.ts";
import type { PackageMatch } from "../../../pkg/browse/searchResults.ts";
import type { UpdateGraph } from "../../../pkg/fbc/graph/updateGraph.ts";
import { parseYamlDocuments } from "../../../pkg/golang/yaml.ts";
import { type Ended, runCli, shownRun } from "../../../test/support/runCli.ts";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";

const GOLDENS = join(import.meta.dirname, "../../../test/goldens/cli");
const HARBOUR = join(GOLDENS, "fixtures/catalogs/harbour");
const BOTH = ["--catalog-dir", HARBOUR, "--catalog-dir", join(GOLDENS, "fixtures/catalogs/community")];

const run = (args: string, width = 80, catalogs: readonly string[] = BOTH): Promise<Ended> =>
  runCli([...args.split(" "), ...catalogs], { width });
const json = async <T>(args: string, catalogs?: readonly string[]): Promise<T> =>
  JSON.parse((await run(`${args} -o json`, 80, catalogs)).out) as T;

// Source: D-28, D-16; S0-129, S0-132, S0-133, S0-137.
describe.for([80, 200])("catalog views at width %i", (width) => {
  test.for([
    ["search", "search"],
    ["search-words", "search lighthouse"],
    ["search-wide", "search lighthouse -o wide"],
    ["search-nothing", "search lighthouse submarine"],
    ["show", "show lighthouse-operator"],
    ["show-wide", "show lighthouse-operator -o wide"],
    ["show-version", "show lighthouse-operator@1.1.0"],
    ["show-absent", "show lighthose-operator"],
    ["versions", "versions lighthouse-operator --installed 1.0.0"],
    ["versions-channel", "versions lighthouse-operator --channel candidate --channel v1 -o wide"],
    ["graph", "graph lighthouse-operator --installed 1.0.0"],
    ["graph-from", "graph lighthouse-operator --channel stable --from 1.1.1"],
  ])("output of %s equals the golden file", async ([name, args]) => {
    const { code, out, err } = await run(args ?? "", width);
    const shown = { code, out, err: err.replaceAll(GOLDENS, "GOLDENS") };
    await expect(shownRun(args ?? "", shown)).toMatchFileSnapshot(join(GOLDENS, `views-${name}-${width}.txt`));
    if (args?.includes("-o wide") !== true && !name?.startsWith("show"))
      expect(out.split("\n").filter((line) => Array.from(line).length > width)).toEqual([]);
  });
});

describe("search", () => {
  test.for([
    ["--kind FogHorn", ["lighthouse-operator"]],
    ["--kind Lighthouse.harbour.example.com", ["lighthouse-operator"]],
    ["--kind harbour.example.com/v1beta1/Radar", ["lighthouse-operator"]],
    ["foghorn", ["lighthouse-operator"]],
    ["--keyword navigation", ["buoy-operator", "lighthouse-operator"]],
    ["--arch arm64", ["lighthouse-operator"]],
    ["--arch s390x", ["buoy-operator"]],
    ["--os linux --capability auto&pilot", ["beacon-db"]],
    ["--feature disconnected", ["lighthouse-operator"]],
    ["--catalog community", ["lighthouse-operator"]],
    ["database", ["beacon-db"]],
    ["--limit 1", ["beacon-db"]],
  ] as const)("search %s finds %j", async ([args, want]) => {
    const words = `search ${args} -o name`.split(" ").map((word) => word.replace("&", " "));
    const { code, out } = await runCli([...words, ...BOTH]);
    expect([code, out.trimEnd().split("\n")]).toEqual([0, want]);
  });

  test("search shows the highest matching version when the channel head does not match", async () => {
    const { items } = await json<{ items: PackageMatch[] }>("search --kind Radar");
    expect(items.map(({ catalog, channel, version, matches }) => [catalog, channel, version, matches])).toEqual([
      ["harbour", "candidate", "2.1.0-rc.1", 1],
    ]);
  });

  test("search exits with 1 when no package matches", async () => {
    expect(await run("search nothing-of-the-sort")).toEqual({ code: 1, out: "", err: "olmv1: no match among 4 packages in 2 catalogs\n" });
    expect((await json<{ total: number }>("search nothing-of-the-sort")).total).toBe(0);
  });

  test.for([
    ["search --kind a/b", '--kind "a/b" must be in the form Kind'],
    ["search x --installable", "--installable requires a cluster"],
    ["search x --catalog other", '--catalog: catalog "other" not found; available: community, harbour'],
    ["search x --limit many", "Use a whole number, 0 or greater"],
  ] as const)("olmv1 rejects %s", async ([args, message]) => {
    const { code, err } = await run(args);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  test.for([
    [["--catalog-dir", "/nowhere/at/all"], 'no such file or folder: "/nowhere/at/all"'],
    [["--catalog-dir", `x=${HARBOUR}`, "--catalog-dir", `x=${HARBOUR}`], 'two catalogs have the name "x"'],
    [["--catalog-image", "not a reference"], "error parsing image reference"],
  ] as const)("search rejects options %j", async ([catalogs, message]) => {
    const { code, err } = await run("search", 80, catalogs);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  test("catalog search reads one catalog from a path", async () => {
    const { out } = await runCli(["catalog", "search", HARBOUR, "beacon", "-o", "name"]);
    expect(out).toBe("beacon-db\n");
  });
});

describe("show", () => {
  test("show --examples prints all examples, or the examples of one kind, as YAML documents", async () => {
    const { out } = await run("show lighthouse-operator@2.0.0 --examples");
    expect(parseYamlDocuments(out)).toEqual([
      { apiVersion: "harbour.example.com/v1", kind: "Lighthouse", metadata: { name: "north-pier" }, spec: { beams: 2 } },
      { apiVersion: "harbour.example.com/v1", kind: "FogHorn", metadata: { name: "north-pier" }, spec: { hertz: 120 } },
    ]);
    expect(parseYamlDocuments((await run("show lighthouse-operator@2.0.0 --examples foghorn")).out)).toHaveLength(1);
    expect((await run("show lighthouse-operator@2.0.0 --examples Boat")).err).toBe(
      'olmv1: lighthouse-operator.v2.0.0 has no example of kind "Boat"; kinds with examples: Lighthouse, FogHorn\n',
    );
    expect((await run("show lighthouse-operator@1.0.0 --examples")).err).toContain("has no examples of lighthouse-operator.v1.0.0");
  });

  test("show -o json prints the version, its channels and requirements, and other catalogs that contain the package", async () => {
    const { version, ...view } = await json<PackageView>("show lighthouse-operator --channel candidate");
    expect([view.catalog, version.version, version.channels, view.alsoIn]).toEqual([
      "harbour",
      "2.1.0-rc.1",
      ["candidate"],
      [{ catalog: "community", version: "0.9.0" }],
    ]);
    const shown = await json<PackageView>("show lighthouse-operator@2.0.0");
    expect(shown.version.requires).toEqual(['package "beacon-db" >=3.0.0 <4.0.0', "API cert-manager.io/v1 Certificate"]);
    expect(shown.version.infrastructureFeatures).toEqual(["disconnected", "proxy-aware"]);
    expect(shown.exampleKinds).toEqual(["Lighthouse", "FogHorn"]);
  });

  test("show prints a version from the catalog that contains it", async () => {
    expect((await json<PackageView>("show lighthouse-operator@0.9.0")).catalog).toBe("community");
  });

  test.for([
    ["show @1", "must be in the form PACKAGE or PACKAGE@VERSION"],
    ["show lighthouse-operator@9.9.9", 'has no version "9.9.9" in catalog harbour; the newest are 2.1.0-rc.1, 2.0.0, 1.1.1, 1.1.0, 1.0.0'],
    ["show lighthouse-operator --channel beta", 'has no channel "beta"; available: candidate, stable, v1'],
    ["versions lighthouse-operator --channel beta", 'has no channel "beta"; available: alpha, candidate, stable, v1'],
    ["graph lighthouse-operator --channel beta", 'has no channel "beta"; available: candidate, stable, v1'],
    ["graph lighthouse-operator --channel candidate --from 1.0.0", "no selected channel contains lighthouse-operator.v1.0.0"],
  ] as const)("olmv1 rejects %s", async ([args, message]) => {
    const { code, err } = await run(args);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("graph", () => {
  test.for([
    ["mermaid", /^graph LR\n[^]*class lighthouse-operator-[^\n]* installed\n/],
    ["dot", /^digraph "lighthouse-operator" \{\n[^]*\}\n$/],
    ["svg", /^<svg [^]*· installed<\/text>[^]*<\/svg>\n$/],
  ] as const)("graph -o %s marks the installed bundle", async ([form, want]) => {
    expect((await run(`graph lighthouse-operator --installed 1.0.0 -o ${form}`)).out).toMatch(want);
  });

  test("graph -o json prints the graph with its ranges, and marks the installed bundle", async () => {
    const { channels } = await json<UpdateGraph>("graph lighthouse-operator --installed 1.0.0 --channel stable");
    expect(channels.map(({ name, nodes, edges }) => [name, nodes.length, edges.length])).toEqual([["stable", 4, 4]]);
    const covered = channels[0]?.ranges.flatMap(({ covers }) => covers.map(({ first, last }) => last - first + 1)) ?? [];
    expect(covered.reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(channels[0]?.nodes.at(-1)).toEqual({ name: "lighthouse-operator.v1.0.0", version: "1.0.0", installed: [] });
  });
});

describe("cached catalogs", () => {
  const folder = new TempFolder();
  afterAll(() => folder[Symbol.dispose]());

  test("search stores a catalog in the cache folder, and reads the catalog again after a file changes", async () => {
    const copy = join(folder.path, "copy");
    const env = { XDG_CACHE_HOME: join(folder.path, "cache") };
    cpSync(HARBOUR, copy, { recursive: true });
    const searchNames = async (...more: string[]): Promise<string[]> =>
      (await runCli(["search", "-o", "name", "--catalog-dir", copy, ...more], { env })).out.trimEnd().split("\n");
    const countCached = (): number => readdirSync(join(folder.path, "cache/olmv1/catalogs")).length;
    expect(await searchNames()).toHaveLength(3);
    expect(await searchNames()).toHaveLength(3);
    expect(countCached()).toBe(1);
    rmSync(join(copy, "others.yaml"));
    expect(await searchNames("--no-cache")).toEqual(["lighthouse-operator"]);
    expect(countCached()).toBe(1);
    expect(await searchNames()).toEqual(["lighthouse-operator"]);
    expect(countCached()).toBe(2);
  });

  test("shell completion proposes the package names of a cached catalog", async () => {
    const env = { XDG_CACHE_HOME: join(folder.path, "proposed") };
    const complete = async (): Promise<string> => (await runCli(["__complete", "show", "--catalog-dir", HARBOUR, "b"], { env })).out;
    expect(await complete()).toBe(":4\n");
    await runCli(["search", "--catalog-dir", HARBOUR], { env });
    expect(await complete()).toBe("beacon-db\nbuoy-operator\n:4\n");
  });
});

describeWithData("in real catalogs", (data) => {
  const folder = new TempFolder();
  const env = { XDG_CACHE_HOME: folder.path };
  const catalog = ["--catalog-dir", join(data, "fbc/community-v4.19")];
  const rhtas = ["--catalog-dir", join(data, "fbc/rhtas-v4.18")];
  const real = async <T>(...args: string[]): Promise<T> => JSON.parse((await runCli([...args, "-o", "json"], { env })).out) as T;
  beforeAll(() => expect(readdirSync(folder.path)).toEqual([]));
  afterAll(() => folder[Symbol.dispose]());

  test("search for a package name lists this package first, and show prints the same version", async () => {
    const { items } = await real<{ items: PackageMatch[] }>("search", ...catalog);
    expect(items.length).toBe(readdirSync(join(data, "fbc/community-v4.19")).length);
    for (const { package: name, version } of items.slice(0, 8)) {
      const found = await real<{ items: PackageMatch[] }>("search", name, ...catalog);
      expect(found.items[0]?.package).toBe(name);
      const view = await real<PackageView>("show", name, ...catalog);
      expect([view.version.version, view.versions.includes(version ?? "")]).toEqual([version, true]);
    }
  });

  test("graph prints all channels and deprecations of rhtas-operator, and draws all its entries as SVG", async () => {
    const graph = await real<UpdateGraph>("graph", "rhtas-operator", ...rhtas);
    const { out } = await runCli(["graph", "rhtas-operator", ...rhtas], { env });
    expect(
      out
        .split("\n")
        .filter((line) => line.startsWith("channel "))
        .map((line) => line.split(" ")[1]),
    ).toEqual(graph.channels.map(({ name }) => name));
    expect(out).toContain("deprecated: ");
    const svg = (await runCli(["graph", "rhtas-operator", "-o", "svg", ...rhtas], { env })).out;
    expect(svg.match(/data-name=/g)).toHaveLength(graph.channels.reduce((sum, { nodes }) => sum + nodes.length, 0));
  });
});

test("docs/graph.svg equals the graph of the sample package", async () => {
  const root = join(import.meta.dirname, "../../..");
  const { out } = await runCli(["graph", "hello-operator", "--catalog-dir", join(root, "pkg/devcluster/sample/catalog"), "-o", "svg"]);
  expect(readFileSync(join(root, "docs/graph.svg"), "utf8")).toBe(out);
});
