import { afterEach, expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { WatchedObjects } from "../../../test/support/watchedObjects.ts";
import { type KubeObject, toObjectRef } from "../../api/k8s.ts";
import { createLogger } from "../../telemetry/log.ts";
import { createMark } from "./followedObjects.ts";
import { type ObjectEvent, ObjectWatches } from "./objectWatches.ts";
import type { WatchIdentity } from "./streamPool.ts";

const SOON = { timeout: 5_000, interval: 5 };
const open: ObjectWatches[] = [];
afterEach(() => {
  for (const watches of open.splice(0)) watches.close();
});

const labels = (extension: string): Record<string, string> => ({
  "olm.operatorframework.io/owner-kind": "ClusterExtension",
  "olm.operatorframework.io/owner-name": extension,
});
const map = (name: string, extension = "x", namespace = "ns"): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, labels: labels(extension) },
});

function start(options: { maxStreams?: number } = {}, central?: WatchedObjects) {
  const server = new WatchedObjects();
  const shared: WatchIdentity | undefined = central && { key: "controller", isController: true, client: central };
  const clock = new FakeClock();
  const requeued: string[] = [];
  const events: ObjectEvent[] = [];
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  const log = createLogger({ component: "test", level: "debug", destination });
  const watches = new ObjectWatches({
    log,
    clock,
    requeueAfter: (extension, inMs) => requeued.push(`${extension} in ${inMs}`),
    retryRefusedMs: 60_000,
    shared,
    ...options,
  });
  watches.onObjectEvent((event) => events.push(event));
  open.push(watches);
  const identity = (key = "ns/installer", isController = false): WatchIdentity => ({ key, isController, client: server });
  const follow = (extension: string, objects: readonly KubeObject[], by = identity()): void =>
    watches.follow(
      extension,
      "u",
      by,
      objects.map((object) => ({ ref: toObjectRef(object), mark: createMark(object.metadata), outcome: "same" as const })),
    );
  const suspects = (extension = "x"): string[] =>
    watches
      .suspects(extension)
      .map(({ name }) => name)
      .sort();
  const isOpen = (count: number): Promise<void> => expect.poll(() => [server.open, watches.states.open], SOON).toEqual([count, count]);
  return { server, clock, lines, requeued, events, watches, identity, follow, suspects, isOpen };
}

test("ObjectWatches requeues an extension when an object is deleted or changed", async () => {
  const { server, requeued, events, follow, suspects, isOpen, watches } = start();
  const [a, b, c] = ["a", "b", "c"].map((name) => server.put(map(name)));
  follow("x", [a!, b!, c!]);
  await isOpen(1);
  expect([suspects(), requeued]).toEqual([[], []]);
  server.delete(a!);
  server.put(b!);
  await expect.poll(() => suspects(), SOON).toEqual(["a", "b"]);
  expect(requeued[0]).toBe("x in 50");
  expect(events.map(({ extension, ref, type }) => `${extension} ${ref.name} ${type}`)).toEqual(["x a deleted", "x b changed"]);
  const again = server.put(map("a"));
  watches.resume("x", [{ ref: toObjectRef(again), mark: createMark(again.metadata), outcome: "corrected" }]);
  expect(suspects()).toEqual(["b"]);
});

test("ObjectWatches ignores the controller's own writes, before and after the reconcile ends", async () => {
  const { server, events, follow, suspects, isOpen, watches } = start();
  const [a, b] = ["a", "b"].map((name) => server.put(map(name)));
  follow("x", [a!, b!]);
  await isOpen(1);
  watches.hold("x");
  server.delete(a!);
  const written = [server.put(map("a")), server.put(b!)];
  await expect.poll(() => server.open, SOON).toBe(1);
  watches.resume(
    "x",
    written.map((object) => ({ ref: toObjectRef(object), mark: createMark(object.metadata), outcome: "corrected" })),
  );
  expect([suspects(), events]).toEqual([[], []]);
  server.put(written[0]!);
  await expect.poll(() => suspects(), SOON).toEqual(["a"]);
});

