import { expect, test, vi } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CatalogStore } from "../catalogStore.ts";
import { SEARCH_LIMITS, SearchIndexes, type SearchLimits } from "./searchIndex.ts";

const bundle = (pkg: string, version: string): string =>
  `${JSON.stringify({ schema: "olm.bundle", package: pkg, name: `${pkg}.v${version}`, properties: [{ type: "olm.package", value: { version } }] })}\n`;
const CATALOG = ["a", "b", "c"].flatMap((pkg) => ["1.0.0", "2.0.0"].map((version) => bundle(pkg, version))).join("");

async function withContent(check: (content: NonNullable<ReturnType<CatalogStore["get"]>>) => Promise<void>): Promise<void> {
  using folder = new TempFolder();
  const store = await CatalogStore.open({ dir: `${folder.path}/store`, log: createLogger({ component: "test", level: "silent" }) });
  const origin = { ref: "r.example/c@sha256:1", digest: "sha256:1", lastUnpacked: "2026-01-02T03:04:05Z" };
  const content = await store.store("c", folder.write("c", { "c.json": CATALOG }), origin, new AbortController().signal);
  await check(content);
  await store.close();
}

test("search index of a catalog beyond the limits is marked incomplete", async () => {
  await withContent(async (content) => {
    const read = async (limits: Partial<SearchLimits>): Promise<[string, boolean]> => {
      const { packages, incomplete } = await new SearchIndexes({ ...SEARCH_LIMITS, ...limits }).of(content);
      return [packages.map(({ name }) => name).join(""), incomplete];
    };
    expect(await read({})).toEqual(["abc", false]);
    expect(await read({ packages: 2 })).toEqual(["ab", true]);
    expect(await read({ versions: 5 })).toEqual(["ab", true]);
    expect(await read({ characters: 10 })).toEqual(["", true]);
    expect(await read({ charactersOfPackage: 10 })).toEqual(["", true]);
  });
});

test("search index is read once for simultaneous callers, even if the content is replaced", async () => {
  await withContent(async (content) => {
    const indexes = new SearchIndexes();
    const reading = [indexes.of(content), indexes.of(content)];
    content.retire();
    const [first, second] = await Promise.all(reading);
    expect(first?.packages).toHaveLength(3);
    expect(second).toBe(first);
  });
});

test("search index is read again after an error", async () => {
  await withContent(async (content) => {
    const indexes = new SearchIndexes();
    vi.spyOn(content.artifacts.get("search")!.file.handle, "read").mockRejectedValueOnce(new Error("the disk is gone"));
    await expect(indexes.of(content)).rejects.toThrow("the disk is gone");
    expect((await indexes.of(content)).packages).toHaveLength(3);
  });
});
