import { expect, test } from "vitest";
import { type CatalogState, createCatalog } from "../../../test/support/catalogs.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { BundleIndex } from "../../resolve/dependencies/bundleIndex.ts";
import { type BundleIndexReader, CatalogBundleIndexes, type KnownBundleIndex } from "./catalogBundleIndexes.ts";

const IDLE_MS = 1_000;
const signal = new AbortController().signal;
const newCatalog = (number: number, state: CatalogState = {}): ClusterCatalog =>
  createCatalog("c", { digest: `quay.io/c@sha256:${number}`, priority: 5, ...state });

class CountingReader implements BundleIndexReader {
  readonly calls: string[] = [];
  readonly known: (KnownBundleIndex | undefined)[] = [];
  answer: () => Promise<KnownBundleIndex> = () => Promise.resolve({ index: new BundleIndex(new Map(), new Map()), tags: new Map() });

  bundleIndex(base: string, ref: string, _signal: AbortSignal, known?: KnownBundleIndex): Promise<KnownBundleIndex> {
    this.calls.push(`${base} ${ref}`);
    this.known.push(known);
    return this.answer();
  }
}

function start() {
  const reader = new CountingReader();
  const clock = new FakeClock();
  return { reader, clock, indexes: new CatalogBundleIndexes(reader, clock, signal, IDLE_MS) };
}

test("CatalogBundleIndexes reads an index once for a hundred extensions, and again when the catalog's digest changes", async () => {
  const { reader, indexes } = start();
  const found = await Promise.all(Array.from({ length: 100 }, () => indexes.read([newCatalog(1)], signal)));
  expect(reader.calls).toEqual(["https://catalogd/catalogs/c quay.io/c@sha256:1"]);
  expect(found[0]?.[0]).toMatchObject({ name: "c", priority: 5 });
  await indexes.read([newCatalog(2)], signal);
  expect(reader.calls).toHaveLength(2);
  expect([reader.known[0], reader.known[1]?.index]).toEqual([undefined, found[0]?.[0]?.index]);
});

test("CatalogBundleIndexes drops an idle index, and reads it again on demand", async () => {
  const { reader, clock, indexes } = start();
  await indexes.read([newCatalog(1)], signal);
  clock.advance(IDLE_MS - 1);
  await indexes.read([newCatalog(1)], signal);
  clock.advance(IDLE_MS - 1);
  expect(indexes.kept).toEqual(["c"]);
  clock.advance(1);
  expect(indexes.kept).toEqual([]);
  await indexes.read([newCatalog(1)], signal);
  expect(reader.calls).toHaveLength(2);
});

test.for<[string, ClusterCatalog, string]>([
  ["is set to Unavailable", newCatalog(1, { availabilityMode: "Unavailable" }), "spec.availabilityMode is Unavailable"],
  ["is not served", newCatalog(1, { serving: false }), 'catalog "c" is not being served'],
])("CatalogBundleIndexes returns a reason and reads nothing when a catalog %s", async ([, catalog, unavailable]) => {
  const { reader, indexes } = start();
  expect(await indexes.read([catalog], signal)).toEqual([{ name: "c", priority: 5, index: undefined, unavailable }]);
  expect(reader.calls).toEqual([]);
});

test("CatalogBundleIndexes returns the reason when a read fails, and reads again on the next call", async () => {
  const { reader, indexes } = start();
  reader.answer = () => Promise.reject(new Error("error performing request: connection refused"));
  expect((await indexes.read([newCatalog(1)], signal))[0]?.unavailable).toBe("error performing request: connection refused");
  await indexes.read([newCatalog(1)], signal);
  expect(reader.calls).toHaveLength(2);
});

test("CatalogBundleIndexes continues a shared read when one caller aborts", async () => {
  const { reader, indexes } = start();
  const response = Promise.withResolvers<KnownBundleIndex>();
  reader.answer = () => response.promise;
  const stop = new AbortController();
  const impatient = indexes.read([newCatalog(1)], stop.signal);
  const patient = indexes.read([newCatalog(1)], signal);
  stop.abort(new Error("stopped"));
  await expect(impatient).rejects.toThrow("stopped");
  response.resolve({ index: new BundleIndex(new Map(), new Map()), tags: new Map() });
  expect((await patient)[0]?.index).toBeDefined();
  expect(reader.calls).toHaveLength(1);
});
