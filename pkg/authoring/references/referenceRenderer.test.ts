import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { mapConcurrently } from "./referenceRenderer.ts";

test("mapConcurrently returns results in the order of the items and runs four calls at a time", async () => {
  let running = 0;
  let most = 0;
  const results = await mapConcurrently([5, 1, 4, 2, 3, 6], async (turns) => {
    most = Math.max(most, ++running);
    for (let i = 0; i < turns; i++) await setImmediate();
    running--;
    return turns * 10;
  });
  expect([results, most]).toEqual([[50, 10, 40, 20, 30, 60], 4]);
});

test("mapConcurrently starts no more calls when a call fails, waits for running calls, and throws the first error", async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const all = mapConcurrently([1, 2, 3, 4, 5, 6, 7], async (item) => {
    begun.push(item);
    for (let i = 0; i < 10 - item; i++) await setImmediate();
    ended.push(item);
    if (item === 2 || item === 4) throw new Error(`item ${item}`);
  });
  await expect(all).rejects.toThrow(new Error("item 2"));
  expect(begun).toEqual([1, 2, 3, 4]);
  expect(new Set(ended)).toEqual(new Set(begun));
});
