import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../../test/support/eventually.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import type { Meta } from "../../fbc/types.ts";
import type { ReadTask } from "./responseReader.ts";
import { ResponseThread } from "./responseThread.ts";

const MIB = 1024 * 1024;
const TASK: ReadTask = {
  path: "/catalogs/c/api/v1/metas",
  requested: { kind: "package", name: "p" },
  limits: { objectBytes: 4 * MIB, objectValues: 200_000, keptBytes: 8 * MIB, keptValues: 250_000 },
};
const THREAD = { heapMib: 128, deadlineMs: 60_000, idleMs: 3_000 };

const open: ResponseThread[] = [];
afterEach(async () => {
  for (const thread of open.splice(0)) await thread.end();
});

function start(limits = THREAD, clock = new FakeClock()): ResponseThread {
  const thread = new ResponseThread(clock, limits);
  open.push(thread);
  return thread;
}

function bundle(version: number, packageName = "p"): string {
  const properties = [
    { type: "olm.package", value: { packageName, version: `${version}.0.0` } },
    { type: "olm.maxOpenShiftVersion", value: 0 },
    { type: "olm.csv.metadata", value: { description: "x".repeat(100_000) } },
  ];
  const line = JSON.stringify({ schema: "olm.bundle", package: packageName, name: `${packageName}.v${version}`, image: "i", properties });
  return `${line.replace('"value":0', '"value":4.10')}\n`;
}

/** Yields the text in chunks of 64 KiB, like a connection. */
async function* splitChunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
  }
}

async function readAll(thread: ResponseThread, chunks: AsyncIterable<Uint8Array>, task = TASK): Promise<Meta[]> {
  return Array.fromAsync(thread.read(task, chunks));
}

const versions = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);
const names = (metas: readonly Meta[]): string[] => metas.map(({ name }) => name);

test("ResponseThread reads a response of up to 1 MiB in the main thread", async () => {
  const thread = start();
  expect(names(await readAll(thread, splitChunks(...versions(3).map((version) => bundle(version)))))).toEqual(["p.v1", "p.v2", "p.v3"]);
  expect(thread.isRunning).toBe(false);
});

test("ResponseThread returns the same objects from its thread as from the main thread when a response is larger", async () => {
  const thread = start();
  const small = await readAll(thread, splitChunks(bundle(1)));
  const large = await readAll(thread, splitChunks(...versions(30).map((version) => bundle(version)), bundle(31, "q")));
  expect(thread.isRunning).toBe(true);
  expect(names(large)).toEqual(versions(30).map((version) => `p.v${version}`));
  expect(small[0]).toMatchObject(large[0] ?? {});
  expect(JSON.stringify(large[0]?.blob)).toContain('"value":4.10');
  expect(JSON.stringify(large[0]?.blob)).not.toContain("description");
});

test("ResponseThread reads several responses in parallel, and a stalled response does not block others", async () => {
  const thread = start();
  const gate = Promise.withResolvers<void>();
  async function* stall(): AsyncGenerator<Uint8Array> {
    yield* splitChunks(...versions(20).map((version) => bundle(version)));
    await gate.promise;
    yield* splitChunks(bundle(21));
  }
  const slow = readAll(thread, stall());
  const fast = await Promise.all([1, 2, 3].map(() => readAll(thread, splitChunks(...versions(25).map((version) => bundle(version))))));
  expect(fast.map((metas) => metas.length)).toEqual([25, 25, 25]);
  gate.resolve();
  expect(await slow).toHaveLength(21);
});

test("ResponseThread keeps its thread while a response is read, and stops the thread when it is idle", async () => {
  const clock = new FakeClock();
  const thread = start(THREAD, clock);
  const gate = Promise.withResolvers<void>();
  async function* stall(): AsyncGenerator<Uint8Array> {
    yield* splitChunks(...versions(20).map((version) => bundle(version)));
    await gate.promise;
  }
  const slow = readAll(thread, stall());
  await eventually(() => expect(thread.isRunning).toBe(true));
  clock.advance(10_000);
  expect(thread.isRunning).toBe(true);
  gate.resolve();
  expect(await slow).toHaveLength(20);
  clock.advance(THREAD.idleMs);
  await eventually(() => expect(thread.isRunning).toBe(false));
});

describe("ResponseThread fails one response and reads the next when", () => {
  const many = versions(20).map((version) => bundle(version));
  const lists = JSON.stringify({ schema: "olm.channel", package: "p", name: "c", entries: Array.from({ length: 300_000 }, () => 1) });
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield* splitChunks(...many);
    throw new Error("connection reset");
  };
  test.for<[what: string, chunks: () => AsyncIterable<Uint8Array>, message: RegExp, limits?: Partial<ReadTask["limits"]>]>([
    ["a line is broken", () => splitChunks(...many, '{"schema": ]}\n'), /document 21, line 21: /],
    ["an object has too many values", () => splitChunks(...many, lists), /document 21, line 21: object too large: more than 200000 values/],
    [
      "too much of it is kept",
      () => splitChunks(...many),
      /the package is too large for resolution: more than 1000 bytes/,
      { keptBytes: 1_000 },
    ],
    ["the connection ends", failing, /^connection reset$/],
  ])("%s", async ([, chunks, message, limits = {}]) => {
    const thread = start();
    const task = { ...TASK, limits: { ...TASK.limits, ...limits } };
    await expect(readAll(thread, chunks(), task)).rejects.toThrow(message);
    expect(await readAll(thread, splitChunks(...many))).toHaveLength(20);
  });

  test("ResponseThread fails one response and reads the next when the response needs more memory than the thread has", async () => {
    const thread = start({ ...THREAD, heapMib: 32 });
    const huge = JSON.stringify({ schema: "other", package: "p", name: "o", list: Array.from({ length: 500_000 }, () => [[]]) });
    const task = { ...TASK, limits: { ...TASK.limits, objectValues: 2_000_000 } };
    await expect(readAll(thread, splitChunks(...many, huge, huge, huge), task)).rejects.toThrow(
      "cannot read the catalog's response: exceeded the limit of 32 MiB of memory",
    );
    expect(await readAll(thread, splitChunks(...many))).toHaveLength(20);
  });

  test("ResponseThread fails one response and reads the next when the reader of the response stops early", async () => {
    const thread = start();
    for await (const meta of thread.read(TASK, splitChunks(...many))) {
      expect(meta.name).toBe("p.v1");
      break;
    }
    expect(await readAll(thread, splitChunks(...many))).toHaveLength(20);
  });
});
