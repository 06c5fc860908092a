import { expect, test } from "vitest";
import { KeyedLock } from "./keyedLock.ts";

const { signal } = new AbortController();

test("KeyedLock runs a third task after the first one when the second is aborted while it waits", async () => {
  const locks = new KeyedLock();
  const end = Promise.withResolvers<void>();
  const order: string[] = [];
  const first = locks.run("a", signal, async () => {
    await end.promise;
    order.push("first");
  });
  const stop = new AbortController();
  const second = locks.run("a", stop.signal, () => Promise.resolve(order.push("second")));
  stop.abort(new Error("stopped"));
  await expect(second).rejects.toThrow("stopped");
  expect(locks.isHeld("a")).toBe(true);
  const third = locks.run("a", signal, () => Promise.resolve(order.push("third")));
  end.resolve();
  await Promise.all([first, third]);
  expect(order).toEqual(["first", "third"]);
  expect(locks.isHeld("a")).toBe(false);
});

test("KeyedLock releases the key when the holder ends after the last waiting task was aborted", async () => {
  const locks = new KeyedLock();
  const end = Promise.withResolvers<void>();
  const first = locks.run("a", signal, () => end.promise);
  const stop = new AbortController();
  const second = locks.run("a", stop.signal, () => Promise.resolve());
  stop.abort(new Error("stopped"));
  await expect(second).rejects.toThrow("stopped");
  end.resolve();
  await first;
  await expect.poll(() => locks.isHeld("a")).toBe(false);
});
