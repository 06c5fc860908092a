import { expect, test } from "vitest";
import { toMeta } from "../../fbc/content.ts";
import { type BundleIndex, BundleIndexBuilder } from "./bundleIndex.ts";

const gvk = (kind: string) => ({ type: "olm.gvk", value: { group: "example.com", version: "v1", kind } });
const api = (kind: string) => ({ group: "example.com", version: "v1", kind });

function indexOf(...lines: object[]): BundleIndex {
  const builder = new BundleIndexBuilder();
  for (const line of lines) builder.add(toMeta(line));
  return builder.build();
}

test("BundleIndex looks up bundles by package and packages by API", () => {
  const index = indexOf(
    { package: "b", bundle: "b.v1.0.0", version: "1.0.0", properties: [gvk("Thing")] },
    { package: "a", bundle: "a.v2.0.0", properties: [gvk("Thing"), gvk("Other")] },
    { package: "a", bundle: "a.v1.0.0", properties: [gvk("Old")] },
  );
  expect(index.bundlesOf("a").map(({ name }) => name)).toEqual(["a.v2.0.0", "a.v1.0.0"]);
  expect([...index.packages]).toEqual(["a", "b"]);
  expect(["Thing", "Old", "None"].map((kind) => index.packagesProviding(api(kind)))).toEqual([["a", "b"], ["a"], []]);
  expect(index.bundlesOf("none")).toEqual([]);
});

test("BundleIndex is the same for catalog metas with and without manifests", () => {
  const properties = [gvk("Thing"), { type: "olm.bundle.object", value: { data: "e30=" } }, { type: "olm.csv.metadata", value: {} }];
  const index = indexOf(
    { schema: "olm.package", name: "a" },
    { schema: "olm.channel", package: "a", name: "stable", entries: [] },
    { schema: "olm.bundle", package: "a", name: "a.v1.0.0", properties },
  );
  expect(index.bundlesOf("a")).toEqual([{ package: "a", name: "a.v1.0.0", properties: [gvk("Thing")] }]);
});

test("BundleIndex stores equal properties of several bundles once", () => {
  const line = (version: string) => ({ package: "a", bundle: `a.v${version}`, properties: [gvk("Thing"), { type: "size", value: 1 }] });
  const [one, other] = indexOf(line("1.0.0"), line("1.1.0")).bundlesOf("a");
  expect(one?.properties).toEqual(other?.properties);
  expect(one?.properties.map((property, at) => property === other?.properties[at])).toEqual([true, true]);
});

test("BundleIndex ignores malformed bundles, properties and APIs", () => {
  const index = indexOf(
    { package: "", bundle: "b", properties: [] },
    { package: "a", properties: [] },
    { package: "a", bundle: 1, properties: [] },
    { package: "a", bundle: "a.v1.0.0", properties: "none" },
    {
      package: "a",
      bundle: "a.v1.1.0",
      properties: [null, "x", { value: 1 }, { type: "olm.gvk", value: { group: 1 } }, { type: "olm.gvk" }],
    },
  );
  expect(index.bundlesOf("a").map(({ name, properties }) => [name, properties.length])).toEqual([
    ["a.v1.0.0", 0],
    ["a.v1.1.0", 2],
  ]);
});

test("BundleIndex rejects a catalog that exceeds its limits", () => {
  const builder = new BundleIndexBuilder({ maxBundles: 2, maxCharacters: 100 });
  const add = (name: string, value: unknown): void =>
    builder.add(toMeta({ package: "a", bundle: name, properties: [{ type: "x", value }] }));
  add("one", "y".repeat(50));
  expect(() => add("two", "z".repeat(50))).toThrow("the bundle properties in the catalog have more than 100 characters");
  expect(() => add("three", 1)).toThrow("the catalog has more than 2 bundles");
});
