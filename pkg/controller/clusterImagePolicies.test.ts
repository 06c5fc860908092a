import { afterEach, expect, test } from "vitest";
import { refusal } from "../../test/support/extensionFakes.ts";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { flushPromises, WatchedKind } from "../../test/support/watchedKind.ts";
import type { GroupVersionKind } from "../api/k8s.ts";
import { getProblems } from "../errors/errors.ts";
import { CLUSTER_IMAGE_POLICY, IMAGE_POLICY } from "../oci/policy/imagePolicies.ts";
import { createLogger } from "../telemetry/log.ts";
import { ClusterImagePolicies } from "./clusterImagePolicies.ts";
import type { OptionalKindClient } from "./optionalKind.ts";

const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

const spec = (...scopes: string[]) => ({ scopes, policy: { rootOfTrust: { policyType: "PublicKey", publicKey: { keyData: "a2V5" } } } });

/** Follows policies of a cluster that serves the kinds; `prepare` changes them before. */
async function follow(prepare: (cluster: WatchedKind, namespaced: WatchedKind) => void = () => undefined) {
  const [cluster, namespaced] = [new WatchedKind(CLUSTER_IMAGE_POLICY), new WatchedKind(IMAGE_POLICY)];
  prepare(cluster, namespaced);
  const of = ({ kind }: GroupVersionKind): WatchedKind => (kind === CLUSTER_IMAGE_POLICY.kind ? cluster : namespaced);
  const client: OptionalKindClient = {
    resourceFor: (gvk) => of(gvk).resourceFor(),
    list: (gvk) => of(gvk).list(),
    watch: (gvk, options) => of(gvk).watch(gvk, options),
  };
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = createLogger({ component: "test", level: "info", destination: { write: (line) => void logged.push(line) } });
  const policies = new ClusterImagePolicies({ client, namespaced: true, log, clock });
  let changes = 0;
  policies.onChange(() => void changes++);
  const ended = new AbortController();
  stop.push(ended);
  void policies.run(ended.signal);
  await flushPromises();
  const read = () => policies.policies(AbortSignal.timeout(1000));
  /** Returns the scopes, or the reason of the rejection. */
  const scopes = (): Promise<string[]> =>
    read().then(
      (found) => [
        ...found.cluster.keys(),
        ...[...found.byNamespace].flatMap(([name, one]) => [...one.keys()].map((scope) => `${name}: ${scope}`)),
      ],
      (err: unknown) => getProblems(err).flatMap(({ details }) => details?.signatures?.map(({ reason }) => reason) ?? []),
    );
  const later = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await flushPromises();
  };
  return { cluster, namespaced, scopes, later, logged, changes: () => changes };
}

test("ClusterImagePolicies has no policies, and logs nothing, when the cluster does not serve the kinds", async () => {
  const { scopes, logged } = await follow((...kinds) => kinds.forEach((kind) => void (kind.served = false)));
  expect([await scopes(), logged]).toEqual([[], []]);
});

test("ClusterImagePolicies follows created, changed and deleted policies", async () => {
  const { cluster, namespaced, scopes, changes } = await follow();
  cluster.put({ metadata: { name: "a" }, spec: spec("quay.io") });
  namespaced.put({ metadata: { namespace: "team", name: "b" }, spec: spec("ghcr.io") });
  await flushPromises();
  expect([await scopes(), changes()]).toEqual([["quay.io", "team: ghcr.io"], 3]);
  cluster.put({ metadata: { name: "a" }, spec: spec("quay.io/ns") });
  await flushPromises();
  expect([await scopes(), changes()]).toEqual([["quay.io/ns", "team: ghcr.io"], 4]);
  cluster.remove("a");
  await flushPromises();
  expect([await scopes(), changes()]).toEqual([["team: ghcr.io"], 5]);
});

test("ClusterImagePolicies reports no change when only the status of a policy changes", async () => {
  const { cluster, changes } = await follow((kind) => kind.put({ metadata: { name: "a" }, spec: spec("quay.io") }));
  const before = changes();
  cluster.put({ metadata: { name: "a" }, spec: spec("quay.io"), status: { conditions: [] } });
  await flushPromises();
  expect(changes()).toBe(before);
});

test("ClusterImagePolicies logs a policy that cannot be used once", async () => {
  const { cluster, logged } = await follow((kind) => kind.put({ metadata: { name: "a" }, spec: { scopes: ["quay.io"] } }));
  cluster.put({ metadata: { name: "a" }, spec: { scopes: ["quay.io"] }, status: {} });
  await flushPromises();
  expect(logged.filter((line) => line.includes("image policy cannot be used"))).toHaveLength(1);
});

test("ClusterImagePolicies rejects every image while access is denied", async () => {
  const { cluster, scopes, later } = await follow(
    (kind) => (kind.refusal = refusal(403, "Forbidden", "clusterimagepolicies is forbidden")),
  );
  expect(await scopes()).toEqual(["PolicyUnreadable"]);
  cluster.refusal = undefined;
  await later(60_000);
  expect(await scopes()).toEqual([]);
});

test("ClusterImagePolicies rejects images when the API server does not respond for ten seconds", async () => {
  const { scopes, later } = await follow((kind) => (kind.refusal = new Error("connect ECONNREFUSED")));
  const waiting = scopes();
  await later(10_000);
  expect(await waiting).toEqual(["PolicyUnreadable"]);
});

test("ClusterImagePolicies keeps the policies when connections break", async () => {
  const { cluster, scopes, later } = await follow((kind) => kind.put({ metadata: { name: "a" }, spec: spec("quay.io") }));
  cluster.refusal = new Error("connect ECONNREFUSED");
  cluster.endWatches(new Error("other side closed"));
  await later(30_000);
  expect(await scopes()).toEqual(["quay.io"]);
});
