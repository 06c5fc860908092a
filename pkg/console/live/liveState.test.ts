import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import type { CatalogRow, LiveUpdate } from "../../consoleapi/live.ts";
import { LiveState } from "./liveState.ts";

const NOW = "2026-01-01T00:00:00Z";

function catalog(name: string): CatalogRow {
  return { name, uid: name, resourceVersion: "1", state: { text: "serving" }, image: "", priority: 0, labels: {}, findings: 0 };
}

function read(state: LiveState, id: string | undefined): LiveUpdate & { readonly id: string } {
  const next = state.readSince(id);
  if (!next) throw new Error("no update");
  return { ...(JSON.parse(/^data: (.*)$/m.exec(next.message.toString())?.[1] ?? "") as LiveUpdate), id: next.id };
}

test("LiveState sends all rows when the client has no identifier, and later only changes", () => {
  const state = new LiveState(NOW);
  state.catalogs.set(catalog("a"));
  const first = read(state, undefined);
  expect(first).toMatchObject({ isReset: true, catalogs: { changed: [{ name: "a" }] }, watches: { catalogs: { state: "loading" } } });
  expect(state.readSince(first.id)).toBeUndefined();
  state.catalogs.set(catalog("b"));
  state.catalogs.delete("a");
  expect(read(state, first.id)).toMatchObject({ isReset: false, catalogs: { changed: [{ name: "b" }], removed: ["a"] } });
});

test.each([
  { what: "is of another instance", id: (state: LiveState) => `${"0".repeat(8)}:${state.sequence}` },
  { what: "is not a number", id: (_: LiveState, own: string) => `${own.split(":")[0]}:x` },
  { what: "is of the future", id: (_: LiveState, own: string) => `${own.split(":")[0]}:999` },
  { what: "is empty", id: () => "" },
])("LiveState sends all rows when the identifier $what", ({ id }) => {
  const state = new LiveState(NOW);
  state.catalogs.set(catalog("a"));
  const own = read(state, undefined).id;
  expect(read(state, id(state, own))).toMatchObject({ isReset: true, catalogs: { changed: [{ name: "a" }] } });
});

test("LiveState notifies once when several rows and watches change together", async () => {
  const state = new LiveState(NOW);
  let calls = 0;
  const stop = state.onChange(() => calls++);
  state.setWatch("extensions", { state: "current", isLoaded: true, since: NOW });
  const forbidden = { state: "forbidden", message: "no", isLoaded: false } as const;
  state.setWatch("catalogs", { ...forbidden, since: NOW });
  state.setWatch("catalogs", { ...forbidden, since: "2026-01-02T00:00:00Z" });
  state.notify();
  await sleep(100);
  expect(calls).toBe(1);
  expect(read(state, undefined).watches.catalogs).toEqual({ ...forbidden, since: NOW });
  stop();
  state.notify();
  await sleep(100);
  expect(calls).toBe(1);
});

test("LiveState keeps the time of a disconnect when only the error changes", () => {
  const state = new LiveState(NOW);
  const lost = { state: "disconnected", failure: "unreachable", isLoaded: true } as const;
  state.setWatch("extensions", { ...lost, message: "refused", since: NOW });
  state.setWatch("extensions", { ...lost, message: "timed out", since: "2026-01-02T00:00:00Z" });
  expect(state.getWatch("extensions")).toEqual({ ...lost, message: "timed out", since: NOW });
});