test("ObjectWatches reports a change that another client makes during the controller's own write when the write has ended", async () => {
  const { server, follow, suspects, isOpen, watches } = start();
  const a = server.put(map("a"));
  follow("x", [a]);
  await isOpen(1);
  watches.hold("x");
  const ours = server.put(a);
  server.delete(a);
  await expect.poll(() => server.calls.length, SOON).toBe(2);
  expect(suspects()).toEqual([]);
  watches.resume("x", [{ ref: toObjectRef(ours), mark: createMark(ours.metadata), outcome: "corrected" }]);
  await expect.poll(() => suspects(), SOON).toEqual(["a"]);
});

test("ObjectWatches detects changes that were made before the watch was open", async () => {
  const { server, follow, suspects, isOpen } = start();
  const [a, b] = ["a", "b"].map((name) => server.put(map(name)));
  server.delete(a!);
  server.put(b!);
  follow("x", [a!, b!]);
  await isOpen(1);
  await expect.poll(() => suspects(), SOON).toEqual(["a", "b"]);
});

test("ObjectWatches lists again when an object is added to an open watch", async () => {
  const { server, follow, suspects, isOpen } = start();
  const [a, b, c] = ["a", "b", "c"].map((name) => server.put(map(name)));
  follow("x", [a!, b!]);
  await isOpen(1);
  server.delete(c!);
  follow("x", [a!, b!, c!]);
  await expect.poll(() => suspects(), SOON).toEqual(["c"]);
  expect(server.calls.filter((call) => call.startsWith("list"))).toHaveLength(2);
  await isOpen(1);
});

test("ObjectWatches watches by name when a watch by label is denied, and does not retry it", async () => {
  const { server, follow, suspects, isOpen, watches } = start();
  server.refuses = (call) => call.includes("owner-");
  const [a, b] = ["a", "b"].map((name) => server.put(map(name)));
  follow("x", [a!, b!]);
  await isOpen(2);
  expect(watches.unwatched("x")).toEqual([]);
  server.delete(a!);
  await expect.poll(() => suspects(), SOON).toEqual(["a"]);
  follow("x", [b!]);
  follow("x", [a!, b!]);
  await isOpen(2);
  expect(server.calls.filter((call) => call.includes("owner-"))).toHaveLength(1);
});

test("ObjectWatches reports unwatched objects when watches by name are denied, and requeues when the watches are allowed", async () => {
  const { server, clock, requeued, follow, isOpen, watches } = start();
  server.refuses = () => true;
  const a = server.put(map("a"));
  follow("x", [a]);
  await expect.poll(() => watches.unwatched("x"), SOON).toEqual([{ ref: toObjectRef(a), reason: "cannot list ConfigMap metadata.name=a" }]);
  expect([watches.covers("x"), requeued]).toEqual([false, ["x in 50"]]);
  server.refuses = () => false;
  await expect.poll(() => (clock.advance(500), watches.states.open), SOON).toBe(1);
  await isOpen(1);
  expect([watches.unwatched("x"), requeued]).toEqual([[], ["x in 50", "x in 50"]]);
});

test("ObjectWatches.covers is true while the objects of an extension are watched or a watch is reconnecting", async () => {
  const { server, follow, isOpen, watches } = start();
  expect(watches.covers("x")).toBe(false);
  follow("x", [server.put(map("a"))]);
  expect([watches.states.open, watches.covers("x")]).toEqual([0, true]);
  await isOpen(1);
  expect(watches.covers("x")).toBe(true);
  server.cut(new Error("connection reset"));
  await expect.poll(() => watches.states.broken, SOON).toBe(1);
  expect(watches.covers("x")).toBe(true);
  watches.forget("x");
  expect(watches.covers("x")).toBe(false);
});

