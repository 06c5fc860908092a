import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { Loader } from "../load/loader.ts";
import { Compressor, type CompressTask } from "./compressor.ts";
import { ContentIndex } from "./contentIndex.ts";

test("a canceled compression does not wait for earlier compressions", async () => {
  using folder = new TempFolder();
  const never = new AbortController().signal;
  const text = Array.from({ length: 3_000 }, (_, i) => `{"schema":"s","name":"n${i}","text":"${String(i).repeat(300)}"}`).join("\n");
  const staging = folder.write("staging", {});
  const { artifacts } = await new Loader().load(folder.write("catalog", { "a.json": text }), staging, never);
  const columns = artifacts.get("catalog");
  if (!columns) throw new Error("no metas");
  const index = new ContentIndex(columns);
  const task = (to: string): CompressTask => ({ encoding: "gzip", from: join(staging, "catalog.jsonl"), index, to: join(folder.path, to) });
  const compressor = new Compressor();
  const ends: string[] = [];
  const first = compressor.make(task("first"), never).then(() => ends.push("first made"));
  const leaving = new AbortController();
  const second = compressor.make(task("second"), leaving.signal).catch((err: unknown) => ends.push(String(err)));
  leaving.abort("no longer needed");
  await Promise.all([first, second]);
  expect(ends).toEqual(["no longer needed", "first made"]);
  expect((await compressor.make(task("third"), never)).bytes).toBeGreaterThan(0);
  expect(existsSync(join(folder.path, "second"))).toBe(false);
  await compressor.close();
});

test("canceling a compression at any time does not block the next one", { timeout: 120_000 }, async () => {
  using folder = new TempFolder();
  const never = new AbortController().signal;
  const staging = folder.write("staging", {});
  const { artifacts } = await new Loader().load(folder.write("catalog", { "a.json": '{"schema":"s"}' }), staging, never);
  const columns = artifacts.get("catalog");
  if (!columns) throw new Error("no metas");
  const task: CompressTask = {
    encoding: "gzip",
    from: join(staging, "catalog.jsonl"),
    index: new ContentIndex(columns),
    to: join(folder.path, "to"),
  };
  const compressor = new Compressor();
  await compressor.make(task, never);
  for (let turns = 0; turns < 8; turns++) {
    const leaving = new AbortController();
    const given = compressor.make(task, leaving.signal).catch(() => undefined);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    // The thread responds meanwhile, but its response is not read before the thread is asked to
    // end.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    leaving.abort();
    await given;
    expect((await compressor.make(task, never)).bytes).toBeGreaterThan(0);
  }
  await compressor.close();
});

// Node 24.21 sometimes aborts the process when a thread is terminated while it sets up a zlib
// stream.
test("canceling a compression in progress stops the work and keeps the thread", { timeout: 120_000 }, async () => {
  using folder = new TempFolder();
  const never = new AbortController().signal;
  const staging = folder.write("staging", {});
  const text = Array.from({ length: 100_000 }, (_, i) => `{"schema":"s","name":"n${i}"}`).join("\n");
  const { artifacts } = await new Loader().load(folder.write("catalog", { "a.json": text }), staging, never);
  const columns = artifacts.get("catalog");
  if (!columns) throw new Error("no metas");
  const to = join(folder.path, "to");
  const task: CompressTask = { encoding: "gzip", from: join(staging, "catalog.jsonl"), index: new ContentIndex(columns), to };
  let threads = 0;
  const count = (): void => void threads++;
  process.on("worker", count);
  const compressor = new Compressor();
  const { bytes } = await compressor.make(task, never);
  for (let turn = 0; turn < 20; turn++) {
    const leaving = new AbortController();
    const made = compressor.make(task, leaving.signal);
    setTimeout(() => leaving.abort(new Error("canceled")), 20 + turn);
    await expect(made).rejects.toThrow("canceled");
    expect(statSync(to).size).toBeLessThan(bytes);
  }
  await compressor.close();
  process.off("worker", count);
  expect(threads).toBe(1);
});
