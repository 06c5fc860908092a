import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bundleFiles } from "../../test/support/bundleFixture.ts";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { folder, insecureRegistry, loopbackRegistry } from "../../test/support/pulling.ts";
import { Signer } from "../../test/support/signing.ts";
import { tarball } from "../../test/support/tarball.ts";
import { systemClock } from "../async/clock.ts";
import { summarizeBundle } from "../bundle/bundleSummary.ts";
import { loadBundle } from "../bundle/load.ts";
import { CatalogCache } from "../catalogcache/catalogCache.ts";
import { BundleCache, BundleThread } from "../operatorcontroller/bundles/bundleCache.ts";
import { renderBundle } from "../render/render.ts";
import { BundleReader, findCatalogFolder, isFolderSource } from "./bundleReader.ts";
import { openCatalog } from "./openCatalogs.ts";

const BUNDLE = join(import.meta.dirname, "../../test/goldens/bundles/scoped");
const CATALOG = join(import.meta.dirname, "../../test/goldens/cli/fixtures/catalogs/harbour");
const { signal } = new AbortController();
const home = process.cwd();

let dir: string;
let reader: BundleReader;
let registry: Awaited<ReturnType<typeof loopbackRegistry>>;

/** A working directory with folders that have the names of images of an empty registry. */
beforeEach(async () => {
  dir = await folder();
  registry = await loopbackRegistry();
  await writeFile(join(dir, "r.conf"), insecureRegistry(registry.host));
  reader = new BundleReader({ registriesConf: join(dir, "r.conf") }, signal);
  process.chdir(dir);
});

afterEach(async () => {
  process.chdir(home);
  await reader.close();
});

const pinned = (): string => `${registry.host}/acme/op@sha256:${"a".repeat(64)}`;
const tagged = (): string => `${registry.host}/acme/op:v1`;
const copy = async (from: string, name: string): Promise<string> => {
  await mkdir(join(dir, name), { recursive: true });
  await cp(from, join(dir, name), { recursive: true });
  return name;
};

