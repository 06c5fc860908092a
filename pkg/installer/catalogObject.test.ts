import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { formatCatalogDetails, formatCatalogTable } from "../../cmd/olmv1/commands/catalog/list.ts";
import { runCli } from "../../test/support/runCli.ts";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { parseYamlDocuments } from "../golang/yaml.ts";
import { buildClusterCatalog } from "./catalogObject.ts";

const GOLDENS = join(import.meta.dirname, "../../test/goldens/cli");
const CATALOGS = parseYamlDocuments(readFileSync(join(GOLDENS, "fixtures/clusterCatalogs.yaml"), "utf8")) as ClusterCatalog[];
const NOW = Date.parse("2026-03-10T12:00:00Z");

// Source: C-27.
describe("buildClusterCatalog", () => {
  const wish = { name: "c", image: "quay.io/a/b:v1", labels: [] };

  test.for([
    [60_000, 1],
    [5_400_000, 90],
  ] as const)("buildClusterCatalog converts a poll interval of %i ms to %i minutes", ([pollInterval, minutes]) => {
    expect(buildClusterCatalog({ ...wish, pollInterval }).spec.source.image?.pollIntervalMinutes).toBe(minutes);
  });

  test("buildClusterCatalog sets only the given fields", () => {
    expect(buildClusterCatalog(wish)).toEqual({
      apiVersion: "olm.operatorframework.io/v1",
      kind: "ClusterCatalog",
      metadata: { name: "c" },
      spec: { source: { type: "Image", image: { ref: "quay.io/a/b:v1" } } },
    });
    expect(buildClusterCatalog({ ...wish, priority: -5, labels: ["a=b", "c=d=e"] })).toMatchObject({
      metadata: { labels: { a: "b", c: "d=e" } },
      spec: { priority: -5 },
    });
  });

  test.for([
    [{ image: "quay.io/a/b" }, "spec.source.image.ref: must end with a digest or a tag"],
    [
      { image: `quay.io/a/b@sha256:${"0".repeat(64)}`, pollInterval: 60_000 },
      "cannot specify pollIntervalMinutes while using digest-based image",
    ],
    [{ pollInterval: 90_000 }, "--poll-interval must be whole minutes"],
    [{ pollInterval: 0 }, "--poll-interval must be whole minutes"],
    [{ priority: 3_000_000_000 }, "spec.priority: "],
    [{ labels: ["x"] }, '--label "x" must be in the form key=value'],
  ] as const)("buildClusterCatalog rejects %j", ([change, message]) => {
    expect(() => buildClusterCatalog({ ...wish, ...change })).toThrow(message);
  });
});

test.for([80, 200])("formatCatalogTable and formatCatalogDetails print catalogs in %i columns", async (width) => {
  const screen = { width, colour: false };
  const texts = [
    formatCatalogTable(screen, CATALOGS, NOW, false),
    formatCatalogTable(screen, CATALOGS, NOW, true),
    ...CATALOGS.slice(0, 3).map((one) => formatCatalogDetails(screen, one, NOW)),
  ];
  await expect(texts.join("\n")).toMatchFileSnapshot(join(GOLDENS, `catalog-list-${width}.txt`));
});

describe("catalog add --dry-run=client does not contact the cluster", () => {
  test("catalog add --dry-run=client prints the object", async () => {
    const { code, out } = await runCli([
      "catalog",
      "add",
      "c",
      "quay.io/a/b:v1",
      "--poll-interval",
      "1h",
      "--dry-run=client",
      "-o",
      "yaml",
    ]);
    expect([code, parseYamlDocuments(out)]).toEqual([
      0,
      [buildClusterCatalog({ name: "c", image: "quay.io/a/b:v1", pollInterval: 3_600_000, labels: [] })],
    ]);
    expect((await runCli(["catalog", "add", "c", "quay.io/a/b:v1", "--dry-run=client"])).out).toBe(
      "clustercatalog.olm.operatorframework.io/c created (dry run)\n",
    );
  });

  test("catalog add --dry-run=client rejects values that the API server would reject", async () => {
    const { code, err } = await runCli(["catalog", "add", "c", "quay.io/a/b", "--dry-run=client", "-o", "json"]);
    expect([code, JSON.parse(err)]).toEqual([2, { error: { message: "spec.source.image.ref: must end with a digest or a tag" } }]);
  });
});
