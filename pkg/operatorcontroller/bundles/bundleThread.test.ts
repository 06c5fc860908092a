import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { bundleFiles } from "../../../test/support/bundleFixture.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { webhookBundle } from "../../../test/support/webhookBundle.ts";
import { systemClock } from "../../async/clock.ts";
import { summarizeBundle } from "../../bundle/bundleSummary.ts";
import { loadBundle } from "../../bundle/load.ts";
import type { BundleFiles } from "../../bundle/types.ts";
import { certManager } from "../../certificates/providers.ts";
import { getRestMs, isRetryable } from "../../errors/errors.ts";
import { renderBundle } from "../../render/render.ts";
import { BundleCache, BundleThread } from "./bundleCache.ts";
import { readBundleFiles } from "./bundleFiles.ts";

const LIMITS = { heapMib: 192, deadlineMs: 60_000, idleMs: 3_000 };
const threads: BundleThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.end();
});

function start(limits: Partial<typeof LIMITS> = {}, clock = new FakeClock()): { thread: BundleThread; clock: FakeClock } {
  const thread = new BundleThread(clock, { ...LIMITS, ...limits });
  threads.push(thread);
  return { thread, clock };
}

function never(): Promise<BundleFiles> {
  return Promise.reject(new Error("the files were read again"));
}

function copy(files: BundleFiles): BundleFiles {
  return new Map([...files].map(([path, content]) => [path, new Uint8Array(content)]));
}

const LARGE_INTEGER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\nbig: 9007199254740993\n";

describe("BundleThread", () => {
  test.for<[what: string, files: () => BundleFiles | Promise<BundleFiles>]>([
    ["webhooks", () => bundleFiles(webhookBundle("1.0.0"))],
    ["an integer that JSON would round", () => bundleFiles({ "manifests/x.yaml": LARGE_INTEGER })],
    ["manifests of every kind", () => readBundleFiles(join(import.meta.dirname, "../../../test/goldens/bundles/serving"))],
  ])("BundleThread returns the same summary and objects as the main thread when a bundle has %s", async ([, read]) => {
    const files = await read();
    const { thread } = start();
    const options = { installNamespace: "ns", certProvider: certManager };
    const content = await thread.load("a", copy(files), never);
    const bundle = loadBundle(files);
    expect(content).toMatchObject(summarizeBundle(bundle));
    expect(await content.render(options)).toEqual(renderBundle(bundle, options));
  });

  test("BundleThread stops its thread when it is idle, and reads the files again for a later rendering", async () => {
    const { thread, clock } = start();
    const files = bundleFiles({});
    let reads = 0;
    const content = await thread.load("a", copy(files), () => {
      reads++;
      return Promise.resolve(copy(files));
    });
    const before = await content.render({ installNamespace: "ns" });
    expect([reads, thread.isRunning]).toEqual([0, true]);
    clock.advance(LIMITS.idleMs);
    await eventually(() => expect(thread.isRunning).toBe(false));
    expect(await content.render({ installNamespace: "ns" })).toEqual(before);
    expect(reads).toBe(1);
  });

  test("BundleThread reports a separate error for each of two invalid bundles, and continues with the next bundle", async () => {
    const { thread } = start();
    const broken = thread.load("a", new Map(), never);
    const large = thread.load("b", bundleFiles({ "manifests/maps.yaml": `kind: A\nl: [${"{},".repeat(300_000)}]\n` }), never);
    const good = thread.load("c", bundleFiles({}), never);
    await expect(broken).rejects.toSatisfy(isRetryable);
    await expect(large).rejects.toThrow(/^bundle is too large: file "manifests\/maps.yaml" contains 60000\d lines, list items and members/);
    await expect(large).rejects.not.toSatisfy(isRetryable);
    expect((await good).name).toBe("a.v1.0.0");
  });

  test("BundleThread rejects a bundle with a terminal error when it takes more memory than the thread has", async () => {
    const { thread } = start({ heapMib: 24 });
    const maps = Object.fromEntries(
      ["a", "b", "c", "d"].map((name) => [
        `manifests/${name}.yaml`,
        `apiVersion: v1\nkind: A\nmetadata: {name: ${name}}\nl: [${"{a: {}},".repeat(80_000)}]\n`,
      ]),
    );
    const failed = thread.load("a", bundleFiles(maps), never);
    await expect(failed).rejects.toThrow("bundle is too large: loading and rendering exceeded the limit of 24 MiB of memory");
    await expect(failed).rejects.not.toSatisfy(isRetryable);
    expect((await thread.load("b", bundleFiles({}), never)).name).toBe("a.v1.0.0");
  });

  test("BundleThread throws an error with a retry delay when a bundle exceeds the deadline", async () => {
    const { thread, clock } = start();
    const loading = thread.load("a", bundleFiles({}), never).catch((err: unknown) => err);
    await eventually(() => expect(thread.isRunning).toBe(true));
    clock.advance(LIMITS.deadlineMs);
    const err = await loading;
    expect([isRetryable(err), getRestMs(err), String(err)]).toEqual([true, 300_000, expect.stringContaining("exceeded the limit of 60 s")]);
  });
});

test("BundleCache uses the thread only for bundles above 1 MiB or 12,000 lines and members, and caches the error of a bundle that is too large", async () => {
  const loads: string[] = [];
  const { thread } = start({}, new FakeClock());
  const bundles = new BundleCache(
    systemClock,
    { maxBytes: 1e9, maxBundles: 8, keepMs: 10_000, maxRenderings: 4 },
    {
      load: (digest, files, read) => {
        loads.push(digest);
        return thread.load(digest, files, read);
      },
    },
  );
  const withText = (text: string) => () => Promise.resolve(bundleFiles({ "manifests/x.yaml": text }));
  const comment = `kind: A\n# ${"x".repeat(1024 * 1024)}`;
  const lines = `kind: A\n${"#\n".repeat(12_000)}`;
  const maps = `kind: A\nl: [${"{},".repeat(300_000)}]\n`;
  await bundles.load("small", withText(`kind: A\n${"#\n".repeat(11_900)}`));
  await bundles.load("bytes", withText(comment));
  await bundles.load("lines", withText(lines));
  for (let times = 0; times < 3; times++) await expect(bundles.load("maps", withText(maps))).rejects.toThrow("bundle is too large");
  expect(loads).toEqual(["bytes", "lines", "maps"]);
});
