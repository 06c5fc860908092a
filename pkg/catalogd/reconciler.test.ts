import { tmpdir } from "node:os";
import { beforeEach, expect, test } from "vitest";
import { FakeCatalogServer, FakeImages, FakeStore } from "../../test/support/catalogFakes.ts";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { findCondition } from "../api/conditions.ts";
import { API_VERSION, FINALIZER_DELETE_SERVER_CACHE, LABEL_METADATA_NAME } from "../api/constants.ts";
import { StatusWriter } from "../controller/statusWriter.ts";
import { type StepResult, StepSequence } from "../controller/stepSequence.ts";
import { TerminalError } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { createLogger } from "../telemetry/log.ts";
import { CatalogImages, fetchImage } from "./catalogImages.ts";
import { CatalogMetadata, ensureMetadata, withdraw } from "./finalizer.ts";
import type { Phase, Started } from "./phases.ts";
import { CatalogReconciler } from "./reconciler.ts";
import { computeCatalogEvents } from "./status.ts";
import { storeContent } from "./storeContent.ts";

const MINUTE = 60_000;
const REF = "quay.io/c:v1";
const log = createLogger({ component: "test", level: "silent" });

let server: FakeCatalogServer;
let images: FakeImages;
let store: FakeStore;
let events: string[];
let now: number;
let comingBack: [name: string, afterMs: number][];
let reconciler: CatalogReconciler;
let fetched: PromiseWithResolvers<void>;

function newReconciler(): CatalogReconciler {
  const client = server as unknown as Pick<Client, "get" | "patch">;
  const metadata = new CatalogMetadata(client);
  const recorder = { record: (_object: unknown, type: string, reason: string) => void events.push(`${type} ${reason}`) };
  const polls = new Map();
  const source = new CatalogImages(images, () => fetched.resolve());
  return new CatalogReconciler({
    statuses: new StatusWriter({ client, events: recorder, describe: computeCatalogEvents }),
    metadata,
    contents: store,
    polls,
    baseOf: (name) => `http://catalogd/catalogs/${name}`,
    now: () => now,
    random: () => 0.5,
    requeueAfter: (name, afterMs) => void comingBack.push([name, afterMs]),
    steps: StepSequence.from<Started, Phase>()
      .step(withdraw([store, source]))
      .step(ensureMetadata(metadata))
      .step(fetchImage({ images: source, contents: store, polls, now: () => now }))
      .step(storeContent({ store, images: source, events: recorder })),
  });
}

beforeEach(() => {
  const image = { ref: REF, pollIntervalMinutes: 10 };
  server = new FakeCatalogServer({
    apiVersion: API_VERSION,
    kind: "ClusterCatalog",
    metadata: { name: "test" },
    spec: { source: { type: "Image", image } },
  });
  images = new FakeImages(tmpdir());
  images.digests.set(REF, "sha256:1");
  store = new FakeStore();
  events = [];
  comingBack = [];
  now = Date.UTC(2026, 1, 3);
  reconciler = newReconciler();
});

/** Runs a reconcile and, if it starts a fetch, the reconcile that follows the fetch. */
async function pass(old?: ClusterCatalog): Promise<StepResult> {
  fetched = Promise.withResolvers();
  const { signal } = new AbortController();
  const result = await reconciler.reconcile(old ?? server.catalog, log, signal);
  if (!result?.isPending) return result;
  await fetched.promise;
  return reconciler.reconcile(old ?? server.catalog, log, signal);
}
const progressing = (): string | undefined => findCondition(server.catalog.status?.conditions, "Progressing")?.reason;
function asked(): string[] {
  return images.calls.splice(0);
}

test("first reconcile sets the metadata, stores the content and schedules the next poll", async () => {
  expect(await pass()).toEqual({ requeueAfterMs: 10 * MINUTE + 3_001 });
  const { metadata, status } = server.catalog;
  expect([metadata.finalizers, metadata.labels]).toEqual([[FINALIZER_DELETE_SERVER_CACHE], { [LABEL_METADATA_NAME]: "test" }]);
  expect(status).toMatchObject({
    resolvedSource: { type: "Image", image: { ref: "quay.io/c@sha256:1" } },
    urls: { base: "http://catalogd/catalogs/test" },
    lastUnpacked: "2026-01-02T03:04:05Z",
  });
  expect([asked(), store.stored, events]).toEqual([
    [`resolve ${REF}`, `pull test ${REF}`, "remove test"],
    ["test sha256:1"],
    ["Normal ContentStored"],
  ]);
});

