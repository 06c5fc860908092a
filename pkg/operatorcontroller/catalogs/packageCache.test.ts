import { expect, test } from "vitest";
import type { PackageContent } from "../../fbc/types.ts";
import { PackageCache } from "./catalogPackages.ts";

const KILOBYTE = 1_024;

/** Content of about that many kilobytes. */
function newContent(kilobytes: number): PackageContent {
  return { package: { name: "x".repeat(kilobytes * KILOBYTE) }, channels: [], bundles: [], deprecations: [], others: 0 };
}

async function keep(kept: PackageCache, packageName: string, content: PackageContent | undefined, catalog = "c"): Promise<void> {
  kept.keep(catalog, packageName, { ref: "sha256:1", content: Promise.resolve(content), tags: new Map() });
  await Promise.resolve();
}

const there = (kept: PackageCache, ...names: string[]): string[] => names.filter((name) => kept.peek("c", name) !== undefined);

test("PackageCache evicts the least recently used packages beyond its limit", async () => {
  const kept = new PackageCache(100 * KILOBYTE);
  for (const name of ["a", "b", "c"]) await keep(kept, name, newContent(30));
  kept.use("c", "a");
  await keep(kept, "d", newContent(30));
  expect(there(kept, "a", "b", "c", "d")).toEqual(["a", "c", "d"]);
  expect(kept.bytes).toBeLessThan(100 * KILOBYTE);
});

test("PackageCache does not cache a package that exceeds its limit, but can cache that thousands of packages are missing", async () => {
  const kept = new PackageCache(6_000 * KILOBYTE);
  for (let i = 0; i < 5_000; i++) await keep(kept, `p${i}`, undefined);
  expect(there(kept, "p0", "p4999")).toEqual(["p0", "p4999"]);
  await keep(kept, "large", newContent(7_000));
  expect(there(kept, "large")).toEqual([]);
});

test("PackageCache shares a read in progress, and does not cache a read that failed or was replaced", async () => {
  const kept = new PackageCache();
  const failing = Promise.reject(new Error("connection refused"));
  kept.keep("c", "p", { ref: "sha256:1", content: failing, tags: new Map() });
  expect(kept.use("c", "p")?.content).toBe(failing);
  await failing.catch(() => undefined);
  expect([there(kept, "p"), kept.bytes]).toEqual([[], 0]);
  const { promise, resolve } = Promise.withResolvers<PackageContent>();
  kept.keep("c", "p", { ref: "sha256:1", content: promise, tags: new Map() });
  await keep(kept, "p", undefined);
  const { bytes } = kept;
  resolve(newContent(10));
  await promise;
  expect([kept.bytes, bytes]).toEqual([KILOBYTE, KILOBYTE]);
});

test("PackageCache.forget drops one catalog, but not a catalog whose name has the same prefix", async () => {
  const kept = new PackageCache();
  await keep(kept, "p", newContent(1));
  await keep(kept, "p", undefined, "c2");
  kept.forget("c");
  expect([kept.peek("c", "p"), kept.peek("c2", "p")?.ref, kept.bytes]).toEqual([undefined, "sha256:1", KILOBYTE]);
});
