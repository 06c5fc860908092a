import { describe, expect, test } from "vitest";
import { toMeta } from "../../fbc/content.ts";
import { orderMetaMembers } from "./catalogObject.ts";
import { formatCatalog, formatCatalogFiles, sortMetas } from "./catalogText.ts";
import { migrateMeta, parseMigrationLevel } from "./migrate.ts";

const named = ({ schema, name }: { schema: string; name: string }) => `${schema} ${name}`;
const metas = (...blobs: object[]) => blobs.map((blob) => orderMetaMembers(toMeta(blob)));

// Source: C-19.
describe("sortMetas and formatCatalog", () => {
  test("sortMetas sorts objects by package and then by schema, and puts objects without a package last", () => {
    const ordered = sortMetas(
      metas(
        { schema: "example.com.note", name: "everywhere" },
        { schema: "olm.deprecations", package: "b", entries: [] },
        { schema: "example.com.b", package: "b", name: "1" },
        { schema: "example.com.a", package: "b", name: "2" },
        { schema: "olm.bundle", package: "b", name: "b.v2" },
        { schema: "olm.bundle", package: "b", name: "b.v1" },
        { schema: "olm.channel", package: "b", name: "stable" },
        { schema: "olm.channel", package: "b", name: "alpha" },
        { schema: "olm.package", name: "b" },
        { schema: "olm.package", name: "a" },
        { schema: "olm.bundle", name: "lost" },
      ),
    );
    expect(ordered.map(named)).toEqual([
      "olm.package a",
      "olm.package b",
      "olm.channel alpha",
      "olm.channel stable",
      "olm.bundle b.v1",
      "olm.bundle b.v2",
      "example.com.a 2",
      "example.com.b 1",
      "olm.deprecations ",
      "example.com.note everywhere",
    ]);
  });

  test("formatCatalog prints fields in the order of opm and keeps unknown fields", () => {
    const objects = metas(
      { defaultChannel: "stable", Name: "a", schema: "olm.package", note: { b: "<1>", a: [] }, properties: [] },
      { schema: "olm.channel", package: "a", name: "stable", entries: [{ skipRange: "<2.0.0", skips: [], name: "a.v2.0.0" }] },
    );
    expect(formatCatalog(objects, "json")).toBe(`{
    "schema": "olm.package",
    "name": "a",
    "defaultChannel": "stable",
    "note": {
        "a": [],
        "b": "<1>"
    }
}
{
    "schema": "olm.channel",
    "name": "stable",
    "package": "a",
    "entries": [
        {
            "name": "a.v2.0.0",
            "skipRange": "<2.0.0"
        }
    ]
}
`);
  });

  test("formatCatalog starts each YAML document with ---", () => {
    expect(formatCatalog(metas({ schema: "olm.package", name: "a" }, { schema: "x", b: 1, a: 2 }), "yaml")).toBe(
      '---\ndefaultChannel: ""\nname: a\nschema: olm.package\n---\na: 2\nb: 1\nschema: x\n',
    );
  });

  test("formatCatalogFiles returns a file for each package, and a file for objects without a package", () => {
    const files = formatCatalogFiles(
      metas({ schema: "olm.package", name: "b" }, { schema: "x" }, { schema: "olm.package", name: "a" }),
      "json",
    );
    expect([...files.keys()]).toEqual(["a/catalog.json", "b/catalog.json", "catalog.json"]);
  });

  test.for(["..", ".", "a/b", "a\\b", "C:x", "a\u0000"])("formatCatalogFiles rejects package name %j", (name) => {
    expect(() => formatCatalogFiles(metas({ schema: "olm.package", name }), "yaml")).toThrow(
      /^invalid package name .*: must be a single local path element$/,
    );
  });
});

describe("migrateMeta", () => {
  const object = (manifest: object) => ({
    type: "olm.bundle.object",
    value: { data: Buffer.from(JSON.stringify(manifest)).toString("base64") },
  });
  const csv = { kind: "ClusterServiceVersion", metadata: { name: "a" }, spec: { displayName: "A", description: "" } };
  const own = { type: "olm.package", value: { packageName: "a", version: "1.0.0" } };
  const METADATA = {
    type: "olm.csv.metadata",
    value: { apiServiceDefinitions: {}, crdDescriptions: {}, displayName: "A", provider: {} },
  };
  const bundle = (...properties: object[]) => toMeta({ schema: "olm.bundle", name: "a", package: "a", image: "example.com/a", properties });
  const propertiesOf = (meta: { blob: Record<string, unknown> }) => meta.blob["properties"];

  test("migrateMeta with level none moves manifests to the end of the properties, and sorts related images", () => {
    const meta = bundle(object(csv), own);
    meta.blob["relatedImages"] = [
      { name: "b", image: "b" },
      { name: "", image: "a" },
    ];
    const { blob } = migrateMeta(meta, "none");
    expect(blob["properties"]).toEqual([own, object(csv)]);
    expect(blob["relatedImages"]).toEqual([
      { name: "", image: "a" },
      { name: "b", image: "b" },
    ]);
  });

  test("migrateMeta replaces manifests with olm.csv.metadata", () => {
    const meta = bundle(object({ kind: "Service" }), object(csv), own);
    expect(propertiesOf(migrateMeta(meta, "bundle-object-to-csv-metadata"))).toEqual([own, METADATA]);
  });

  test("migrateMeta keeps the manifests of a bundle that has olm.csv.metadata", () => {
    const meta = bundle(METADATA, object(csv), own);
    expect(propertiesOf(migrateMeta(meta, "bundle-object-to-csv-metadata"))).toEqual([own, METADATA, object(csv)]);
  });

  test("migrateMeta keeps the manifests of a bundle without an image", () => {
    const meta = bundle(object(csv), own);
    meta.blob["image"] = "";
    expect(propertiesOf(migrateMeta(meta, "bundle-object-to-csv-metadata"))).toEqual([own, object(csv)]);
  });

  test("parseMigrationLevel rejects an unknown level", () => {
    expect(() => parseMigrationLevel("v3")).toThrow('unknown migration level "v3": use none or bundle-object-to-csv-metadata');
    expect(parseMigrationLevel("none")).toBe("none");
  });
});
