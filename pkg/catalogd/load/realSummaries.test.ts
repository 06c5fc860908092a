import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { groupByPackage } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import type { PackageSummary } from "../../fbc/summary/packageSummary.ts";
import type { SearchRecord } from "../../fbc/summary/search.ts";
import type { FbcChannel, Meta, PackageContent } from "../../fbc/types.ts";
import { encodeCanonicalJson } from "../../golang/json.ts";
import { Loader } from "./loader.ts";

const CATALOGS = ["certified-v4.14", "community-v4.19", "gatekeeper-4-14", "kueue-v5.0", "rhtas-v4.18"];

interface Loaded {
  packages: PackageSummary[];
  search: SearchRecord[];
  /** The lines as in the file. */
  properties: string[];
  contents: Map<string, PackageContent>;
}

async function loaded(data: string, name: string): Promise<Loaded> {
  using folder = new TempFolder();
  const archive = join(data, `fbc/${name}.tar.gz`);
  if (existsSync(archive)) execFileSync("tar", ["-xzf", archive, "-C", folder.path]);
  const staging = folder.write("staging", {});
  await new Loader().load(existsSync(archive) ? join(folder.path, name) : join(data, "fbc", name), staging, new AbortController().signal);
  const lines = (artifact: string): string[] =>
    readFileSync(join(staging, `${artifact}.jsonl`), "utf8")
      .split("\n")
      .slice(0, -1);
  const metas: Meta[] = [];
  for await (const meta of decodeMetas([readFileSync(join(staging, "catalog.jsonl"))], name)) metas.push(meta);
  return {
    packages: lines("packages").map((line) => JSON.parse(line) as PackageSummary),
    search: lines("search").map((line) => JSON.parse(line) as SearchRecord),
    properties: lines("properties"),
    contents: groupByPackage(metas),
  };
}

/**
 * Finds channel heads with a slow reference algorithm: checks for each entry whether another entry
 * replaces or skips it.
 */
function headsOf({ entries }: FbcChannel): string[] {
  const isHead = (name: string): boolean => !entries.some(({ replaces, skips = [] }) => replaces === name || skips.includes(name));
  return entries
    .map(({ name }) => name)
    .filter(isHead)
    .sort();
}

describeWithData("summaries of real catalogs", (data) => {
  test.for(CATALOGS)("summaries of %s match the packages, channels and bundles of the catalog", { timeout: 120_000 }, async (name) => {
    const { packages, search, properties, contents } = await loaded(data, name);
    const names = [...contents.keys()].filter((key) => key !== "").sort();
    expect(packages.map((line) => line.package)).toEqual(names);
    expect(search.map((line) => line.package)).toEqual(names);
    for (const line of packages) {
      const content = contents.get(line.package)!;
      expect(line.bundles).toBe(content.bundles.length);
      expect(line.defaultChannel).toBe(content.package?.defaultChannel);
      expect(line.incomplete).toBeUndefined();
      expect(line.channels.map(({ name: channel, heads }) => [channel, heads.map(({ bundle }) => bundle)])).toEqual(
        content.channels.map((channel) => [channel.name, headsOf(channel)]),
      );
      expect(line.displayName, line.package).toBeTypeOf("string");
      expect(line.anyVersion.installModes, line.package).not.toEqual([]);
      // The default version may not be in any channel, see pkg/resolve/versionOrder.test.ts.
      expect(content.bundles.map(({ name: bundle }) => bundle)).toContain(line.head?.bundle);
      expect(line.anyVersion.architectures).toEqual(expect.arrayContaining(line.head?.architectures ?? []));
    }
    const bundles = [...contents.values()].flatMap((content) => content.bundles);
    expect(properties).toHaveLength(bundles.length);
    const kept = new Map(properties.map((line) => [(JSON.parse(line) as { bundle: string }).bundle, line]));
    for (const bundle of bundles) {
      const expected = bundle.properties.filter(({ type }) => type !== "olm.bundle.object" && type !== "olm.csv.metadata");
      expect(kept.get(bundle.name)).toContain(`"properties":${encodeCanonicalJson(expected)}`);
    }
    const versions = search.flatMap((record) => record.versions);
    expect(versions.map(([bundle]) => bundle).sort()).toEqual(bundles.map((bundle) => bundle.name).sort());
    for (const record of search) {
      const channels = contents.get(record.package)?.channels ?? [];
      for (const version of record.versions) {
        const inChannels = channels.filter(({ entries }) => entries.some((entry) => entry.name === version[0]));
        expect(version[7].map((index) => record.channels[index]?.name)).toEqual(inChannels.map((one) => one.name));
      }
    }
  });

  test("summaries of community-v4.19 contain known values", { timeout: 120_000 }, async () => {
    const { packages } = await loaded(data, "community-v4.19");
    const of = (name: string): PackageSummary | undefined => packages.find((line) => line.package === name);
    expect(of("aws-neuron-operator")).toMatchObject({
      defaultChannel: "Fast",
      head: { bundle: "aws-neuron-operator.v1.2.0", channel: "Fast" },
    });
    expect(of("alloydb-omni-operator")?.head).toMatchObject({
      version: "1.8.0",
      capability: "Deep Insights",
      installModes: ["AllNamespaces"],
    });
    const withFips = packages.filter((line) => line.anyVersion.infrastructureFeatures.includes("fips-compliant"));
    expect(withFips.length).toBeGreaterThan(0);
    for (const line of packages) expect(line.anyVersion.infrastructureFeatures).not.toContain("fips");
  });

  test("summaries of rhtas-v4.18 contain deprecated channels and bundles", async () => {
    const { packages } = await loaded(data, "rhtas-v4.18");
    const [line] = packages;
    expect(line?.channels.filter(({ deprecated }) => deprecated !== undefined).length).toBeGreaterThan(0);
    expect(line?.deprecatedBundles?.length).toBeGreaterThan(0);
  });
});
