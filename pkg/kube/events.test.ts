import { afterEach, expect, test, vi } from "vitest";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import type { KubeObject } from "../api/k8s.ts";
import { Client } from "./client.ts";
import { EventRecorder, EventSeries } from "./events.ts";

const EXTENSION: KubeObject = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", metadata: { name: "x", uid: "u1" } };

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of open.splice(0)) await close();
});

async function start(response: () => Answer = () => ({})) {
  const discovery = { json: { resources: [{ name: "events", kind: "Event", namespaced: true }] } };
  const api = await LoopbackApi.start(({ url }) => (url === "/api/v1" ? discovery : response()));
  const client = Client.of(api.credentials());
  open.push(
    () => client.close(),
    () => api[Symbol.asyncDispose](),
  );
  const lines: object[] = [];
  const log = { debug: (fields: object) => void lines.push(fields) };
  const recorder = new EventRecorder(client, { component: "operator-controller", log, now: () => Date.parse("2026-01-01T00:00:00.9Z") });
  return { recorder, api, lines };
}

test("EventRecorder sets object, source and time in whole seconds", async () => {
  const { recorder, api } = await start();
  recorder.record(EXTENSION, "Normal", "Installed", "installed bundle x.v1.0.0");
  await recorder.flush();
  const { method, url, body = "" } = api.requests.at(-1) ?? {};
  expect([method, url]).toEqual(["POST", "/api/v1/namespaces/default/events"]);
  expect(JSON.parse(body)).toEqual({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: expect.stringMatching(/^x\.[0-9a-f]{16}$/), namespace: "default" },
    involvedObject: { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "x", uid: "u1" },
    type: "Normal",
    reason: "Installed",
    message: "installed bundle x.v1.0.0",
    source: { component: "operator-controller" },
    reportingComponent: "operator-controller",
    reportingInstance: "",
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    count: 1,
  });
});

test("EventRecorder increments the count of a repeated event", async () => {
  const { recorder, api } = await start();
  for (let i = 0; i < 3; i++) recorder.record(EXTENSION, "Warning", "Failed", "no");
  await recorder.flush();
  const name = (JSON.parse(api.requests[1]?.body ?? "") as KubeObject).metadata.name;
  expect(api.log).toEqual([
    "GET /api/v1",
    "POST /api/v1/namespaces/default/events",
    `PATCH /api/v1/namespaces/default/events/${name}`,
    `PATCH /api/v1/namespaces/default/events/${name}`,
  ]);
  expect(JSON.parse(api.requests[3]?.body ?? "")).toMatchObject({ count: 3 });
});

test("EventRecorder creates an expired event again with its count", async () => {
  let gone = false;
  const { recorder, api } = await start(() => (gone ? statusAnswer(404, "NotFound", "gone", { name: "e", kind: "events" }) : {}));
  recorder.record(EXTENSION, "Normal", "A", "m");
  await recorder.flush();
  gone = true;
  recorder.record(EXTENSION, "Normal", "A", "m");
  await recorder.flush();
  expect(api.log.map((line) => line.split(" ")[0])).toEqual(["GET", "POST", "PATCH", "POST"]);
  expect(JSON.parse(api.requests[3]?.body ?? "")).toMatchObject({ count: 2 });
});

test("EventRecorder logs a rejected write and does not throw", async () => {
  const { recorder, lines } = await start(() => statusAnswer(403, "Forbidden", "events is forbidden"));
  recorder.record(EXTENSION, "Normal", "A", "m");
  await recorder.flush();
  expect(lines).toEqual([{ object: "olm.operatorframework.io/v1/ClusterExtension//x", reason: "A", error: "events is forbidden" }]);
});

const occurrence = (message: string, uid = "u"): Parameters<EventSeries["next"]>[0] => ({ uid, type: "Normal", reason: "R", message });

test("EventRecorder combines many similar events of one object", () => {
  const series = new EventSeries(() => 0);
  const writes = Array.from({ length: 14 }, (_, i) => series.next(occurrence(`message ${i}`)));
  expect(writes.slice(0, 10).every((write) => write?.count === 1)).toBe(true);
  expect(writes.slice(10).map((write) => [write?.count, write?.message])).toEqual([
    [1, "(combined from similar events): message 10"],
    [2, "(combined from similar events): message 11"],
    [3, "(combined from similar events): message 12"],
    [4, "(combined from similar events): message 13"],
  ]);
  expect(new Set(writes.slice(10).map((write) => write?.id)).size).toBe(1);
});

test("EventRecorder limits the events of one object without affecting other objects", () => {
  let now = 0;
  const series = new EventSeries(() => now);
  const written = Array.from({ length: 100 }, () => series.next(occurrence("m"))).filter((write) => write !== undefined);
  expect(written).toHaveLength(25);
  expect(series.next(occurrence("m", "other"))).toMatchObject({ count: 1 });
  now += 299_000;
  expect(series.next(occurrence("m"))).toBeUndefined();
  now += 2_000;
  expect(series.next(occurrence("m"))).toMatchObject({ count: 26 });
});

test("EventRecorder truncates a long message", () => {
  expect(new EventSeries(() => 0).next(occurrence("x".repeat(5_000)))?.message).toHaveLength(1_024);
});

test("EventRecorder creates a new event when an event is repeated after more than ten minutes", () => {
  let now = 0;
  const series = new EventSeries(() => now);
  const first = series.next(occurrence("m"));
  now = 600_000;
  const soon = series.next(occurrence("m"));
  expect([soon?.id, soon?.count]).toEqual([first?.id, 2]);
  now += 600_001;
  const late = series.next(occurrence("m"));
  expect([late?.id === first?.id, late?.count, late?.firstAt]).toEqual([false, 1, now]);
});

test("EventSeries frees memory when its entries expire", () => {
  vi.useFakeTimers();
  const series = new EventSeries(Date.now);
  for (let i = 0; i < 20; i++) series.next(occurrence("m", `object ${i}`));
  expect(series.size).toBe(60);
  vi.advanceTimersByTime(601_000);
  expect(series.size).toBe(20);
  vi.advanceTimersByTime(25 * 300_000);
  expect(series.size).toBe(0);
});