test("ObjectWatches.covers is false while the objects of an extension are being written, such as after a failed release", async () => {
  const { server, follow, isOpen, watches } = start();
  const a = server.put(map("a"));
  follow("x", [a]);
  await isOpen(1);
  watches.hold("x");
  expect(watches.covers("x")).toBe(false);
  watches.resume("x", []);
  expect(watches.covers("x")).toBe(true);
  watches.hold("x");
  follow("x", [a]);
  expect(watches.covers("x")).toBe(true);
});

test("ObjectWatches resumes a broken watch, and lists again when the watch cannot resume or its resourceVersion has expired", async () => {
  const { server, clock, follow, suspects, isOpen, watches } = start();
  const [a, b] = ["a", "b"].map((name) => server.put(map(name)));
  follow("x", [a!]);
  await isOpen(1);
  server.cut(new Error("connection reset"));
  await expect.poll(() => watches.states.broken, SOON).toBe(1);
  await expect.poll(() => (clock.advance(1_000), server.open), SOON).toBe(1);
  expect(server.calls.map((call) => call.split(" ")[0])).toEqual(["list", "watch", "watch"]);
  server.cut(refusal(410, "Expired"));
  await expect.poll(() => server.open, SOON).toBe(0);
  server.delete(a!);
  await expect.poll(() => (clock.advance(1_000), server.open), SOON).toBe(1);
  await expect.poll(() => suspects(), SOON).toEqual(["a"]);
  expect(b).toBeDefined();
});

test("ObjectWatches lists again immediately when the resourceVersion expired before the watch ended", async () => {
  const { server, clock, follow, suspects, isOpen, watches, lines } = start();
  const a = server.put(map("a"));
  follow("x", [a]);
  await isOpen(1);
  clock.advance(60_000);
  server.cut(); // the server ends each watch after some minutes
  await expect.poll(() => server.calls.length, SOON).toBe(3);
  server.delete(a);
  server.cut(refusal(410, "Expired"));
  await expect.poll(() => server.calls.map((call) => call.split(" ")[0]), SOON).toEqual(["list", "watch", "watch", "list", "watch"]);
  expect([suspects(), watches.states.open]).toEqual([["a"], 1]);
  expect(lines.filter(({ msg }) => msg === "object watch interrupted")).toEqual([]);
});

test("ObjectWatches logs one warning when many watches cannot connect", async () => {
  const { server, clock, watches, follow, identity, isOpen, lines } = start();
  const maps = ["a", "b", "c"].map((name) => server.put(map(name, name, name)));
  for (const one of maps) follow(one.metadata.name, [one], identity(`${one.metadata.name}/installer`));
  await isOpen(3);
  server.failure = new Error("connect ECONNREFUSED");
  server.cut(new Error("other side closed"));
  const interrupted = (level: number): unknown[] =>
    lines.filter((line) => line["msg"] === "object watch interrupted" && line["level"] === level);
  await expect.poll(() => (clock.advance(1_000), interrupted(20).length), SOON).toBeGreaterThan(8);
  expect(interrupted(40)).toHaveLength(1);
  expect(watches.states.broken).toBe(3);
});

test("ObjectWatches ignores the first denials of an open watch, but not repeated denials", async () => {
  const { server, clock, requeued, follow, suspects, isOpen, watches } = start();
  const [a, b] = ["a", "b"].map((name) => server.put(map(name)));
  follow("x", [a!, b!]);
  await isOpen(1);
  const cutAndRefuse = async (times: number): Promise<void> => {
    let refused = 0;
    server.refuses = () => refused++ < times;
    server.cut(new Error("connection reset"));
    await expect.poll(() => watches.states.open, SOON).toBe(0);
  };
  await cutAndRefuse(3);
  server.delete(a!);
  await expect.poll(() => (clock.advance(1_000), server.open), SOON).toBe(1);
  await expect.poll(() => suspects(), SOON).toEqual(["a"]);
  expect(server.calls.filter((call) => call.includes("metadata.name"))).toEqual([]);
  await cutAndRefuse(Number.POSITIVE_INFINITY);
  await expect.poll(() => (clock.advance(1_000), watches.states.refused), SOON).toBe(2);
  expect(watches.unwatched("x").map(({ reason }) => reason)).toEqual([
    "cannot list ConfigMap metadata.name=a",
    "cannot list ConfigMap metadata.name=b",
  ]);
  expect(requeued.length).toBeGreaterThan(0);
});

