import { tmpdir } from "node:os";
import { beforeEach, expect, test } from "vitest";
import { FakeCatalogServer, FakeImages, FakeStore } from "../../test/support/catalogFakes.ts";
import { API_VERSION } from "../api/constants.ts";
import type { Client } from "../kube/client.ts";
import { createLogger } from "../telemetry/log.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { CatalogImages } from "./catalogImages.ts";
import { CatalogLeader } from "./catalogLeader.ts";
import { CatalogMetrics, registerReplicaMetrics } from "./catalogMetrics.ts";
import type { CatalogStore } from "./catalogStore.ts";

const NAME = "test";
const REF = "quay.io/c:v1";
const POLLED = { ref: REF, pollIntervalMinutes: 10 };
const log = createLogger({ component: "test", level: "silent" });

let server: FakeCatalogServer;
let images: FakeImages;
let metrics: Metrics;
let reported: CatalogMetrics;
let leader: CatalogLeader;
let fetched: PromiseWithResolvers<void>;

beforeEach(() => {
  const source = { type: "Image" as const, image: POLLED };
  server = new FakeCatalogServer({ apiVersion: API_VERSION, kind: "ClusterCatalog", metadata: { name: NAME }, spec: { source } });
  images = new FakeImages(tmpdir());
  images.digests.set(REF, "sha256:1");
  metrics = new Metrics("catalogd");
  reported = new CatalogMetrics(metrics);
  leader = new CatalogLeader({
    client: server as unknown as Client,
    images: new CatalogImages(images, () => fetched.resolve()),
    store: new FakeStore() as unknown as CatalogStore,
    externalUrl: "http://catalogd",
    replica: registerReplicaMetrics(metrics),
    reported,
    log,
    requeueAfter: () => undefined,
  });
});

/** Reconciles the catalog until its image is fetched, and returns the series with the time of its last poll. */
async function poll(exists = true): Promise<string[]> {
  const { signal } = new AbortController();
  const pass = (): ReturnType<CatalogLeader["reconcile"]> => leader.reconcile(NAME, exists ? server.catalog : undefined, log, signal);
  fetched = Promise.withResolvers();
  const pending = (await pass().catch(() => undefined))?.isPending;
  if (pending) await fetched.promise.then(() => pass().catch(() => undefined));
  reported.report(NAME, undefined, leader.polledAt(NAME));
  return (await metrics.text()).split("\n").filter((line) => line.startsWith("catalogd_catalog_last_poll_timestamp_seconds{"));
}

test("the time of the last poll is reported for a catalog with a poll interval, and kept when polls fail", async () => {
  const [series] = await poll();
  expect(series).toMatch(/^catalogd_catalog_last_poll_timestamp_seconds\{catalog="test"\} \d+/);
  images.failure = new Error("no route to host");
  server.edit({ priority: 3 });
  expect(await poll()).toEqual([series]);
});

test.for<[string, () => void]>([
  ["its poll interval is removed", () => server.edit({ source: { type: "Image", image: { ref: REF } } })],
  ["it is disabled", () => server.edit({ availabilityMode: "Unavailable" })],
  ["this process no longer leads", () => leader.forget()],
])("the time of the last poll of a catalog is removed when %s", async ([, change]) => {
  expect(await poll()).toHaveLength(1);
  change();
  images.failure = new Error("no route to host");
  expect(await poll()).toEqual([]);
});

test("the time of the last poll of a catalog is removed when it is deleted", async () => {
  expect(await poll()).toHaveLength(1);
  expect(await poll(false)).toEqual([]);
});

test("no time is reported for a catalog without a poll interval", async () => {
  server.edit({ source: { type: "Image", image: { ref: REF } } });
  expect(await poll()).toEqual([]);
  expect(images.calls).toContain(`pull ${NAME} ${REF}`);
});
