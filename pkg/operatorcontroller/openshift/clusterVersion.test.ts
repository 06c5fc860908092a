import { afterEach, describe, expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { flushPromises, WatchedKind } from "../../../test/support/watchedKind.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CLUSTER_VERSION, ClusterVersionSource, parseClusterVersion, toClusterVersion } from "./clusterVersion.ts";

const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

const versionObject = (status: unknown): KubeObject => ({ ...CLUSTER_VERSION, metadata: { name: "version", uid: "u" }, status });
const newVersion = (version: unknown) => versionObject({ desired: { version } });
const FLAG = parseClusterVersion("4.16");

// Source: G-02, G-08 and S1-34.
describe("clusterVersionFrom", () => {
  test.for([
    ["a cluster without ClusterVersions", { kind: "notServed" }, undefined, { kind: "none" }],
    ["a cluster without ClusterVersions, and a flag", { kind: "notServed" }, FLAG, { kind: "known", text: "4.16" }],
    ["no object, and a flag", { kind: "absent" }, FLAG, { kind: "known", text: "4.16" }],
    ["no object", { kind: "absent" }, undefined, { kind: "unknown", reason: 'ClusterVersion "version" does not exist' }],
    ["an object", { kind: "present", object: newVersion("4.18.0-rc.3+x") }, FLAG, { kind: "known", minor: { major: 4, minor: 18 } }],
    ["an object without status", { kind: "present", object: versionObject(undefined) }, FLAG, { kind: "unknown" }],
    ["an invalid version", { kind: "present", object: newVersion("latest") }, FLAG, { kind: "unknown" }],
    ["a version of another type", { kind: "present", object: newVersion(4.18) }, FLAG, { kind: "unknown" }],
    ["a denied request", { kind: "unreadable", reason: "forbidden" }, FLAG, { kind: "unknown" }],
    ["no response yet", { kind: "unknown" }, FLAG, { kind: "unknown" }],
  ] as const)("converts %s", ([, state, flag, expected]) => {
    expect(toClusterVersion(state, flag)).toMatchObject(expected);
  });

  test("toClusterVersion quotes only the start of an invalid version", () => {
    const version = toClusterVersion({ kind: "present", object: newVersion("x".repeat(10_000)) }, undefined);
    expect(version).toMatchObject({ kind: "unknown" });
    expect(JSON.stringify(version).length).toBeLessThan(1_000);
  });
});

function start(prepare: (kind: WatchedKind) => void) {
  const kind = new WatchedKind(CLUSTER_VERSION);
  prepare(kind);
  const clock = new FakeClock();
  const log = createLogger({ component: "test", level: "silent" });
  const source = new ClusterVersionSource({ client: kind, byFlag: undefined, log, clock });
  const seen: string[] = [];
  source.onChange(() => {
    const version = source.current();
    seen.push(version.kind === "known" ? version.text : version.kind);
  });
  let answered = false;
  void source.synced.then(() => (answered = true));
  const ended = new AbortController();
  stop.push(ended);
  void source.run(ended.signal);
  return { kind, clock, source, seen, isAnswered: () => answered };
}

test("ClusterVersionSource is synced after the first response, and returns later changes", async () => {
  const { kind, seen, isAnswered } = start((fake) => fake.put(newVersion("4.18.3")));
  expect(isAnswered()).toBe(false);
  await flushPromises();
  expect(isAnswered()).toBe(true);
  kind.put(newVersion("4.18.4"));
  kind.put({ ...newVersion("4.18.4"), spec: { channel: "stable-4.18" } });
  kind.put(newVersion("4.19.0"));
  await flushPromises();
  expect(seen).toEqual(["4.18.3", "4.18.4", "4.19.0"]);
});

test.for([
  ["a server that does not respond", new Error("connect ECONNREFUSED")],
  ["an unavailable server", refusal(503, "ServiceUnavailable", "etcd is away")],
] as const)("ClusterVersionSource is synced after ten seconds with %s", async ([, failure]) => {
  const { kind, clock, source, isAnswered } = start((fake) => (fake.refusal = failure));
  await flushPromises();
  expect(isAnswered()).toBe(false);
  clock.advance(10_000);
  await flushPromises();
  expect(isAnswered()).toBe(true);
  expect(source.current()).toEqual({ kind: "unknown", reason: `ClusterVersion "version" has not been read yet: ${failure.message}` });
  kind.refusal = undefined;
  kind.served = false;
  clock.advance(30_000);
  await flushPromises();
  expect(source.current()).toEqual({ kind: "none" });
});

test("ClusterVersionSource returns unknown without delay when reading the version is denied", async () => {
  const { source, isAnswered } = start((fake) => (fake.refusal = refusal(403, "Forbidden", "clusterversions is forbidden")));
  await flushPromises();
  expect(isAnswered()).toBe(true);
  expect(source.current()).toEqual({
    kind: "unknown",
    reason: 'ClusterVersion "version" cannot be read: clusterversions is forbidden',
  });
});
