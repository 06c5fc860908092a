import { afterEach, expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { asRead, releaseRecord } from "../../../test/support/releases.ts";
import { flushPromises, WatchedKind } from "../../../test/support/watchedKind.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import { Informer } from "../../controller/informer.ts";
import type { ReleaseRecord, ReleaseStatus } from "../../release/record.ts";
import type { DecodedRelease } from "../../release/storage/decode.ts";
import { getReleaseKey } from "../../release/storage/encode.ts";
import { createLogger } from "../../telemetry/log.ts";
import { InstalledBundles, InstalledReleases } from "./installedReleases.ts";
import { InstalledSummaryCache } from "./releaseReader.ts";

const log = createLogger({ component: "test", level: "silent" });
const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

/** InstalledBundles on a cluster in memory. */
class InstalledFixture {
  readonly clock = new FakeClock();
  readonly records = new Map<string, ReleaseRecord | Error>();
  readonly secrets = new WatchedKind({ apiVersion: "v1", kind: "Secret" });
  readonly kinds = new WatchedKind({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
  readonly bundles: InstalledBundles;
  changes = 0;
  reads = 0;

  constructor(...extensions: string[]) {
    const { clock, secrets, kinds } = this;
    for (const name of extensions) this.extension(name);
    const store = {
      read: (name: string, version: number): Promise<DecodedRelease | undefined> => {
        this.reads++;
        const record = this.records.get(getReleaseKey(name, version));
        return record instanceof Error ? Promise.reject(record) : Promise.resolve(asRead(record));
      },
    };
    const informer = new Informer<ClusterExtension>(kinds, { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { clock }, log);
    const releases = new InstalledReleases({
      client: secrets,
      store,
      cache: new InstalledSummaryCache(),
      systemNamespace: "system",
      log,
      clock,
    });
    this.bundles = new InstalledBundles({ extensions: informer, releases, clock });
    this.bundles.onChange(() => this.changes++);
    const ended = new AbortController();
    stop.push(ended);
    void Promise.all([informer.run(ended.signal), releases.run(ended.signal)]);
  }

  extension(name: string): void {
    this.kinds.put({ ...createExtension(name, { packageName: name }), metadata: { name, uid: `uid-${name}` } });
  }

  release(name: string, version: number, status: ReleaseStatus, record?: ReleaseRecord | Error): void {
    const labels = { "olm.operatorframework.io/package-name": name, "olm.operatorframework.io/bundle-name": `${name}.v${version}` };
    this.records.set(getReleaseKey(name, version), record ?? releaseRecord(version, status, { name, labels }));
    this.secrets.put({
      metadata: {
        name: getReleaseKey(name, version),
        namespace: "system",
        labels: { name, owner: "operator-controller", type: "index", status, version: String(version) },
        ownerReferences: [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid: `uid-${name}` }],
      },
    });
  }

  async listed(): Promise<string[]> {
    for (let i = 0; i < 5; i++) {
      await flushPromises();
      this.clock.advance(200);
    }
    await flushPromises();
    return this.bundles.list().map(({ extension, name }) => `${extension}: ${name}`);
  }
}

test("InstalledBundles lists the bundle of each extension's last deployed release, sorted by name", async () => {
  const world = new InstalledFixture("b", "a", "none");
  world.release("b", 1, "superseded");
  world.release("b", 2, "deployed");
  world.release("b", 3, "pending-upgrade");
  world.release("a", 1, "deployed");
  world.release("stranger", 1, "deployed");
  expect(world.bundles.unread()).toEqual([]);
  expect(await world.listed()).toEqual(["a: a.v1", "b: b.v2"]);
  expect(world.reads).toBe(2);
  expect(world.bundles.list()[1]?.packageName).toBe("b");
});

test("InstalledBundles notifies its listeners when an installed bundle changes, but not when a release is rewritten with the same content", async () => {
  const world = new InstalledFixture("a", "b");
  world.release("a", 1, "deployed");
  await world.listed();
  const { changes } = world;
  world.release("a", 1, "deployed");
  expect(await world.listed()).toEqual(["a: a.v1"]);
  expect(world.changes).toBe(changes);
  world.release("a", 1, "superseded");
  world.release("a", 2, "deployed");
  world.release("b", 1, "deployed");
  expect(await world.listed()).toEqual(["a: a.v2", "b: b.v1"]);
  const later = world.changes;
  expect(later).toBeGreaterThan(changes);
  world.kinds.remove("a");
  expect(await world.listed()).toEqual(["b: b.v1"]);
  expect(world.changes).toBe(later + 1);
});

test("InstalledBundles keeps the last known bundle when a newer version of its Secret is being read or is unreadable", async () => {
  const world = new InstalledFixture("a");
  world.release("a", 1, "deployed");
  await world.listed();
  world.release("a", 1, "deployed", new Error("broken"));
  await flushPromises();
  expect(world.bundles.list().map(({ name }) => name)).toEqual(["a.v1"]);
  expect(await world.listed()).toEqual(["a: a.v1"]);
  expect([...world.bundles.unreadable()]).toEqual([["a", "broken"]]);
});

test("InstalledBundles lists extensions as unread while their releases are being read, and then notifies its listeners", async () => {
  const world = new InstalledFixture("a", "b");
  world.release("a", 1, "deployed");
  await flushPromises();
  expect([world.bundles.list(), world.bundles.unread()]).toEqual([[], ["a"]]);
  await world.listed();
  expect(world.bundles.unread()).toEqual([]);
  expect(world.changes).toBeGreaterThan(0);
});

test("InstalledBundles reports the reason when the permission to read releases is missing", async () => {
  const world = new InstalledFixture("a");
  world.secrets.refusal = refusal(403, "Forbidden", "secrets is forbidden");
  expect(await world.listed()).toEqual([]);
  expect([...world.bundles.unreadable()]).toEqual([["a", "cannot list release secrets: secrets is forbidden"]]);
});
