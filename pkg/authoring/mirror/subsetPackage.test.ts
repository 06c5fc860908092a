import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../api/k8s.ts";
import type { ChannelEntry, Meta } from "../../fbc/types.ts";
import { CatalogCheck } from "../../fbc/validate/catalogCheck.ts";
import { listImages, listProvidedApis, listRequiredApis, listRequiredPackages } from "./bundleReferences.ts";
import { parseSelection, subsetPackage } from "./subset.ts";

function meta(blob: JsonObject): Meta {
  const text = (key: string): string => (typeof blob[key] === "string" ? blob[key] : "");
  return { schema: text("schema"), package: text("package"), name: text("name"), blob };
}

function bundle(version: string, packageName = "app"): Meta {
  const name = `${packageName}.v${version}`;
  const properties = [{ type: "olm.package", value: { packageName, version } }];
  const image = `quay.io/${packageName}/bundle:v${version}`;
  return meta({
    schema: "olm.bundle",
    package: packageName,
    name,
    image,
    properties,
    relatedImages: [
      { name: "", image },
      { name: "app", image: `quay.io/${packageName}/app:v${version}` },
    ],
  });
}

function channel(name: string, entries: readonly ChannelEntry[]): Meta {
  return meta({ schema: "olm.channel", package: "app", name, entries: [...entries] });
}

/** Returns entries that each replace the previous one. */
function chain(...versions: string[]): ChannelEntry[] {
  return versions.map((version, at) => ({ name: `app.v${version}`, ...(at === 0 ? {} : { replaces: `app.v${versions[at - 1]}` }) }));
}

const VERSIONS = ["1.0.0", "1.1.0", "1.2.0", "2.0.0"];
const PACKAGE = [
  meta({ schema: "olm.package", name: "app", defaultChannel: "stable" }),
  channel("stable", chain(...VERSIONS)),
  channel("beta", chain("1.2.0", "2.0.0")),
  ...VERSIONS.map((version) => bundle(version)),
  meta({
    schema: "olm.deprecations",
    package: "app",
    entries: [
      { reference: { schema: "olm.bundle", name: "app.v1.0.0" }, message: "old" },
      { reference: { schema: "olm.channel", name: "beta" }, message: "no" },
    ],
  }),
  meta({ schema: "example.notes", package: "app", text: "kept" }),
];

/** Summarizes the remaining objects. */
function left(texts: { channels?: string[]; versions?: string[] }): Record<string, unknown> {
  const selection = parseSelection({ packages: ["app"], channels: texts.channels ?? [], versions: texts.versions ?? [] });
  if (!selection) throw new Error("nothing is selected");
  const { metas, notes } = subsetPackage(PACKAGE, "app", selection);
  const entries = (one: Meta): readonly { name?: string; reference?: JsonObject }[] => one.blob["entries"] as { name?: string }[];
  const ofSchema = (schema: string): Meta[] => metas.filter((one) => one.schema === schema);
  return {
    default: ofSchema("olm.package")[0]?.blob["defaultChannel"],
    channels: Object.fromEntries(ofSchema("olm.channel").map((one) => [one.name, entries(one).map(({ name }) => name)])),
    bundles: ofSchema("olm.bundle").map(({ name }) => name),
    deprecations: ofSchema("olm.deprecations").flatMap((one) => entries(one).map(({ reference }) => reference?.["name"])),
    others: ofSchema("example.notes").length,
    notes,
  };
}

