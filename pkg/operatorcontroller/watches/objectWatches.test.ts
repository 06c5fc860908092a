import { afterEach, expect, test } from "vitest";
import { refusal } from "../../../test/support/extensionFakes.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { WatchedObjects } from "../../../test/support/watchedObjects.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
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
  const woken: string[] = [];
  const events: ObjectEvent[] = [];
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  const log = createLogger({ component: "test", level: "debug", destination });
  const watches = new ObjectWatches({
    log,
    clock,
    requeueAfter: (extension, inMs) => woken.push(`${extension} in ${inMs}`),
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
      objects.map((object) => ({ ref: refOf(object), mark: createMark(object.metadata), outcome: "same" as const })),
    );
  const suspects = (extension = "x"): string[] =>
    watches
      .suspects(extension)
      .map(({ name }) => name)
      .sort();
  const isOpen = (count: number): Promise<void> => expect.poll(() => [server.open, watches.states.open], SOON).toEqual([count, count]);
  return { server, clock, lines, woken, events, watches, identity, follow, suspects, isOpen };
}

test("a deleted and a changed object are suspected, and a pass is asked for", async () => {
  const { server, woken, events, follow, suspects, isOpen, watches } = start();
  const [a, b, c] = ["a", "b", "c"].map((name) => server.put(map(name)));
  follow("x", [a!, b!, c!]);
  await isOpen(1);
  expect([suspects(), woken]).toEqual([[], []]);
  server.delete(a!);
  server.put(b!);
  await expect.poll(() => suspects(), SOON).toEqual(["a", "b"]);
  expect(woken[0]).toBe("x in 50");
  expect(events.map(({ extension, ref, type }) => `${extension} ${ref.name} ${type}`)).toEqual(["x a deleted", "x b changed"]);
  const again = server.put(map("a"));
  watches.resume("x", [{ ref: refOf(again), mark: createMark(again.metadata), outcome: "corrected" }]);
  expect(suspects()).toEqual(["b"]);
});

test("our own writes are not suspected, whether they are seen before or after the pass ends", async () => {
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
    written.map((object) => ({ ref: refOf(object), mark: createMark(object.metadata), outcome: "corrected" })),
  );
  expect([suspects(), events]).toEqual([[], []]);
  server.put(written[0]!);
  await expect.poll(() => suspects(), SOON).toEqual(["a"]);
});

test("what others do while a pass writes is judged when it ends", async () => {
  const { server, follow, suspects, isOpen, watches } = start();
  const a = server.put(map("a"));
  follow("x", [a]);
  await isOpen(1);
  watches.hold("x");
  const ours = server.put(a);
  server.delete(a);
  await expect.poll(() => server.calls.length, SOON).toBe(2);
  expect(suspects()).toEqual([]);
  watches.resume("x", [{ ref: refOf(ours), mark: createMark(ours.metadata), outcome: "corrected" }]);
  await expect.poll(() => suspects(), SOON).toEqual(["a"]);
});

test("what happened before the watch was open is found by its list", async () => {
  const { server, follow, suspects, isOpen } = start();
  const [a, b] = ["a", "b"].map((name) => server.put(map(name)));
  server.delete(a!);
  server.put(b!);
  follow("x", [a!, b!]);
  await isOpen(1);
  await expect.poll(() => suspects(), SOON).toEqual(["a", "b"]);
});

test("an object that joins an open stream is listed anew", async () => {
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

test("where watching as a whole is refused, each object is watched by name, and it is not tried again", async () => {
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

test("where watching by name is refused too the objects are told, and a pass when that changes", async () => {
  const { server, clock, woken, follow, isOpen, watches } = start();
  server.refuses = () => true;
  const a = server.put(map("a"));
  follow("x", [a]);
  await expect.poll(() => watches.unwatched("x"), SOON).toEqual([{ ref: refOf(a), reason: "cannot list ConfigMap metadata.name=a" }]);
  expect([watches.covers("x"), woken]).toEqual([false, ["x in 50"]]);
  server.refuses = () => false;
  await expect.poll(() => (clock.advance(500), watches.states.open), SOON).toBe(1);
  await isOpen(1);
  expect([watches.unwatched("x"), woken]).toEqual([[], ["x in 50", "x in 50"]]);
});

test("an extension is covered while its objects are watched, or will be as soon as streams are connected", async () => {
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

test("a broken stream goes on where it broke, and is listed anew when that fails or history is gone", async () => {
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

test("a stream lists again at once, and is never broken, when its resourceVersion has expired by the time its watch ends", async () => {
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
  expect(lines.filter(({ msg }) => msg === "watch of objects interrupted")).toEqual([]);
});

test("of many streams that cannot be connected one speaks for the others", async () => {
  const { server, clock, watches, follow, identity, isOpen, lines } = start();
  const maps = ["a", "b", "c"].map((name) => server.put(map(name, name, name)));
  for (const one of maps) follow(one.metadata.name, [one], identity(`${one.metadata.name}/installer`));
  await isOpen(3);
  server.failure = new Error("connect ECONNREFUSED");
  server.cut(new Error("other side closed"));
  const interrupted = (level: number): unknown[] =>
    lines.filter((line) => line["msg"] === "watch of objects interrupted" && line["level"] === level);
  await expect.poll(() => (clock.advance(1_000), interrupted(20).length), SOON).toBeGreaterThan(8);
  expect(interrupted(40)).toHaveLength(1);
  expect(watches.states.broken).toBe(3);
});

test("refusals of an API server that has just started are not believed of what was watched; lasting ones are", async () => {
  const { server, clock, woken, follow, suspects, isOpen, watches } = start();
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
  expect(woken.length).toBeGreaterThan(0);
});

test("extensions of one ServiceAccount share a stream, which ends with the last of them", async () => {
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

test("with another identity or another extension of the name everything begins anew", async () => {
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

test("there are no more streams than may be; what has none is told", async () => {
  const { server, follow, isOpen, watches } = start({ maxStreams: 1 });
  const objects = [server.put(map("a", "x", "n1")), server.put(map("b", "x", "n2"))];
  follow("x", objects);
  await isOpen(1);
  expect(watches.unwatched("x")).toEqual([{ ref: refOf(objects[1]!), reason: "the limit of watched objects is reached" }]);
});

test("an identity that may look at kinds everywhere serves all extensions, but for Secrets and what it may not look at", async () => {
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
