import { join } from "node:path";
import { expect, test } from "vitest";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { CatalogCache } from "../catalogcache/catalogCache.ts";
import { parseSearchQuery } from "../catalogd/search/searchQuery.ts";
import { Client } from "../kube/client.ts";
import { readCatalogMetas } from "../sources/catalogContent.ts";
import { type PackageSearch, type PackagesFound, searchPackages } from "./packageSearch.ts";

const HARBOUR = join(import.meta.dirname, "../../test/goldens/cli/fixtures/catalogs/harbour");
const OLM = "/apis/olm.operatorframework.io/v1";
const INSTALLED = {
  metadata: { name: "db" },
  spec: { source: { catalog: { packageName: "beacon-db" } } },
  status: { install: { bundle: { name: "beacon-db.v1.0.0", version: "1.0.0" } } },
};

/** Searches in a catalog; `list` is the answer to a request for all extensions. */
async function find(search: Partial<PackageSearch>, list: Answer | undefined): Promise<PackagesFound> {
  await using api = await LoopbackApi.start(({ url }) => {
    if (url.startsWith(`${OLM}/clusterextensions`)) return list ?? statusAnswer(403, "Forbidden", "forbidden");
    const resources = [{ name: "clusterextensions", kind: "ClusterExtension", namespaced: false }];
    return url === OLM ? { json: { resources } } : statusAnswer(404, "NotFound", "not found");
  });
  const client = Client.of(api.credentials());
  const cache = new CatalogCache(undefined);
  const book = await cache.obtain(`files-${"a".repeat(64)}`, () => readCatalogMetas(HARBOUR));
  try {
    const place = { catalogs: [{ name: "harbour", priority: 0, book }], client, signal: AbortSignal.timeout(10_000) };
    return await searchPackages(place, { words: [], query: parseSearchQuery({}), ...search });
  } finally {
    await book.close();
    await cache.close();
    await client.close();
  }
}

test("searchPackages finds only installed packages on request, and returns the installed bundles", async () => {
  const found = await find({ installedOnly: true }, { json: { metadata: {}, items: [INSTALLED] } });
  expect(found.matches.map((one) => one.package)).toEqual(["beacon-db"]);
  expect(found.installed?.map(({ extension }) => extension)).toEqual(["db"]);
  expect(found.packages).toBeGreaterThan(1);
  expect(found.matching).toBe(found.packages);
});

test("searchPackages finds packages when listing extensions is forbidden", async () => {
  const found = await find({ words: ["beacon"] }, undefined);
  expect(found.matches.length).toBeGreaterThan(0);
  expect(found.installed).toBeUndefined();
});
