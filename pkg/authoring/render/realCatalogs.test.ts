import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import type { Meta } from "../../fbc/types.ts";
import { orderMetaMembers } from "./catalogObject.ts";
import { formatCatalog } from "./catalogText.ts";
import { migrateMeta } from "./migrate.ts";
import { renderCatalogBundle } from "./renderBundle.ts";

/** Maximum file size in bytes. Larger files take seconds to read and are skipped. */
const MAX_BYTES = 500_000;

describeWithData("catalogs that opm wrote", (folder) => {
  /** Catalogs whose bundles are also available, and catalogs in JSON. */
  const files = globSync(["fbc/community-v4.19/*/*.yaml", "fbc/*/*/catalog.json"], { cwd: folder })
    .filter((file) => file.endsWith(".json") || existsSync(join(folder, "bundles", basename(dirname(file)))))
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).size < MAX_BYTES);

  const catalogs = new Map<string, Meta[]>();
  beforeAll(async () => {
    for (const file of files) catalogs.set(file, await Array.fromAsync(decodeMetas([readFileSync(file)], file)));
  });

  test("formatCatalog reproduces opm catalogs byte for byte", () => {
    for (const [file, found] of catalogs) {
      const text = readFileSync(file, "utf8");
      if (text.includes(": []\n")) continue; // opm omits empty lists, so another tool wrote this file
      // opm sorts the fields of property values only when it reads a catalog, not when it renders bundles.
      const again = file.endsWith(".json") ? formatCatalog(found, "json") : formatCatalog(found.map(orderMetaMembers), "yaml");
      expect(again === text, file).toBe(true);
    }
    expect(files.length).toBeGreaterThan(0);
  });

  describe("bundles in catalogs that opm wrote", () => {
    test("renderCatalogBundle reproduces opm bundles byte for byte", () => {
      const bundles = [...catalogs.values()].flat().filter(({ schema }) => schema === "olm.bundle");
      const known = new Map(bundles.map((meta) => [`${meta.package} ${meta.name}`, meta]));
      const compared: string[] = [];
      const names = [...new Set(bundles.map((meta) => meta.package))].join(",");
      for (const annotations of globSync(`bundles/{${names}}/*/metadata/annotations.yaml`, { cwd: folder })) {
        const root = join(folder, dirname(dirname(annotations)));
        const paths = globSync("{manifests,metadata}/*", { cwd: root });
        let expected: Meta | undefined;
        const { meta } = renderCatalogBundle(
          new Map(paths.map((path) => [path, readFileSync(join(root, path))])),
          ({ packageName, name }) => {
            expected = known.get(`${packageName} ${name}`);
            return typeof expected?.blob["image"] === "string" ? expected.blob["image"] : "";
          },
        );
        if (expected === undefined) continue;
        const rendered = formatCatalog([migrateMeta(meta, "bundle-object-to-csv-metadata")], "yaml");
        expect(rendered === formatCatalog([orderMetaMembers(expected)], "yaml"), meta.name).toBe(true);
        compared.push(meta.name);
      }
      expect(compared.length).toBeGreaterThan(10);
    });
  });
});
