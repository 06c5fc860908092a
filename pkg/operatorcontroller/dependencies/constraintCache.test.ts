import { expect, test } from "vitest";
import { RetryableError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";

/** Some ten thousand steps for a bundle with a hundred properties, and false. */
const COSTLY = "properties.exists(p, properties.exists(q, p.type == q.type + 'x'))";
const never = new AbortController().signal;

const bundles = Array.from({ length: 400 }, (_, bundle): readonly Property[] =>
  Array.from({ length: 100 }, (_property, i) => ({ type: `p${i}`, value: bundle })),
);

async function ruled(): Promise<{ cache: ConstraintCache; holds: (properties: readonly Property[]) => boolean }> {
  const cache = new ConstraintCache(loadCelRules);
  const properties = [{ type: "olm.constraint", value: { cel: { rule: COSTLY } } }];
  await cache.prepare([properties]);
  const [constraint] = cache.read({ name: "b", properties }).constraints;
  if (constraint?.kind !== "cel") throw new Error("it is no rule");
  return { cache, holds: constraint.holds };
}

test("work in which rules take too long together is given up, and goes on next time with what it found out", async () => {
  const { cache, holds } = await ruled();
  let tries = 0;
  for (let done = false; !done; tries++) {
    try {
      expect(cache.bounded(() => bundles.filter(holds))).toEqual([]);
      done = true;
    } catch (err) {
      if (!(err instanceof RetryableError)) throw err;
      expect(err.message).toContain("take too long to be tried at once");
      expect(tries).toBeLessThan(bundles.length);
    }
  }
  expect(tries).toBeGreaterThan(1);
});

test("work in turns lets others have theirs, and is not given up for what it takes in all", async () => {
  const { cache, holds } = await ruled();
  let others = 0;
  const timer = setInterval(() => others++, 1);
  const work = function* (): Generator<void, number> {
    let found = 0;
    for (const properties of bundles) {
      yield;
      if (holds(properties)) found++;
    }
    return found;
  };
  expect(await cache.inTurns(work(), never)).toBe(0);
  clearInterval(timer);
  expect(others).toBeGreaterThan(1);
  expect(cache.bounded(() => bundles.filter(holds))).toEqual([]);
});

test("work in turns ends when nobody wants it any more", async () => {
  const { cache } = await ruled();
  const stop = new AbortController();
  const endless = function* (): Generator<void, void> {
    for (;;) yield;
  };
  const working = cache.inTurns(endless(), stop.signal);
  stop.abort(new Error("stopped"));
  await expect(working).rejects.toThrow(/^stopped$/);
});
