import { afterEach, expect, test, vi } from "vitest";
import { ResponseCache } from "./responseCache.ts";

afterEach(() => void vi.useRealTimers());

const make = (bytes: number) => async (): Promise<Uint8Array> => new Uint8Array(bytes);

test("ResponseCache frees a response ten minutes after its last use", async () => {
  vi.useFakeTimers();
  const cache = new ResponseCache(undefined, Date.now);
  await cache.get("replaced", make(10));
  await cache.get("current", make(10));
  vi.advanceTimersByTime(400_000);
  await cache.get("current", make(10));
  vi.advanceTimersByTime(300_000);
  expect(cache.size).toBe(1);
  vi.advanceTimersByTime(400_000);
  expect(cache.size).toBe(0);
});

test("ResponseCache counts the memory of an entry when responses are small", async () => {
  const cache = new ResponseCache({ total: 5_300, entry: 1_000 });
  for (let i = 0; i < 100; i++) await cache.get(`${i}`, make(i % 2));
  expect(cache.size).toBe(10);
});

test("ResponseCache does not keep a response when it is larger than the limit of one response", async () => {
  const cache = new ResponseCache({ total: 10_000, entry: 1_000 });
  await cache.get("fits", make(1_000));
  await cache.get("too large", make(1_001));
  expect([cache.fits(1_000), cache.fits(1_001), cache.size]).toEqual([true, false, 1]);
});
