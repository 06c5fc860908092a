import { expect, test } from "vitest";
import { Semaphore } from "./metadataStream.ts";

const { signal } = new AbortController();

test("as many are let in as there are places, the others in the order in which they came", async () => {
  const gate = new Semaphore(1);
  const seen: string[] = [];
  const visit = async (name: string): Promise<() => void> => {
    const leave = await gate.enter(signal);
    seen.push(name);
    return leave;
  };
  const first = await visit("a");
  const [second, third] = [visit("b"), visit("c")];
  await Promise.resolve();
  expect(seen).toEqual(["a"]);
  first();
  first();
  const leave = await second;
  expect(seen).toEqual(["a", "b"]);
  leave();
  (await third)();
  await visit("d");
  expect(seen).toEqual(["a", "b", "c", "d"]);
});

test("who stops waiting takes no place", async () => {
  const gate = new Semaphore(1);
  const leave = await gate.enter(signal);
  const stop = new AbortController();
  const waiting = gate.enter(stop.signal);
  stop.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow("stopped");
  leave();
  await gate.enter(signal);
  await expect(gate.enter(stop.signal)).rejects.toThrow("stopped");
});
