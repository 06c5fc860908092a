import { tmpdir } from "node:os";
import { beforeEach, expect, test } from "vitest";
import { FakeImages, FakeStore } from "../../test/support/catalogFakes.ts";
import { createCatalog } from "../../test/support/catalogs.ts";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { StepResult } from "../controller/stepSequence.ts";
import { createLogger } from "../telemetry/log.ts";
import { CatalogFollower } from "./catalogFollower.ts";
import { CatalogImages } from "./catalogImages.ts";

const ONE = "quay.io/c@sha256:1";
const TWO = "quay.io/c@sha256:2";
const log = createLogger({ component: "test", level: "silent" });

let images: FakeImages;
let store: FakeStore;
let reported: string[];
let follower: CatalogFollower;
let pulled: PromiseWithResolvers<void>;

beforeEach(() => {
  images = new FakeImages(tmpdir());
  store = new FakeStore();
  reported = [];
  const metrics = {
    setOutdated: (_catalog: string, isOutdated: boolean | undefined) => void reported.push(`outdated ${isOutdated}`),
    loadFailed: () => void reported.push("failed"),
  };
  follower = new CatalogFollower({ store, images: new CatalogImages(images, () => pulled.resolve()), metrics, random: () => 1 });
});

/** Runs a reconcile and, if it starts a pull, the next reconcile after the pull. */
async function follow(catalog: ClusterCatalog | undefined, signal = new AbortController().signal): Promise<StepResult> {
  pulled = Promise.withResolvers();
  const result = await follower.follow("test", catalog, log, signal);
  if (!result?.isPending) return result;
  await pulled.promise;
  return follower.follow("test", catalog, log, signal);
}
const served = (digest: string, state: object = {}): ClusterCatalog => createCatalog("test", { digest, ...state });
const origin = () => store.get("test")?.origin;

test("follower loads content once by the digest in the status, and does not resolve the tag", async () => {
  const catalog = served(ONE);
  catalog.status = { ...catalog.status, lastUnpacked: "2025-06-07T08:09:10Z", content: { digest: "sha256:2", packages: 1 } };
  await follow(catalog);
  await follow(catalog);
  expect(images.calls).toEqual([`pull test ${ONE}`, "remove test"]);
  expect([store.stored, origin()]).toEqual([
    ["test sha256:1"],
    { ref: ONE, digest: "sha256:1", lastUnpacked: "2025-06-07T08:09:10Z" }, // the leader's time
  ]);
  expect(reported).toEqual(["outdated true", "outdated true", "outdated false", "outdated false"]);
});

test("follower records when it unpacked the image when the Go catalogd wrote the status", async () => {
  const catalog = served(ONE);
  catalog.status = { ...catalog.status, lastUnpacked: "2025-06-07T08:09:10Z" };
  await follow(catalog);
  expect(origin()?.lastUnpacked).toBe("2026-01-02T03:04:05Z");
});

test("follower checks the signature policy for the tag in the spec, or for the digest when the spec has no tag or another repository", async () => {
  for (const ref of ["quay.io/c:v1", "quay.io/other:v1", ONE, "quay.io/c", "quay.io/c:v1@sha256:1"]) {
    const catalog = served(ONE);
    catalog.spec.source.image = { ref };
    store.contents.clear();
    await follow(catalog);
  }
  expect(images.identities).toEqual(["quay.io/c:v1", ONE, ONE, ONE, ONE]);
});

test("follower retries failed loads with increasing delays and serves the previous content meanwhile", async () => {
  await follow(served(ONE));
  images.failure = new Error("the registry is down");
  const pauses: unknown[] = [];
  for (let tries = 0; tries < 8; tries++) pauses.push((await follow(served(TWO)))?.requeueAfterMs);
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect([origin()?.digest, follower.failing, reported.slice(-2)]).toEqual(["sha256:1", ["test"], ["outdated true", "failed"]]);
  images.failure = undefined;
  expect(await follow(served(TWO))).toBeUndefined();
  expect([origin()?.digest, follower.failing]).toEqual(["sha256:2", []]);
});

test("follower retries content that cannot be stored", async () => {
  store.failure = new Error("no space left on device");
  expect(await follow(served(ONE))).toEqual({ requeueAfterMs: 1_000 });
  expect(store.stored).toEqual([]);
});

test("follower does not report an abort as a failure", async () => {
  images.failure = new Error("stopped");
  await expect(follow(served(ONE), AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
  expect([follower.failing, reported]).toEqual([[], ["outdated true", "outdated true"]]);
});

test.for<[string, ClusterCatalog | undefined]>([
  ["does not exist", undefined],
  ["is being deleted", { ...served(ONE), metadata: { name: "test", deletionTimestamp: "2026-01-01T00:00:00Z" } }],
  ["is unavailable", served(ONE, { availabilityMode: "Unavailable" })],
  ["is not served", served(ONE, { serving: false })],
  ["was never unpacked", createCatalog("test", {})],
])("follower removes the content of a catalog that %s", async ([, catalog]) => {
  await follow(served(ONE));
  images.calls.length = 0;
  await follow(catalog);
  expect([origin(), images.calls, reported.at(-1)]).toEqual([undefined, ["remove test"], "outdated undefined"]);
});
