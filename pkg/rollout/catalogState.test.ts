import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { parseYamlDocuments } from "../golang/yaml.ts";
import { describeCatalogState, isServed } from "./catalogState.ts";

const FIXTURES = join(import.meta.dirname, "../../test/goldens/cli/fixtures/clusterCatalogs.yaml");
const CATALOGS = parseYamlDocuments(readFileSync(FIXTURES, "utf8")) as ClusterCatalog[];

test("describeCatalogState and isServed summarize the conditions of a catalog", () => {
  expect(CATALOGS.map((one) => [one.metadata.name, describeCatalogState(one).text, isServed(one)])).toEqual([
    ["community", "serving", true],
    ["internal", "serving, retrying", false],
    ["broken", "blocked", false],
    ["new", "waiting", false],
    ["off", "disabled", false],
    ["flawed", "serving, has errors", true],
  ]);
});