test("ObjectWatches shares a watch between extensions with the same ServiceAccount until the last of them is forgotten", async () => {
  const { server, follow, suspects, isOpen, watches } = start();
  const one = ["a", "b"].map((name) => server.put(map(name, "x")));
  const two = ["c", "d"].map((name) => server.put(map(name, "y")));
  follow("x", one);
  follow("y", two);
  follow("x", one);
  await isOpen(1);
  server.delete(one[0]!);
  server.delete(two[0]!);
  await expect.poll(() => [suspects("x"), suspects("y")], SOON).toEqual([["a"], ["c"]]);
  watches.forget("x");
  await isOpen(1);
  watches.forget("y");
  await isOpen(0);
});

test("ObjectWatches opens new watches when the ServiceAccount or the extension's uid changes", async () => {
  const { server, follow, identity, isOpen, watches } = start();
  const a = server.put(map("a"));
  follow("x", [a]);
  await isOpen(1);
  expect([
    watches.isFollowing("x", "u", "ns/installer"),
    watches.isFollowing("x", "v", "ns/installer"),
    watches.isFollowing("x", "u", "ns/b"),
  ]).toEqual([true, false, false]);
  watches.hold("x");
  expect(watches.isFollowing("x", "u", "ns/installer")).toBe(false);
  follow("x", [a], identity("ns/b"));
  await isOpen(1);
  expect(watches.isFollowing("x", "u", "ns/b")).toBe(true);
  expect(server.calls.filter((call) => call.startsWith("list"))).toHaveLength(2);
});

test("ObjectWatches reports unwatched objects when the limit of watches is reached", async () => {
  const { server, follow, isOpen, watches } = start({ maxStreams: 1 });
  const objects = [server.put(map("a", "x", "n1")), server.put(map("b", "x", "n2"))];
  follow("x", objects);
  await isOpen(1);
  expect(watches.unwatched("x")).toEqual([{ ref: toObjectRef(objects[1]!), reason: "the limit of object watches is reached" }]);
});

test("ObjectWatches watches all extensions with the shared client, except for Secrets and denied kinds", async () => {
  const central = new WatchedObjects();
  central.refuses = (call) => call.includes("Service ");
  const { server, follow, suspects, identity, watches } = start({}, central);
  const of = (kind: string, name: string, extension: string): KubeObject => ({ ...map(name, extension), kind });
  const put = (object: KubeObject): KubeObject => {
    central.put(object);
    return server.put(object);
  };
  const x = [of("ConfigMap", "a", "x"), of("Secret", "b", "x"), of("Service", "c", "x")].map(put);
  const y = [of("ConfigMap", "d", "y")].map(put);
  follow("x", x, identity("ns/x"));
  follow("y", y, identity("ns/y"));
  const opened = (of: WatchedObjects): string[] => of.calls.filter((call) => call.startsWith("watch")).sort();
  await expect
    .poll(() => [opened(central), opened(server)], SOON)
    .toEqual([
      ["watch ConfigMap olm.operatorframework.io/owner-kind=ClusterExtension"],
      ["watch Secret metadata.name=b", "watch Service metadata.name=c"],
    ]);
  await expect.poll(() => watches.unwatched("x"), SOON).toEqual([]);
  central.delete(x[0]!);
  central.delete(y[0]!);
  server.delete(x[1]!);
  server.delete(x[2]!);
  await expect.poll(() => [suspects("x"), suspects("y")], SOON).toEqual([["a", "b", "c"], ["d"]]);
});