test("reconcile does not write results to a catalog that was recreated with the same name meanwhile", async () => {
  await pass();
  const old = server.catalog;
  const { status: _, ...fresh } = server.catalog;
  server.catalog = { ...fresh, metadata: { ...fresh.metadata, uid: "other" } };
  images.digests.set(REF, "sha256:2");
  now += 11 * MINUTE;
  await pass(old);
  expect(server.catalog.status).toBeUndefined();
});

test("reconcile without changes sends no requests to the registry and writes nothing", async () => {
  await pass();
  asked();
  server.patches.length = 0;
  now += 4 * MINUTE;
  expect(await pass()).toEqual({ requeueAfterMs: 6 * MINUTE + 3_001 });
  expect([asked(), server.patches, store.stored.length]).toEqual([[], [], 1]);
});

test("poll resolves the tag when the interval has elapsed, and pulls the image only if the digest is new", async () => {
  await pass();
  asked();
  now += 10 * MINUTE + 1;
  expect(await pass()).toEqual({ requeueAfterMs: 10 * MINUTE + 3_001 });
  expect([asked(), store.stored]).toEqual([[`resolve ${REF}`], ["test sha256:1"]]);
  images.digests.set(REF, "sha256:2");
  now += 10 * MINUTE + 1;
  await pass();
  expect([asked(), store.stored]).toEqual([
    [`resolve ${REF}`, `pull test ${REF}`, "remove test"],
    ["test sha256:1", "test sha256:2"],
  ]);
  expect(server.catalog.status?.resolvedSource?.image.ref).toBe("quay.io/c@sha256:2");
});

test("reconcile after a spec change resolves the tag and sets the new generation in the conditions", async () => {
  await pass();
  asked();
  server.edit({ priority: 3 });
  await pass();
  expect(asked()).toEqual([`resolve ${REF}`]);
  expect(server.catalog.status?.conditions?.map(({ observedGeneration }) => observedGeneration)).toEqual([2, 2, 2, 2]);
});

test("failed reconcile reports the failure, keeps the content, and retries before the interval has elapsed", async () => {
  await pass();
  asked();
  images.failure = new Error("no route to host");
  now += 10 * MINUTE + 1;
  await expect(pass()).rejects.toThrow("source catalog content: no route to host");
  expect([progressing(), server.catalog.status?.resolvedSource?.image.ref]).toEqual(["Retrying", "quay.io/c@sha256:1"]);
  images.failure = undefined;
  now += 1_000;
  asked();
  await pass();
  expect([asked(), progressing(), store.stored.length]).toEqual([[`resolve ${REF}`], "Succeeded", 1]);
  expect(events).toEqual(["Normal ContentStored", "Warning Retrying", "Normal Recovered"]);
});

test("reconcile reports invalid content and keeps the stored content", async () => {
  await pass();
  store.failure = new TerminalError("Blocked", "a.yaml: document 2, line 3: broken");
  images.digests.set(REF, "sha256:2");
  server.edit({ priority: 1 });
  await expect(pass()).rejects.toThrow("error storing fbc: error walking FBC root: a.yaml: document 2, line 3: broken");
  expect([progressing(), store.get("test")?.origin.digest]).toEqual(["Retrying", "sha256:1"]);
});

test("reconcile after a restart does not pull stored content again", async () => {
  await pass();
  asked();
  server.patches.length = 0;
  reconciler = newReconciler();
  await pass();
  expect([asked(), server.patches]).toEqual([[`resolve ${REF}`], []]);
});

test("reconcile corrects a changed status without a request to the registry", async () => {
  await pass();
  asked();
  const { status: before, ...rest } = server.catalog;
  server.catalog = rest;
  await pass();
  expect([asked(), server.catalog.status]).toEqual([[], before]);
});

