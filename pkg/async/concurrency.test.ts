import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { mapInParallel } from "./concurrency.ts";

test("results stand in the order of the items, whichever is ready first", async () => {
  expect(await mapInParallel([3, 1, 2], 3, async (n) => sleep(n, n * 10))).toEqual([30, 10, 20]);
});

test("no more than so many are under way at once, and none is left out", async () => {
  let underWay = 0;
  let most = 0;
  const items = Array.from({ length: 20 }, (_, i) => i);
  const results = await mapInParallel(items, 4, async (item) => {
    most = Math.max(most, ++underWay);
    await sleep(item % 3);
    underWay--;
    return item;
  });
  expect({ most, results }).toEqual({ most: 4, results: items });
});

test("nothing comes of nothing", async () => {
  expect(await mapInParallel([], 4, () => Promise.reject(new Error("asked")))).toEqual([]);
});

test("a failure is told", async () => {
  await expect(mapInParallel([1, 2], 1, (n) => Promise.reject(new Error(`no ${n}`)))).rejects.toThrow("no 1");
});
