import { afterEach, expect, test } from "vitest";
import { refusal } from "../../test/support/extensionFakes.ts";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { flushPromises, WatchedKind } from "../../test/support/watchedKind.ts";
import type { GroupVersionKind } from "../api/k8s.ts";
import { parsePullReference } from "../oci/reference.ts";
import { CLUSTER_IMAGE, MIRROR_KINDS } from "../oci/registries/registryObjects.ts";
import { findRegistryRefusal } from "../oci/registries/registrySettings.ts";
import { createLogger } from "../telemetry/log.ts";
import { ClusterRegistries } from "./clusterRegistries.ts";
import type { OptionalKindClient } from "./optionalKind.ts";

const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

const FORBIDDEN = refusal(403, "Forbidden", "images.config.openshift.io is forbidden");
const OFFLINE = new Error("connect ECONNREFUSED");

/** Follows the settings of a cluster that serves only Image `cluster`; `prepare` changes its kinds before. */
async function follow(prepare: (image: WatchedKind, mirrors: readonly WatchedKind[]) => void = () => undefined) {
  const image = new WatchedKind(CLUSTER_IMAGE);
  const mirrors = MIRROR_KINDS.map((gvk) => new WatchedKind(gvk));
  for (const kind of mirrors) kind.served = false;
  prepare(image, mirrors);
  const of = ({ kind }: GroupVersionKind): WatchedKind => mirrors[MIRROR_KINDS.findIndex((gvk) => gvk.kind === kind)] ?? image;
  const client: OptionalKindClient = {
    resourceFor: (gvk) => of(gvk).resourceFor(),
    list: (gvk) => of(gvk).list(),
    watch: (gvk, options) => of(gvk).watch(gvk, options),
  };
  const clock = new FakeClock();
  const log = createLogger({ component: "test", level: "silent" });
  const registries = new ClusterRegistries({ client, configMap: undefined, log, clock });
  let changes = 0;
  registries.onChange(() => void changes++);
  const ended = new AbortController();
  stop.push(ended);
  void registries.run(ended.signal);
  await flushPromises();
  /** Returns the reason why an image is rejected. */
  const refused = async (text = "quay.io/ns/app:v1"): Promise<string | undefined> =>
    findRegistryRefusal(await registries.settings(AbortSignal.timeout(1000)), parsePullReference(text))?.reason;
  const later = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await flushPromises();
  };
  return { image, refused, later, changes: () => changes };
}

const blocksQuay = { metadata: { name: "cluster" }, spec: { registrySources: { blockedRegistries: ["quay.io"] } } };

test.for<[what: string, prepare: (image: WatchedKind) => void]>([
  ["does not serve its kind", (image) => void (image.served = false)],
  ["does not contain it", () => undefined],
])("ClusterRegistries rejects no image because of Image cluster when the cluster %s", async ([, prepare]) => {
  const { refused } = await follow(prepare);
  expect(await refused()).toBeUndefined();
});

test("ClusterRegistries rejects every image while access to Image cluster is denied, and reports the change after that", async () => {
  const { image, refused, later, changes } = await follow((kind) => void (kind.refusal = FORBIDDEN));
  await later(100);
  expect([await refused(), changes()]).toEqual(["PolicyUnreadable", 1]);
  image.refusal = undefined;
  await later(60_000);
  await later(100);
  expect([await refused(), changes()]).toEqual([undefined, 2]);
});

test("ClusterRegistries rejects every image when the API server does not respond for ten seconds, and reports the change after that", async () => {
  const { image, refused, later, changes } = await follow((kind) => void (kind.refusal = OFFLINE));
  const waiting = refused();
  await later(10_000);
  expect([await waiting, changes()]).toEqual(["PolicyUnreadable", 1]);
  image.refusal = undefined;
  await later(60_000);
  await later(100);
  expect([await refused(), changes()]).toEqual([undefined, 2]);
});

test.for([FORBIDDEN, OFFLINE])("ClusterRegistries keeps the last known Image cluster when a later read fails with %s", async (failure) => {
  const { image, refused, later } = await follow((kind) => void kind.put(blocksQuay));
  image.refusal = failure;
  image.endWatches(new Error("other side closed"));
  await later(120_000);
  expect([await refused(), await refused("ghcr.io/ns/app:v1")]).toEqual(["RegistryBlocked", undefined]);
});

test("ClusterRegistries rejects no image while access to mirror sets is denied", async () => {
  const { refused } = await follow((_image, mirrors) => {
    for (const kind of mirrors) Object.assign(kind, { served: true, refusal: FORBIDDEN });
  });
  expect(await refused()).toBeUndefined();
});
