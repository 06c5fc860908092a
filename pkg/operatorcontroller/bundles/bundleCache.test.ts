import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundleFiles } from "../../../test/support/bundleFixture.ts";
import { deepFreeze } from "../../../test/support/deepFreeze.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { tinyBundle } from "../../../test/support/tinyBundle.ts";
import { webhookBundle } from "../../../test/support/webhookBundle.ts";
import type { GroupVersionKind } from "../../api/k8s.ts";
import { loadBundle } from "../../bundle/load.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { certManager, serviceCa } from "../../certificates/providers.ts";
import { computeRequiredRules } from "../../rbac/requiredRules.ts";
import { findKnownResource } from "../../rbac/resources.ts";
import { buildUserRoles } from "../../rbac/userRoles.ts";
import { sortForInstall } from "../../release/plan.ts";
import { prepareObjects } from "../../release/prepare.ts";
import { type RenderOptions, renderBundle } from "../../render/render.ts";
import { BundleCache, type BundleCacheLimits } from "./bundleCache.ts";
import { readBundleFiles } from "./bundleFiles.ts";

const LIMITS: BundleCacheLimits = { maxBytes: 10_000, maxBundles: 3, keepMs: 1_000, maxRenderings: 4 };

class Reader {
  reads = 0;
  readonly #files: BundleFiles;

  constructor(files: BundleFiles = bundleFiles(tinyBundle("1.0.0"))) {
    this.#files = files;
  }

