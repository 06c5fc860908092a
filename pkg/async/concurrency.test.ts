import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { mapInParallel } from "./concurrency.ts";

test("mapInParallel returns results in the order of the items", async () => {
  expect(await mapInParallel([3, 1, 2], 3, async (n) => sleep(n, n * 10))).toEqual([30, 10, 20]);
});

test("mapInParallel runs at most the given number of tasks at once, and runs all of them", async () => {
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

test("mapInParallel returns an empty list for no items", async () => {
  expect(await mapInParallel([], 4, () => Promise.reject(new Error("asked")))).toEqual([]);
});

test("mapInParallel starts no other item when one has failed", async () => {
  const started: number[] = [];
  const work = async (item: number): Promise<void> => {
    started.push(item);
    await sleep(item);
    if (item === 1) throw new Error("no 1");
  };
  await expect(mapInParallel([1, 10, 20, 30], 2, work)).rejects.toThrow("no 1");
  await sleep(100);
  expect(started).toEqual([1, 10]);
});

test("mapInParallel rejects with the first failure", async () => {
  await expect(mapInParallel([1, 2], 1, (n) => Promise.reject(new Error(`no ${n}`)))).rejects.toThrow("no 1");
});