test("reconcile stops on a conflict, because the conflicting change triggers another reconcile", async () => {
  const stale = server.catalog;
  server.catalog = { ...stale, metadata: { ...stale.metadata, resourceVersion: "9" } };
  expect(await reconciler.reconcile(stale, log, new AbortController().signal)).toEqual({ requeueAfterMs: 1_000 });
  expect([asked(), server.catalog.status]).toEqual([[], undefined]);
});

test("deletion removes the content, updates the status, and then removes its own finalizer", async () => {
  await pass();
  asked();
  const { metadata } = server.catalog;
  const finalizers = ["other/finalizer", ...(metadata.finalizers ?? [])];
  server.catalog = { ...server.catalog, metadata: { ...metadata, finalizers, deletionTimestamp: "2026-02-03T00:00:00Z" } };
  expect(await pass()).toBeUndefined();
  expect([store.get("test"), asked(), server.catalog.metadata.finalizers]).toEqual([undefined, ["remove test"], ["other/finalizer"]]);
  expect([findCondition(server.catalog.status?.conditions, "Serving")?.reason, server.catalog.status?.urls]).toEqual([
    "Unavailable",
    undefined,
  ]);
  server.patches.length = 0;
  await pass();
  expect([server.patches, asked()]).toEqual([[], []]);
});

test("deletion keeps the finalizer when the content cannot be removed", async () => {
  await pass();
  store.remove = () => Promise.reject(new Error("device busy"));
  server.catalog = { ...server.catalog, metadata: { ...server.catalog.metadata, deletionTimestamp: "2026-02-03T00:00:00Z" } };
  await expect(pass()).rejects.toThrow('finalizer "olm.operatorframework.io/delete-server-cache" failed: device busy');
  expect([server.catalog.metadata.finalizers, progressing()]).toEqual([[FINALIZER_DELETE_SERVER_CACHE], "Retrying"]);
});

test("reconcile removes the content of an unavailable catalog, and stores it again when the catalog becomes available", async () => {
  await pass();
  server.edit({ availabilityMode: "Unavailable" });
  expect(await pass()).toBeUndefined();
  expect([server.catalog.metadata.finalizers, store.get("test"), progressing()]).toEqual([[], undefined, "Succeeded"]);
  server.patches.length = 0;
  await pass();
  expect(server.patches).toEqual([]);
  server.edit({ availabilityMode: "Available" });
  await pass();
  expect([server.catalog.metadata.finalizers, store.stored.length]).toEqual([[FINALIZER_DELETE_SERVER_CACHE], 2]);
});

test.for<[string, object, string]>([
  ["another source type", { source: { type: "Git" } }, 'terminal error: unknown source type "Git"'],
  ["no image", { source: { type: "Image" } }, 'terminal error: error parsing ClusterCatalog "test", image source is nil'],
])("reconcile reports reason Blocked for %s", async ([, spec, message]) => {
  server.edit(spec);
  await expect(pass()).rejects.toThrow();
  expect(findCondition(server.catalog.status?.conditions, "Progressing")).toMatchObject({ status: "False", reason: "Blocked", message });
});

test("reconcile sets no name label when the name is too long for a label", async () => {
  server.catalog = { ...server.catalog, metadata: { ...server.catalog.metadata, name: "x".repeat(64) } };
  await pass();
  expect(server.catalog.metadata.labels).toBeUndefined();
});

test("terminal error does not stop polling", async () => {
  images.failure = new TerminalError("Blocked", "error parsing image reference");
  await expect(pass()).rejects.toThrow("error parsing image reference");
  expect([progressing(), comingBack]).toEqual(["Blocked", [["test", 10 * MINUTE + 3_001]]]);
  images.failure = undefined;
  await pass();
  expect([progressing(), comingBack.length]).toEqual(["Succeeded", 1]);
});

test("terminal error without an interval does not requeue", async () => {
  server.edit({ source: { type: "Image", image: { ref: REF } } });
  images.failure = new TerminalError("Blocked", "error parsing image reference");
  await expect(pass()).rejects.toThrow("error parsing image reference");
  expect(comingBack).toEqual([]);
});
