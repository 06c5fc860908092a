import { chmodSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { createLogger } from "../telemetry/log.ts";
import { GarbageCollector, unpackFolder } from "./garbageCollector.ts";

const log = createLogger({ component: "test", level: "silent" });
const signal = new AbortController().signal;

test("garbage collector removes entries of deleted catalogs, including read-only folders, and keeps the entry of a catalog created meanwhile", async () => {
  using folder = new TempFolder();
  const dir = folder.write("unpack", { "kept/sha256:1/x": "", "gone/sha256:1/x": "", file: "" });
  for (const path of ["gone/sha256:1", "gone"]) chmodSync(join(dir, path), 0o500);
  const catalogs = (): Promise<string[]> => {
    folder.write("unpack", { "new/.draft-1/content/x": "" });
    return Promise.resolve(["kept", "new"]);
  };
  await new GarbageCollector({ folders: [unpackFolder(dir)], catalogs, intervalMs: 1, log }).collect(signal);
  expect(readdirSync(dir).sort()).toEqual(["kept", "new"]);
});

test("garbage collector ignores a missing folder", async () => {
  using folder = new TempFolder();
  const catalogs = (): Promise<string[]> => Promise.resolve([]);
  await new GarbageCollector({ folders: [unpackFolder(join(folder.path, "none"))], catalogs, intervalMs: 1, log }).collect(signal);
});

test("garbage collector removes nothing when the API server does not respond, and retries in the next round", async () => {
  using folder = new TempFolder();
  const dir = folder.write("unpack", { "gone/x": "" });
  const clock = new FakeClock();
  let rounds = 0;
  const catalogs = (): Promise<string[]> => (++rounds === 1 ? Promise.reject(new Error("no answer")) : Promise.resolve([]));
  const collector = new GarbageCollector({ folders: [unpackFolder(dir)], catalogs, intervalMs: 1_000, log, clock });
  await expect(
    new GarbageCollector({ folders: [], catalogs: () => Promise.reject(new Error("x")), intervalMs: 1, log }).collect(signal),
  ).rejects.toThrow("error listing clustercatalogs: x");
  const stop = new AbortController();
  const running = collector.run(stop.signal);
  await expect.poll(() => clock.pending).toBe(1);
  expect(readdirSync(dir)).toEqual(["gone"]);
  clock.advance(1_000);
  await expect.poll(() => readdirSync(dir)).toEqual([]);
  stop.abort();
  await running;
});
