import { afterEach, expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { asRead, releaseRecord } from "../../../test/support/releases.ts";
import { flushPromises, WatchedKind } from "../../../test/support/watchedKind.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { ReleaseRecord, ReleaseStatus } from "../../release/record.ts";
import type { DecodedRelease, UnreadableRelease } from "../../release/storage/decode.ts";
import { getReleaseKey } from "../../release/storage/encode.ts";
import { createLogger } from "../../telemetry/log.ts";
import { InstalledReleases } from "./installedReleases.ts";
import { InstalledSummaryCache } from "./releaseReader.ts";

const X = { name: "x", uid: "uid-x" };
const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

/** Release v`version` with bundle x.v`version` and maximum OpenShift version 4.`version`. */
const record = (version: number): ReleaseRecord =>
  releaseRecord(version, "deployed", {
    labels: { "olm.operatorframework.io/bundle-name": `x.v${version}`, "olm.operatorframework.io/bundle-version": `${version}` },
    annotations: { "olm.properties": `[{"type":"olm.maxOpenShiftVersion","value":4.${version}}]` },
  });

/** Records by number: an Error means unreadable, a missing record means incomplete. */
class StoredRecords {
  readonly records = new Map<number, ReleaseRecord | UnreadableRelease | Error>();
  readonly reads: number[] = [];

  read(_extension: string, version: number): Promise<DecodedRelease | undefined> {
    this.reads.push(version);
    const stored = this.records.get(version);
    if (stored instanceof Error) return Promise.reject(stored);
    return Promise.resolve(stored && "kind" in stored ? stored : asRead(stored));
  }
}

function start() {
  const secrets = new WatchedKind({ apiVersion: "v1", kind: "Secret" });
  const store = new StoredRecords();
  const cache = new InstalledSummaryCache();
  const clock = new FakeClock();
  const log = createLogger({ component: "test", level: "silent" });
  const releases = new InstalledReleases({ client: secrets, store, cache, systemNamespace: "system", log, clock });
  const ended = new AbortController();
  stop.push(ended);
  void releases.run(ended.signal);
  const release = (version: number, status: ReleaseStatus, uid: string | undefined = X.uid): KubeObject => {
    store.records.set(version, store.records.get(version) ?? record(version));
    const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "x", uid: uid ?? "" };
    return secrets.put({
      metadata: {
        name: getReleaseKey("x", version),
        namespace: "system",
        labels: { name: "x", owner: "operator-controller", type: "index", status, version: String(version) },
        ...(uid === undefined ? {} : { ownerReferences: [owner] }),
      },
    });
  };
  /** Returns the active releases after all readable releases have been read. */
  const listCounted = async (later = 1_000): Promise<string[] | undefined> => {
    await flushPromises();
    releases.listActive([X]);
    clock.advance(later);
    await flushPromises();
    return releases.listActive([X])?.map((found) => ("reason" in found ? found.reason : found.bundle));
  };
  return { secrets, store, cache, clock, releases, release, counting: listCounted };
}

// Source: G-02 and G-08.
test("InstalledReleases.listActive returns the last deployed release and later attempts, and reads each release once", async () => {
  const { store, release, counting: listCounted } = start();
  release(1, "superseded");
  release(2, "deployed");
  release(3, "failed");
  release(4, "pending-upgrade");
  expect(await listCounted()).toEqual(["x.v4", "x.v3", "x.v2"]);
  expect(await listCounted()).toEqual(["x.v4", "x.v3", "x.v2"]);
  expect(store.reads).toEqual([4, 3, 2]);
  release(4, "deployed");
  expect(await listCounted()).toEqual(["x.v4"]);
  expect(store.reads).toEqual([4, 3, 2, 4]);
});

test("InstalledReleases returns undefined while a release is being read", async () => {
  const { releases, release } = start();
  release(1, "deployed");
  await flushPromises();
  expect(releases.listActive([X])).toBeUndefined();
  expect(releases.listActive([{ name: "y", uid: "uid-y" }])).toEqual([]);
});

test("InstalledReleases does not read a release when this process wrote it", async () => {
  const { store, cache, release, counting: listCounted } = start();
  const secret = release(1, "deployed");
  await flushPromises();
  cache.note(secret.metadata, record(1));
  expect(await listCounted()).toEqual(["x.v1"]);
  expect(store.reads).toEqual([]);
});

test("InstalledReleases does not read a release of this process, whether the write or the watch event arrives first", async () => {
  const { store, cache, clock, releases, release } = start();
  const first = release(1, "pending-install");
  await flushPromises();
  expect(releases.listActive([X])).toBeUndefined();
  cache.note(first.metadata, record(1));
  clock.advance(1_000);
  await flushPromises();
  cache.note({ uid: first.metadata.uid!, resourceVersion: "2" }, record(1));
  expect(releases.listActive([X])).toBeUndefined();
  release(1, "deployed");
  await flushPromises();
  clock.advance(1_000);
  await flushPromises();
  expect(releases.listActive([X])).toHaveLength(1);
  expect(store.reads).toEqual([]);
});

test("InstalledReleases.listActive includes releases without an owner or of an earlier extension unless the status contains another bundle", async () => {
  const { releases, release, counting: listCounted } = start();
  release(1, "deployed", "uid-of-another");
  expect(await listCounted()).toEqual(["x.v1"]);
  release(2, "deployed", undefined);
  expect(await listCounted()).toEqual(["x.v2", "x.v1"]);
  const bundles = (name: string, version: string) =>
    releases.listActive([{ ...X, installed: { name, version } }])?.map((found) => ("reason" in found ? found.reason : found.bundle));
  expect([bundles("x.v2", "2"), bundles("x.v1", "1")]).toEqual([["x.v2"], ["x.v2", "x.v1"]]);
  expect(releases.getInstalled(X)).toMatchObject({ kind: "installed" });
});