describe("subsetPackage", () => {
  test("subsetPackage selects one channel, which becomes the default channel", () => {
    expect(left({ channels: ["beta"] })).toEqual({
      default: "beta",
      channels: { beta: ["app.v1.2.0", "app.v2.0.0"] },
      bundles: ["app.v1.2.0", "app.v2.0.0"],
      deprecations: ["beta"],
      others: 1,
      notes: ['package "app": changed the default channel to "beta"'],
    });
  });

  test("subsetPackage selects a version range", () => {
    expect(left({ versions: ["<1.2"] })).toEqual({
      default: "stable",
      channels: { stable: ["app.v1.0.0", "app.v1.1.0"] },
      bundles: ["app.v1.0.0", "app.v1.1.0"],
      deprecations: ["app.v1.0.0"],
      others: 1,
      notes: [],
    });
  });

  test("subsetPackage keeps unselected versions that upgrades between the selected versions need", () => {
    expect(left({ channels: ["app:stable"], versions: ["app:1.0.0 || 2.0.0"] })).toMatchObject({
      channels: { stable: ["app.v1.0.0", "app.v1.1.0", "app.v1.2.0", "app.v2.0.0"] },
      notes: ['package "app": app.v1.1.0, app.v1.2.0 are kept, because upgrades need them'],
    });
  });

  test.for<[texts: { channels?: string[]; versions?: string[] }, says: string]>([
    [{ channels: ["gamma"] }, 'package "app" has no channel "gamma"; available: stable, beta'],
    [{ versions: [">3"] }, 'no version of package "app" matches the version range, in channel "stable", "beta"'],
    [{ versions: ["not a range"] }, 'invalid version range "not a range": '],
    [{ versions: [">1", ">2"] }, "several version ranges for all packages: use one"],
  ])("subsetPackage rejects %j", ([texts, says]) => expect(() => left(texts)).toThrow(says));

  test("subsetPackage rejects a package that does not exist", () => {
    const selection = parseSelection({ packages: ["other"], channels: [], versions: [] });
    expect(() => selection && subsetPackage([], "other", selection)).toThrow('the catalog does not contain package "other"');
  });

  test("subsetPackage keeps a package valid and its bundles unchanged", () => {
    const versions = fc.uniqueArray(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(versions, fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 12 }), (minors, a, b) => {
        const sorted = minors.toSorted((x, y) => x - y).map((minor) => `1.${minor}.0`);
        const all = [PACKAGE[0] as Meta, channel("stable", chain(...sorted)), ...sorted.map((version) => bundle(version))];
        const selection = parseSelection({
          packages: [],
          channels: [],
          versions: [`app:>=1.${Math.min(a, b)}.0, <=1.${Math.max(a, b)}.0`],
        });
        const wanted = minors.filter((minor) => minor >= Math.min(a, b) && minor <= Math.max(a, b)).length;
        if (wanted === 0 || !selection) return;
        const { metas } = subsetPackage(all, "app", selection);
        const check = new CatalogCheck();
        for (const one of metas) check.add({ ...one, place: { file: "catalog" } });
        expect(check.end().errors).toBe(0);
        expect(metas.filter(({ schema }) => schema === "olm.bundle")).toHaveLength(wanted);
        expect(all).toEqual(expect.arrayContaining(metas.filter(({ schema }) => schema === "olm.bundle")));
      }),
    );
  });
});

test("parseSelection also selects the packages of channels and versions in the form package:value", () => {
  const of = (packages: string[], channels: string[], versions: string[]) => parseSelection({ packages, channels, versions })?.packages;
  expect(parseSelection({ packages: [], channels: [], versions: [] })).toBeUndefined();
  expect(of([], ["stable"], [">1"])).toBeUndefined();
  expect(of(["a"], ["b:stable", "alpha"], ["c:>1"])).toEqual(new Set(["a", "b", "c"]));
});

test("listRequiredPackages and listRequiredApis list the distinct requirements of a bundle", () => {
  const required = (packageName: string) => ({ type: "olm.package.required", value: { packageName, versionRange: ">1" } });
  const gvk = { type: "olm.gvk.required", value: { group: "g", kind: "K", version: "v1" } };
  const requiring = meta({ schema: "olm.bundle", package: "p", name: "b", properties: [required("x"), gvk, required("y"), required("x")] });
  expect(listRequiredPackages(requiring)).toEqual(["x", "y"]);
  expect(listRequiredPackages(bundle("1.0.0"))).toEqual([]);
  expect(listRequiredApis(requiring)).toEqual(["g/v1 K"]);
  expect(listProvidedApis(requiring)).toEqual([]);
});

test("listImages lists the image of a bundle and its related images", () => {
  expect(listImages(bundle("1.0.0"))).toEqual(["quay.io/app/bundle:v1.0.0", "quay.io/app/bundle:v1.0.0", "quay.io/app/app:v1.0.0"]);
  expect(listImages(PACKAGE[0] as Meta)).toEqual([]);
  expect(() => listImages(meta({ schema: "olm.bundle", package: "p", name: "b", image: 1 }))).toThrow(
    'images of bundle "b": parse bundle: "b": image:',
  );
});
