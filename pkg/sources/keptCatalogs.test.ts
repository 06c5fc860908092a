import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { readPackage } from "./catalogContent.ts";
import { createClusterCatalog } from "./clusterCatalogs.ts";
import { KeptCatalogs, type KeptCatalogsOptions } from "./keptCatalogs.ts";

const HARBOUR = join(import.meta.dirname, "../../test/goldens/cli/fixtures/catalogs/harbour");
const { signal } = new AbortController();

/** The images that were pulled, in order. */
let pulled: string[] = [];
let failure: Error | undefined;
let closed = 0;
const open: KeptCatalogs[] = [];
afterEach(async () => {
  for (const kept of open.splice(0)) await kept.close();
  [pulled, failure, closed] = [[], undefined, 0];
});

function keep(options: Partial<KeptCatalogsOptions> = {}): KeptCatalogs {
  const createReader: KeptCatalogsOptions["createReader"] = () => ({
    resolved: (ref) =>
      typeof ref === "string"
        ? Promise.resolve({ canonical: ref, digest: ref.slice(ref.indexOf("@") + 1), needsSignatures: false })
        : Promise.reject(new Error("not an image in a registry")),
    catalogFolder: () => Promise.reject(new Error("not an image in a registry")),
    catalogImage: (ref) => {
      pulled.push(ref);
      return failure ? Promise.reject(failure) : Promise.resolve(HARBOUR);
    },
    close: () => Promise.resolve(void closed++),
  });
  const kept = new KeptCatalogs({ cacheFolder: undefined, createReader, ...options });
  open.push(kept);
  return kept;
}

const ref = (digit: string): string => `localhost/harbour@sha256:${digit.repeat(64)}`;
const A = createClusterCatalog("harbour", ref("a"));
const B = createClusterCatalog("harbour", ref("b"));

test("KeptCatalogs reads a catalog once for all tasks, also for tasks at the same time", async () => {
  const kept = keep();
  const names = (): Promise<number | undefined> =>
    kept.use(signal, async (lease) => (await lease.open([A])).catalogs[0]?.book.names().length);
  const [first, second] = await Promise.all([names(), names()]);
  expect(first).toBeGreaterThan(1);
  expect([second, await names()]).toEqual([first, first]);
  expect(pulled).toEqual([ref("a")]);
  expect(closed).toBe(1);
});

test("KeptCatalogs closes a catalog when its ClusterCatalog has another digest, but not before the tasks that use it end", async () => {
  const kept = keep();
  await kept.use(signal, async (lease) => {
    const { catalogs } = await lease.open([A]);
    await kept.use(signal, (other) => other.open([B]));
    expect((await catalogs[0]?.book.metasOf("beacon-db"))?.length).toBeGreaterThan(0);
  });
  await kept.use(signal, (lease) => lease.open([A]));
  expect(pulled).toEqual([ref("a"), ref("b"), ref("a")]);
});

test("KeptCatalogs closes unused catalogs above the memory limit", async () => {
  const kept = keep({ maxBytes: 1 });
  for (let i = 0; i < 2; i++) await kept.use(signal, (lease) => lease.open([A]));
  expect(pulled).toEqual([ref("a"), ref("a")]);
});

test("open returns catalogs that cannot be read with the reason, and tries them again after 30 seconds", async () => {
  const clock = new FakeClock();
  const kept = keep({ clock });
  failure = new Error("unauthorized");
  const ask = (): Promise<unknown> =>
    kept.use(signal, async (lease) => {
      const { catalogs, leftOut } = await lease.open([{ ...createClusterCatalog("other", ref("c")), status: {} }, A]);
      return { open: catalogs.map(({ name }) => name), leftOut };
    });
  const other = { catalog: "other", because: expect.stringContaining("not being served") };
  const failed = { open: [], leftOut: [{ catalog: "harbour", because: "unauthorized" }, other] };
  expect(await ask()).toEqual(failed);
  failure = undefined;
  expect(await ask()).toEqual(failed);
  clock.advance(30_000);
  expect(await ask()).toEqual({ open: ["harbour"], leftOut: [other] });
  expect(pulled).toHaveLength(2);
});

test("a task that is aborted does not stop the read for other tasks", async () => {
  const kept = keep();
  const stop = new AbortController();
  const aborted = kept.use(stop.signal, (lease) => lease.open([A]));
  const other = kept.use(signal, (lease) => lease.open([A]));
  stop.abort(new Error("the client is gone"));
  await expect(aborted).rejects.toThrow("the client is gone");
  expect((await other).catalogs).toHaveLength(1);
  expect(pulled).toHaveLength(1);
});

test("a lease reads packages like the catalog's folder, as file and by name", async () => {
  await keep().use(signal, async (lease) => {
    const want = await readPackage(HARBOUR, "beacon-db");
    expect(await lease.packageContent(ref("a"), "beacon-db")).toEqual(want);
    expect(await readPackage(await lease.catalogFolder(ref("a")), "beacon-db")).toEqual(want);
  });
});

test("a lease reads a catalog again if another process removed it from the cache folder", async () => {
  using folder = new TempFolder();
  const kept = keep({ cacheFolder: folder.path });
  for (let i = 0; i < 2; i++) {
    await kept.use(signal, async (lease) => {
      await lease.packageContent(ref("a"), "beacon-db");
      expect((await readPackage(await lease.catalogFolder(ref("a")), "beacon-db")).bundles.length).toBeGreaterThan(0);
    });
    for (const name of readdirSync(folder.path)) rmSync(join(folder.path, name), { recursive: true });
  }
  expect(pulled).toHaveLength(2);
});

test("KeptCatalogs leaves no temporary files", async () => {
  using folder = new TempFolder();
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = folder.path;
  try {
    const kept = keep();
    await kept.use(signal, (lease) => lease.open([A]));
    expect(readdirSync(folder.path)).toHaveLength(1);
    await kept.close();
    expect(readdirSync(folder.path)).toEqual([]);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
});