test("InstalledReleases reports a missing release when the status contains an installed bundle, unless the extension is deleted", async () => {
  const { releases, release, counting: listCounted } = start();
  const installed = { name: "x.v1", version: "1" };
  await flushPromises();
  const because = 'status.install lists bundle "x.v1", but namespace "system" contains no release of this bundle';
  expect(releases.listActive([{ ...X, installed }])).toEqual([{ extension: "x", reason: because }]);
  expect(releases.listActive([{ ...X, installed, isDeleted: true }])).toEqual([]);
  release(3, "deployed", "uid-of-another");
  await listCounted();
  expect(releases.listActive([{ ...X, installed }])).toEqual([{ extension: "x", reason: because }]);
});

test("InstalledReleases reports an unreadable older release that is also marked as deployed", async () => {
  const { store, release, counting: listCounted } = start();
  store.records.set(1, { kind: "unreadable", secret: getReleaseKey("x", 1), reason: "damaged" });
  release(1, "deployed");
  release(2, "deployed");
  expect(await listCounted()).toEqual(["x.v2", 'release secret "sh.helm.release.v1.x.v1" cannot be read: damaged']);
  store.records.set(1, record(1));
  expect(await listCounted(60_000)).toEqual(["x.v2"]);
});

test("InstalledReleases.listActive returns nothing when the newest release is uninstalled", async () => {
  const { release, counting: listCounted } = start();
  release(1, "superseded");
  release(2, "uninstalled");
  expect(await listCounted()).toEqual([]);
});

test("InstalledReleases.listActive excludes an attempt until its record is complete", async () => {
  const { store, release, counting: listCounted } = start();
  release(1, "deployed");
  release(2, "pending-upgrade");
  store.records.delete(2);
  expect(await listCounted()).toEqual(["x.v1"]);
  store.records.set(2, record(2));
  expect(await listCounted(60_000)).toEqual(["x.v2", "x.v1"]);
});

test("InstalledReleases reports an unreadable release when it is being uninstalled", async () => {
  const { store, release, counting: listCounted } = start();
  release(1, "uninstalling");
  store.records.set(1, { kind: "unreadable", secret: getReleaseKey("x", 1), reason: "a chunk is missing" });
  expect(await listCounted()).toEqual(['release secret "sh.helm.release.v1.x.v1" cannot be read: a chunk is missing']);
});

test("InstalledReleases reports an unreadable release, and reads the release again later", async () => {
  const { store, release, counting: listCounted } = start();
  store.records.set(1, new Error("failed to get chunk 2 secret"));
  release(1, "deployed");
  expect(await listCounted()).toEqual(["failed to get chunk 2 secret"]);
  store.records.set(1, record(1));
  expect(await listCounted(60_000)).toEqual(["x.v1"]);
});

test.for<[version: string, because: string]>([
  ["7", "its name does not match the release in its labels"],
  ["x", 'its label version "x" is not a positive integer'],
  ["-1", 'its label version "-1" is not a positive integer'],
  ["01", 'its label version "01" is not a positive integer'],
  ["", 'its label version "" is not a positive integer'],
])("InstalledReleases reports a Secret with label version %j, and reads only the readable release", async ([version, because]) => {
  const { secrets, releases, release, counting: listCounted } = start();
  const labels = { name: "x", owner: "operator-controller", type: "index", status: "deployed", version };
  secrets.put({ metadata: { name: getReleaseKey("x", 1), namespace: "system", labels } });
  release(2, "deployed");
  const text = `release secret "sh.helm.release.v1.x.v1" cannot be read: ${because}`;
  expect((await listCounted())?.toSorted()).toEqual([text, "x.v2"]);
  expect(releases.getInstalled(X)).toEqual({ kind: "unknown", reason: text });
  secrets.remove(getReleaseKey("x", 1));
  expect(await listCounted()).toEqual(["x.v2"]);
});

test("InstalledReleases returns a bundle once when several releases have the same bundle", async () => {
  const { store, release, counting: listCounted } = start();
  store.records.set(2, record(1));
  release(1, "deployed");
  release(2, "pending-upgrade");
  expect(await listCounted()).toEqual(["x.v1"]);
});

test("InstalledReleases forgets releases when they are deleted", async () => {
  const { secrets, releases, release, counting: listCounted } = start();
  release(1, "deployed");
  expect(await listCounted()).toEqual(["x.v1"]);
  let changes = 0;
  releases.onChange(() => changes++);
  secrets.remove(getReleaseKey("x", 1));
  await flushPromises();
  expect([changes, await listCounted()]).toEqual([1, []]);
});

test("InstalledReleases reports the reason for every extension when the permission to list Secrets is missing", async () => {
  const { secrets, clock, releases, release, counting: listCounted } = start();
  release(1, "deployed");
  expect(await listCounted()).toEqual(["x.v1"]);
  secrets.refusal = refusal(403, "Forbidden", "secrets is forbidden");
  secrets.endWatches(new Error("other side closed"));
  for (let i = 0; i < 5; i++) {
    await flushPromises();
    clock.advance(30_000);
  }
  await flushPromises();
  expect(await listCounted()).toEqual(["cannot list release secrets: secrets is forbidden"]);
  secrets.refusal = undefined;
  expect(await listCounted(60_000)).toEqual(["x.v1"]);
  await expect(releases.synced).resolves.toBeUndefined();
});
