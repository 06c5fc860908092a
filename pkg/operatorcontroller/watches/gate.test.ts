import { expect, test } from "vitest";
import { Semaphore } from "./metadataStream.ts";

const { signal } = new AbortController();

test("Semaphore limits concurrent callers, and admits waiting callers in order", async () => {
  const gate = new Semaphore(1);
  const seen: string[] = [];
  const acquire = async (name: string): Promise<() => void> => {
    const release = await gate.enter(signal);
    seen.push(name);
    return release;
  };
  const first = await acquire("a");
  const [second, third] = [acquire("b"), acquire("c")];
  await Promise.resolve();
  expect(seen).toEqual(["a"]);
  first();
  first();
  const release = await second;
  expect(seen).toEqual(["a", "b"]);
  release();
  (await third)();
  await acquire("d");
  expect(seen).toEqual(["a", "b", "c", "d"]);
});

test("Semaphore does not admit a caller that has stopped waiting", async () => {
  const gate = new Semaphore(1);
  const release = await gate.enter(signal);
  const stop = new AbortController();
  const waiting = gate.enter(stop.signal);
  stop.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  release();
  await gate.enter(signal);
  await expect(gate.enter(stop.signal)).rejects.toThrow("stopped");
});
