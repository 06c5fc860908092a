import { existsSync, readdirSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { Meta } from "../fbc/types.ts";
import { digestFiles, readCatalogMetas } from "../sources/catalogContent.ts";
import { CatalogCache, getCacheFolder } from "./catalogCache.ts";

const KEY = `sha256-${"a".repeat(64)}`;
const OTHER = `sha256-${"b".repeat(64)}`;

function bundle(name: string, packageName: string, blob: object = {}): Meta {
  const members = { schema: "olm.bundle", name, package: packageName, ...blob };
  return { schema: "olm.bundle", name, package: packageName, blob: members };
}
const METAS = [bundle("a.v1", "a"), bundle("b.v1", "b"), bundle("a.v2", "a", { é: "ü" })];
const metas = async function* (some: readonly Meta[] = METAS) {
  yield* some;
};
const never = (): never => {
  throw new Error("it is read again");
};

test("CatalogCache reads a catalog once, and later reads its packages from the cache folder", async () => {
  using folder = new TempFolder();
  const first = await new CatalogCache(folder.path).obtain(KEY, metas);
  await first.close();
  const book = await new CatalogCache(folder.path).obtain(KEY, never);
  expect(book.names()).toEqual(["a", "b"]);
  expect(book.packages().map(({ name, record }) => [name, record.versions.map(([one]) => one)])).toEqual([
    ["a", ["a.v1", "a.v2"]],
    ["b", ["b.v1"]],
  ]);
  expect((await book.metasOf("a")).map(({ blob }) => blob)).toEqual([METAS[0]?.blob, METAS[2]?.blob]);
  expect(await book.metasOf("c")).toEqual([]);
  await book.close();
  expect(statSync(join(folder.path, KEY)).mode & 0o077).toBe(0);
});

test("CatalogCache stores nothing when it has no cache folder", async () => {
  const shelf = new CatalogCache(undefined);
  const book = await shelf.obtain(KEY, metas);
  await shelf.close();
  expect((await book.metasOf("b")).map(({ name }) => name)).toEqual(["b.v1"]);
  await book.close();
  await expect(shelf.obtain(KEY, never)).rejects.toThrow("it is read again");
});

test("CatalogCache rebuilds a damaged entry", async () => {
  using folder = new TempFolder();
  for (const file of ["index.jsonl", "metas.jsonl"]) {
    await (await new CatalogCache(folder.path).obtain(KEY, metas)).close();
    truncateSync(join(folder.path, KEY, file), 20);
    const book = await new CatalogCache(folder.path).obtain(KEY, metas);
    expect(book.names()).toEqual(["a", "b"]);
    await book.close();
  }
});

test("CatalogCache stores nothing when a catalog cannot be read completely", async () => {
  using folder = new TempFolder();
  const shelf = new CatalogCache(folder.path);
  const broken = async function* () {
    yield* METAS;
    throw new Error("the disk is gone");
  };
  await expect(shelf.obtain(KEY, broken)).rejects.toThrow("the disk is gone");
  await shelf.close();
  expect(readdirSync(folder.path)).toEqual([]);
});

describe("CatalogCache beyond its size limit", () => {
  test("CatalogCache evicts the least recently used entry when its size exceeds the limit", async () => {
    using folder = new TempFolder();
    await (await new CatalogCache(folder.path).obtain(KEY, metas)).close();
    const size = readdirSync(join(folder.path, KEY)).reduce((sum, file) => sum + statSync(join(folder.path, KEY, file)).size, 0);
    utimesSync(join(folder.path, KEY), 1, 1);
    writeFileSync(join(folder.path, "notes.txt"), "not ours");
    await (await new CatalogCache(folder.path, size * 1.5).obtain(OTHER, metas)).close();
    expect(readdirSync(folder.path).toSorted()).toEqual(["notes.txt", OTHER]);
  });

  test("CatalogCache does not store an entry that is larger than the size limit", async () => {
    using folder = new TempFolder();
    const shelf = new CatalogCache(folder.path, 10);
    const book = await shelf.obtain(KEY, metas);
    await shelf.close();
    expect(book.names()).toEqual(["a", "b"]);
    await book.close();
    expect(readdirSync(folder.path)).toEqual([]);
  });
});

test.for(["../x", "sha256-", "a/b", "sha256:abc", ".draft-0000", `sha256-${"A".repeat(64)}`])(
  "CatalogCache rejects the key %s",
  async (key) => {
    using folder = new TempFolder();
    await expect(new CatalogCache(folder.path).obtain(key, metas)).rejects.toThrow("is not a catalog cache key");
    expect(readdirSync(folder.path)).toEqual([]);
  },
);

test.for<[Record<string, string>, string | undefined]>([
  [{ XDG_CACHE_HOME: "/c", HOME: "/h" }, "/c/olmv1/catalogs"],
  [{ XDG_CACHE_HOME: "", HOME: "/h" }, "/h/.cache/olmv1/catalogs"],
  [{ XDG_CACHE_HOME: "relative", HOME: "/h" }, "/h/.cache/olmv1/catalogs"],
  [{}, undefined],
])("getCacheFolder with environment %j returns %s", ([env, want]) => {
  expect(getCacheFolder(env)).toBe(want);
});

test("digestFiles returns another digest when the name or content of a file changes", async () => {
  using folder = new TempFolder();
  const path = folder.write("c", { "a.json": '{"schema":"x"}', "b.json": '{"schema":"y"}' });
  const before = await digestFiles(path);
  expect(await digestFiles(folder.write("d", { "a.json": '{"schema":"x"}', "b.json": '{"schema":"y"}' }))).toBe(before);
  expect(await digestFiles(folder.write("e", { "a.json": '{"schema":"x"}', "c.json": '{"schema":"y"}' }))).not.toBe(before);
  expect(await digestFiles(folder.write("f", { "a.json": '{"schema":"x"}{"schema":"y"}' }))).not.toBe(before);
});

test("readCatalogMetas rejects a folder without catalog objects", async () => {
  using folder = new TempFolder();
  const empty = folder.write("empty", { "README.yaml": "# nothing\n" });
  await expect(readCatalogMetas(empty).next()).rejects.toThrow("not an object of a file-based catalog");
  expect(existsSync(empty)).toBe(true);
});