describe("BundleReader pulls the image when a folder has its name and", () => {
  test.each([
    ["files() gets a digest", () => BUNDLE, pinned, (ref: string) => reader.files(ref)],
    ["bundle() gets a digest", () => BUNDLE, pinned, (ref: string) => reader.bundle(ref)],
    ["bundleImage() gets a tag", () => BUNDLE, tagged, (ref: string) => reader.bundleImage(ref)],
    ["catalogFolder() gets a digest", () => CATALOG, pinned, (ref: string) => reader.catalogFolder(ref)],
    [
      "catalogFolder() gets a tag of a ClusterCatalog",
      () => CATALOG,
      tagged,
      (ref: string) => reader.catalogFolder(ref, "https://catalogd"),
    ],
    ["catalogImage() gets a tag", () => CATALOG, tagged, (ref: string) => reader.catalogImage(ref)],
    ["findCatalogFolder() gets a digest", () => CATALOG, pinned, (ref: string) => findCatalogFolder(ref, reader)],
  ])("%s", async (_, from, getRef, read) => {
    const ref = await copy(from(), getRef());
    await writeFile(join(dir, ref, "oci-layout"), '{"imageLayoutVersion": "1.0.0"}');
    await expect(read(ref)).rejects.toThrow();
    expect(registry.paths(/\/v2\/acme\/op\/manifests\//)).not.toEqual([]);
  });
});

test.each([
  ["oci:layout", "bundleImage", () => reader.bundleImage("oci:layout")],
  ["oci:layout", "catalogImage", () => reader.catalogImage("oci:layout")],
  ["./folder", "bundleImage", () => reader.bundleImage("./folder")],
])("BundleReader rejects %s when %s() gets it", async (_, __, read) => {
  await copy(BUNDLE, "folder");
  await expect(read()).rejects.toThrow();
});

test("BundleReader reads a folder when its path starts with ./ and ends with a digest", async () => {
  const ref = await copy(BUNDLE, pinned());
  expect([await isFolderSource(ref), await isFolderSource(`./${ref}`), (await reader.files(`./${ref}`)).size > 0]).toEqual([
    false,
    true,
    true,
  ]);
});

test.each([
  ["digest", pinned],
  ["tag", tagged],
])("openCatalog caches no folder with the name of an image when the reference has a %s", async (_, getRef) => {
  const image = await copy(CATALOG, getRef());
  const cache = new CatalogCache(join(dir, "cache"));
  const tools = { reader: () => Promise.resolve(reader), cache, onStep: () => undefined };
  await expect(openCatalog({ name: "acme", priority: 0, image }, tools)).rejects.toThrow();
  await cache.close();
  expect(await readdir(join(dir, "cache")).catch(() => [])).toEqual([]);
  expect(registry.paths(/\/v2\/acme\/op\/manifests\//)).not.toEqual([]);
});

test("openCatalog pulls an image that is cached when the policy accepts it only with signatures", async () => {
  const labels = { "operators.operatorframework.io.index.configs.v1": "/configs" };
  const content = JSON.stringify({ schema: "olm.package", name: "acme", defaultChannel: "stable" });
  const layers = [
    tarball([
      { name: "configs/", type: "5" },
      { name: "configs/acme.json", content },
    ]),
  ];
  const image = `${registry.host}/acme/catalog@${registry.addImage("acme/catalog", "v1", { labels, layers }).digest}`;
  const signed = { type: "sigstoreSigned", keyData: Buffer.from(new Signer().pem).toString("base64") };
  const read = async (scope: string): Promise<string[]> => {
    const docker = { [scope]: [signed] };
    await writeFile(join(dir, "policy.json"), JSON.stringify({ default: [{ type: "insecureAcceptAnything" }], transports: { docker } }));
    const cache = new CatalogCache(join(dir, "cache"));
    const own = new BundleReader({ registriesConf: join(dir, "r.conf"), signaturePolicy: join(dir, "policy.json") }, signal);
    try {
      const tools = { reader: () => Promise.resolve(own), cache, onStep: () => undefined };
      const book = await openCatalog({ name: "acme", priority: 0, image }, tools);
      await book.close();
      return book.names();
    } finally {
      await own.close();
      await cache.close();
    }
  };
  expect(await read("registry.example")).toEqual(["acme"]);
  const pulls = registry.paths(/acme/).length;
  expect([await read("registry.example"), registry.paths(/acme/).length]).toEqual([["acme"], pulls]);
  await expect(read(`${registry.host}/acme`)).rejects.toThrow("A signature was required, but no signature exists");
});

describe("BundleReader with a cache", () => {
  const THREAD_LIMITS = { heapMib: 192, deadlineMs: 60_000, idleMs: 3_000 };
  const large = bundleFiles({ "manifests/map.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n${"#\n".repeat(12_000)}` });

  /** Pushes an image with a large bundle. Returns its reference with a digest. */
  function push(): string {
    const files = [...large].map(([name, content]) => ({ name, content }));
    const labels = { "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1" };
    return `${registry.host}/acme/op@${registry.addImage("acme/op", "v1", { labels, layers: [tarball(files)] }).digest}`;
  }

  test("BundleReader loads and renders a large bundle in the thread when its reader is closed and the thread was idle", async () => {
    const clock = new FakeClock();
    const thread = new BundleThread(clock, THREAD_LIMITS);
    const bundleCache = new BundleCache(systemClock, { maxBytes: 1e6, maxBundles: 8, keepMs: 60_000, maxRenderings: 0 }, thread);
    const read = async (ref: string) => {
      const one = new BundleReader({ registriesConf: join(dir, "r.conf"), bundleCache }, signal);
      try {
        return await one.bundleImage(ref);
      } finally {
        await one.close();
      }
    };
    try {
      const ref = push();
      const bundle = await read(ref);
      expect([thread.isRunning, bundle]).toEqual([true, expect.objectContaining(summarizeBundle(loadBundle(large)))]);
      const pulls = registry.paths(/acme/).length;
      expect((await read(ref)) === bundle).toBe(true);
      expect(registry.paths(/acme/)).toHaveLength(pulls);
      await thread.end();
      expect(await bundle.render({ installNamespace: "ns" })).toEqual(renderBundle(loadBundle(large), { installNamespace: "ns" }));
      expect((await read(tagged())) === bundle).toBe(true);
      expect(registry.paths(/acme/).length).toBeGreaterThan(pulls);
    } finally {
      await thread.end();
    }
  });
});
