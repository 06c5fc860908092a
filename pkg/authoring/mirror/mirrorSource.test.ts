import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { readMirroredCatalog } from "./mirrorSource.ts";
import { parseSelection } from "./subset.ts";

const GVK = { group: "db.example.com", version: "v1", kind: "Database" };

/** Returns the objects of a package with one bundle. */
function packaged(name: string, ...properties: object[]): object[] {
  const bundle = `${name}.v1.0.0`;
  const own = { type: "olm.package", value: { packageName: name, version: "1.0.0" } };
  return [
    { schema: "olm.package", name, defaultChannel: "stable" },
    { schema: "olm.channel", package: name, name: "stable", entries: [{ name: bundle }] },
    { schema: "olm.bundle", package: name, name: bundle, image: `quay.io/x/${name}:v1`, properties: [own, ...properties] },
  ];
}

// Source: requirements S2, file-based catalogs; any bundle with the same olm.gvk satisfies olm.gvk.required.
test.for<[packages: string[], notes: string[]]>([
  [["app", "db"], ["app.v1.0.0 requires API x/v1 Gone, which no mirrored bundle provides; no bundle in the catalog provides it"]],
  [
    ["app"],
    [
      'app.v1.0.0 requires API db.example.com/v1 Database, which no mirrored bundle provides; bundles of package "db" provide it',
      "app.v1.0.0 requires API x/v1 Gone, which no mirrored bundle provides; no bundle in the catalog provides it",
    ],
  ],
  [["db"], []],
])("readMirroredCatalog returns a note for each required API that packages %j do not provide", async ([packages, notes]) => {
  using folder = new TempFolder();
  const needs = [GVK, { group: "x", version: "v1", kind: "Gone" }].map((value) => ({ type: "olm.gvk.required", value }));
  const metas = [...packaged("app", ...needs), ...packaged("db", { type: "olm.gvk", value: GVK })];
  const source = folder.write("catalog", { "catalog.json": metas.map((meta) => JSON.stringify(meta)).join("\n") });
  expect((await readMirroredCatalog(source, parseSelection({ packages }))).notes).toEqual(notes);
});
