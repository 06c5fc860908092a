import { expect, test } from "vitest";
import { MemoryReleases } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildStarted, runStep } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import { type InstalledBundle, readInstalledBundle, toReleaseLabels } from "../../release/installedBundle.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import { getReleases } from "../state/phases.ts";
import { retrieveReleases } from "./retrieveReleases.ts";

const BUNDLE: InstalledBundle = { packageName: "p", name: "p.v1.0.0", version: "1.0.0+2", image: "quay.io/p@sha256:1" };

test.for<[why: string, bundle: InstalledBundle, labels: number]>([
  ["no release", { ...BUNDLE, release: undefined }, 4],
  ["an explicit release", { ...BUNDLE, release: "2" }, 5],
  ["an explicit release that is empty", { ...BUNDLE, release: "" }, 5],
])("installedFrom reads a bundle from labels with %s", ([, bundle, count]) => {
  const labels = toReleaseLabels(bundle);
  expect(Object.keys(labels)).toHaveLength(count);
  expect(readInstalledBundle(releaseRecord(1, "deployed", { labels }))).toEqual(bundle);
});

test("labelsFrom returns the labels of the Go operator-controller", () => {
  expect(toReleaseLabels({ ...BUNDLE, release: "2" })).toEqual({
    "olm.operatorframework.io/package-name": "p",
    "olm.operatorframework.io/bundle-name": "p.v1.0.0",
    "olm.operatorframework.io/bundle-version": "1.0.0+2",
    "olm.operatorframework.io/bundle-reference": "quay.io/p@sha256:1",
    "olm.operatorframework.io/bundle-release": "2",
  });
});

const X = createExtension("x", { packageName: "p" });
const labels = toReleaseLabels(BUNDLE);

test("retrieveReleases returns the bundle of the last deployed release, and records the objects of later attempts", async () => {
  const newer = releaseRecord(2, "failed", { labels: { ...labels, "olm.operatorframework.io/bundle-version": "2.0.0" }, objects: ["b"] });
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { labels, objects: ["a"] }), newer);
  const memory = new ExtensionCache();
  const { next } = await runStep(retrieveReleases({ releases, memory }), buildStarted(X));
  expect(next?.releases.installed?.version).toBe("1.0.0+2");
  expect(memory.of(X).recorded.map(({ name }) => name)).toEqual(["b", "a"]);
});

test("retrieveReleases keeps recorded objects when the garbage collector has deleted the releases", async () => {
  const memory = new ExtensionCache();
  memory.record(X, [releaseRecord(1, "deployed", { labels, objects: ["a"] })]);
  await runStep(retrieveReleases({ releases: new MemoryReleases(), memory }), buildStarted(X));
  expect(memory.of(X).recorded.map(({ name }) => name)).toEqual(["a"]);
});

test("retrieveReleases reports an unknown installed bundle when the history cannot be read", async () => {
  const releases = new MemoryReleases();
  releases.failures.history = new Error("connection refused");
  const { phase, error } = await runStep(retrieveReleases({ releases, memory: new ExtensionCache() }), buildStarted(X));
  expect(error).toMatchObject({ message: "retrying to get installed bundle", retry: true });
  expect(getReleases(phase).unknownBecause).toBe("connection refused");
});

test("retrieveReleases fails when a release cannot be read, and keeps the other releases", async () => {
  const releases = new MemoryReleases(releaseRecord(1, "deployed", { labels, objects: ["a"] }));
  releases.unreadable.push({ kind: "unreadable", secret: "copy", reason: "damaged" });
  const memory = new ExtensionCache();
  memory.record(X, [releaseRecord(7, "deployed", { objects: ["b"] })]);
  const { phase, error } = await runStep(retrieveReleases({ releases, memory }), buildStarted(X));
  const known = getReleases(phase);
  expect(error).toMatchObject({
    message:
      'retrying to get installed bundle; release secret "copy" cannot be read: damaged. Restore or delete this Secret; until then, the controller does not change or uninstall the extension',
    retry: true,
  });
  expect([known.installed?.version, known.unreadable]).toEqual(["1.0.0+2", ['release secret "copy" cannot be read: damaged']]);
  expect(memory.of(X).recorded.map(({ name }) => name)).toEqual(["b", "a"]);
  expect(memory.awaitsReleases("x")).toBe(true);
});

test("retrieveReleases reports a missing release when the status contains an installed bundle", async () => {
  const lost = { ...X, status: { install: { bundle: { name: "p.v1.0.0", version: "1.0.0" } } } };
  const reading = { releases: new MemoryReleases(), memory: new ExtensionCache() };
  const { next } = await runStep(retrieveReleases(reading), buildStarted(lost));
  const text = 'status.install lists bundle "p.v1.0.0", but the system namespace contains no release of this bundle';
  expect([next?.releases.unreadable, next?.releases.unknownBecause]).toEqual([[text], text]);
});
