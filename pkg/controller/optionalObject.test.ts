import { afterEach, expect, test } from "vitest";
import { refusal } from "../../test/support/extensionFakes.ts";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { flushPromises, WatchedKind } from "../../test/support/watchedKind.ts";
import { createLogger } from "../telemetry/log.ts";
import { OptionalObject } from "./optionalObject.ts";

const THING = { apiVersion: "g.io/v1", kind: "Thing", name: "one" };
const stop: AbortController[] = [];
afterEach(() => stop.splice(0).forEach((each) => each.abort()));

async function follow(prepare: (kind: WatchedKind) => void = () => undefined) {
  const kind = new WatchedKind(THING);
  prepare(kind);
  const clock = new FakeClock();
  const object = new OptionalObject(kind, THING, { log: createLogger({ component: "test", level: "silent" }), clock });
  const states: string[] = [];
  object.onChange(() => void states.push(object.state.kind));
  const ended = new AbortController();
  stop.push(ended);
  void object.run(ended.signal);
  await flushPromises();
  const later = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await flushPromises();
  };
  return { kind, object, states, later };
}

test("OptionalObject reports when an object is created, changed and deleted", async () => {
  const { kind, object, states } = await follow();
  expect(object.state).toEqual({ kind: "absent" });
  kind.put({ metadata: { name: "one" }, spec: { a: 1 } });
  kind.put({ metadata: { name: "one" }, spec: { a: 2 } });
  await flushPromises();
  expect(object.state).toMatchObject({ kind: "present", object: { spec: { a: 2 } } });
  kind.remove("one");
  await flushPromises();
  expect(states).toEqual(["absent", "present", "present", "absent"]);
});

test("OptionalObject checks at most once a minute whether the kind is served, and then finds the object", async () => {
  const { kind, object, later } = await follow((kind) => (kind.served = false));
  expect(object.state).toEqual({ kind: "notServed" });
  await later(30_000);
  expect(kind.calls).toEqual(["discover"]);
  await later(30_000);
  expect(kind.calls).toEqual(["discover", "discover"]);
  kind.served = true;
  kind.put({ metadata: { name: "one" } });
  await later(60_000);
  expect(object.state.kind).toBe("present");
});

test("OptionalObject waits some seconds before it reports that a kind is no longer served", async () => {
  const { kind, object, states, later } = await follow((kind) => kind.put({ metadata: { name: "one" } }));
  kind.served = false;
  kind.endWatches();
  await later(2_000);
  expect(object.state.kind).toBe("present");
  await later(10_000);
  expect(object.state.kind).toBe("notServed");
  expect(states).toEqual(["present", "notServed"]);
});

test("OptionalObject ignores a short absence of a kind, as when the API server starts", async () => {
  const { kind, states, later } = await follow((kind) => kind.put({ metadata: { name: "one" } }));
  kind.served = false;
  kind.endWatches();
  await later(2_000);
  kind.served = true;
  await later(10_000);
  expect(states).toEqual(["present"]);
});

test("OptionalObject keeps its state when connections break, but not when access is denied", async () => {
  const { kind, object, later } = await follow((kind) => kind.put({ metadata: { name: "one" } }));
  kind.refusal = new Error("connect ECONNREFUSED");
  kind.endWatches(new Error("other side closed"));
  for (let i = 0; i < 5; i++) await later(30_000);
  expect(object.state.kind).toBe("present");
  kind.refusal = refusal(403, "Forbidden", "things is forbidden");
  for (let i = 0; i < 5; i++) await later(30_000);
  expect(object.state).toEqual({ kind: "unreadable", reason: "things is forbidden" });
  kind.refusal = undefined;
  for (let i = 0; i < 5; i++) await later(30_000);
  expect(object.state.kind).toBe("present");
});

// An API server that has just started denies access because it has not loaded the roles yet.
test.for([true, false])("OptionalObject ignores a short denial of access (kind is served: %s)", async (served) => {
  const { kind, states, later } = await follow((kind) => (kind.served = served));
  const before = [...states];
  kind.refusal = refusal(403, "Forbidden", "things is forbidden");
  kind.endWatches(new Error("other side closed"));
  await later(60_000);
  await later(1_000);
  kind.refusal = undefined;
  for (let i = 0; i < 5; i++) await later(60_000);
  expect(states).toEqual(before);
});

test("OptionalObject reports the last error before the first response", async () => {
  const { kind, object, later } = await follow((kind) => (kind.refusal = new Error("connect ECONNREFUSED")));
  expect(object.state).toEqual({ kind: "unknown", reason: "connect ECONNREFUSED" });
  kind.refusal = undefined;
  await later(1_000);
  expect(object.state).toEqual({ kind: "absent" });
});