  readonly read = (): Promise<BundleFiles> => {
    this.reads++;
    return Promise.resolve(this.#files);
  };
}

function cache(limits: Partial<BundleCacheLimits> = {}): { bundles: BundleCache; clock: FakeClock } {
  const clock = new FakeClock();
  return { bundles: new BundleCache(clock, { ...LIMITS, ...limits }), clock };
}

describe("BundleCache loads a bundle once", () => {
  test("BundleCache loads a bundle once for concurrent and later calls", async () => {
    const { bundles } = cache();
    const reader = new Reader();
    const [one, two] = await Promise.all([bundles.load("a", reader.read), bundles.load("a", reader.read)]);
    const three = await bundles.load("a", reader.read);
    expect([two === one, three === one, reader.reads]).toEqual([true, true, 1]);
    expect((await bundles.load("b", reader.read)) === one).toBe(false);
  });

  test("BundleCache removes a bundle that was not used for the configured time", async () => {
    const { bundles, clock } = cache();
    const reader = new Reader();
    for (const wait of [0, 999, 999, 1_000]) {
      clock.advance(wait);
      await bundles.load("a", reader.read);
    }
    expect(reader.reads).toBe(2);
    clock.advance(1_000);
    expect([bundles.size, clock.pending]).toEqual([{ bundles: 0, bytes: 0 }, 0]);
  });

  test("BundleCache finds a bundle without reading it until it was not used for the configured time", async () => {
    const { bundles, clock } = cache();
    expect(bundles.find("a")).toBe(undefined);
    const bundle = await bundles.load("a", new Reader().read);
    for (const wait of [999, 999]) {
      clock.advance(wait);
      expect((await bundles.find("a")) === bundle).toBe(true);
    }
    clock.advance(1_000);
    expect(bundles.find("a")).toBe(undefined);
  });

  test("BundleCache reads a bundle again after an error", async () => {
    const { bundles, clock } = cache();
    const reader = new Reader(new Map());
    for (const reads of [1, 2]) {
      await expect(bundles.load("a", reader.read)).rejects.toThrow("open metadata/annotations.yaml: no such file or directory");
      expect([reader.reads, bundles.size.bundles, clock.pending]).toEqual([reads, 0, 0]);
    }
  });
});

describe("BundleCache drops the least recently used bundle", () => {
  test("BundleCache limits the number of bundles", async () => {
    const { bundles } = cache();
    const readers = new Map(["a", "b", "c", "d"].map((digest) => [digest, new Reader()]));
    for (const digest of ["a", "b", "c", "a", "d", "a", "b"]) await bundles.load(digest, readers.get(digest)?.read ?? new Reader().read);
    expect([...readers.values()].map(({ reads }) => reads)).toEqual([1, 2, 1, 1]);
    expect(bundles.size.bundles).toBe(3);
  });

  test("BundleCache limits the total size, and does not cache a bundle that alone exceeds the limit", async () => {
    const files = bundleFiles(tinyBundle("1.0.0"));
    const bytes = [...files.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
    const { bundles, clock } = cache({ maxBytes: 2 * bytes });
    for (const digest of ["a", "b", "c"]) await bundles.load(digest, new Reader(files).read);
    expect(bundles.size).toEqual({ bundles: 2, bytes: 2 * bytes });
    const large = new Reader(new Map(files).set("manifests/large.yaml", Buffer.from(`# ${"x".repeat(2 * bytes)}`)));
    expect((await bundles.load("large", large.read)).packageName).toBe("p");
    expect([bundles.size.bundles, clock.pending]).toEqual([0, 0]);
  });
});

describe("BundleCache keeps renderings", () => {
  const options: RenderOptions = { installNamespace: "ns", certProvider: certManager };

  test.for<[what: string, other: RenderOptions, same: boolean]>([
    ["the same object", options, true],
    ["undefined configuration", { ...options, config: undefined }, true],
    ["another namespace", { ...options, installNamespace: "other" }, false],
    ["another certificate provider", { ...options, certProvider: serviceCa }, false],
    ["a configuration", { ...options, config: { deploymentConfig: { env: [{ name: "a", value: "b" }] } } }, false],
    ["a proxy", { ...options, proxy: { HTTP_PROXY: "http://proxy.example.com" } }, false],
  ])("a cached bundle returns the same rendering only for equal options: %s", async ([, other, same]) => {
    const { bundles } = cache();
    const files = bundleFiles(webhookBundle("1.0.0"));
    const bundle = await bundles.load("a", new Reader(files).read);
    const first = await bundle.render(options);
    expect((await bundle.render(other)) === first).toBe(same);
    expect(await bundle.render(other)).toEqual(renderBundle(loadBundle(files), other));
  });

  test("a cached bundle keeps its last four renderings until it is loaded again", async () => {
    const { bundles, clock } = cache();
    const reader = new Reader();
    const bundle = await bundles.load("a", reader.read);
    const of = (installNamespace: string) => bundle.render({ installNamespace });
    const [a, b] = [await of("a"), await of("b")];
    for (const namespace of ["c", "a", "d", "e"]) await of(namespace);
    expect([(await of("a")) === a, (await of("b")) === b]).toEqual([true, false]);
    clock.advance(1_000);
    const again = await (await bundles.load("a", reader.read)).render({ installNamespace: "a" });
    expect([again === a, again]).toEqual([false, a]);
  });

  test("a cached bundle keeps no renderings when the limit is zero", async () => {
    const { bundles } = cache({ maxRenderings: 0 });
    const bundle = await bundles.load("a", new Reader().read);
    const [one, two] = [await bundle.render(options), await bundle.render(options)];
    expect([one === two, one]).toEqual([false, two]);
  });

  test("a cached bundle throws on every call when it cannot be rendered", async () => {
    const { bundles } = cache();
    const bundle = await bundles.load("a", new Reader().read);
    for (let times = 0; times < 2; times++)
      await expect(bundle.render({ installNamespace: "ns", config: { nonsense: 1 } })).rejects.toThrow("nonsense");
  });
});

test.for(["scoped", "serving"])("a reconcile does not change the shared objects of bundle %s", async (name) => {
  const { bundles } = cache();
  const bundle = await bundles.load(name, () => readBundleFiles(join(import.meta.dirname, "../../../test/goldens/bundles", name)));
  const rendered = deepFreeze(await bundle.render({ installNamespace: "ns", certProvider: certManager }));
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "1" };
  const isNamespaced = (gvk: GroupVersionKind): boolean | undefined => findKnownResource(gvk)?.namespaced;
  const given = { packageName: bundle.packageName, version: bundle.version };
  const applied = (): string => {
    const all = [...rendered, ...buildUserRoles(rendered)];
    const { objects } = prepareObjects(all, { owner, installNamespace: "ns", isNamespaced, bundle: given });
    computeRequiredRules(objects, { installNamespace: "ns", resourceOf: findKnownResource });
    return JSON.stringify(sortForInstall(deepFreeze(objects)));
  };
  expect(applied()).toBe(applied());
});
