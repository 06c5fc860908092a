import { expect, test } from "vitest";
import { RetryableError } from "../../errors/errors.ts";
import type { Property } from "../../fbc/types.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";

/** A rule that evaluates to false after ten thousand steps for a bundle with a hundred properties. */
const COSTLY = "properties.exists(p, properties.exists(q, p.type == q.type + 'x'))";
const never = new AbortController().signal;

const bundles = Array.from({ length: 400 }, (_, bundle): readonly Property[] =>
  Array.from({ length: 100 }, (_property, i) => ({ type: `p${i}`, value: bundle })),
);

async function prepareRule(): Promise<{ cache: ConstraintCache; holds: (properties: readonly Property[]) => boolean }> {
  const cache = new ConstraintCache(loadCelRules);
  const properties = [{ type: "olm.constraint", value: { cel: { rule: COSTLY } } }];
  await cache.prepare([properties]);
  const [constraint] = cache.read({ name: "b", properties }).constraints;
  if (constraint?.kind !== "cel") throw new Error("not a rule");
  return { cache, holds: constraint.holds };
}

test("ConstraintCache.bounded stops when rules take too long, and the next call continues with the cached results", async () => {
  const { cache, holds } = await prepareRule();
  let tries = 0;
  for (let done = false; !done; tries++) {
    try {
      expect(cache.bounded(() => bundles.filter(holds))).toEqual([]);
      done = true;
    } catch (err) {
      if (!(err instanceof RetryableError)) throw err;
      expect(err.message).toContain("takes too long");
      expect(tries).toBeLessThan(bundles.length);
    }
  }
  expect(tries).toBeGreaterThan(1);
});

test("ConstraintCache.inTurns lets other tasks run and completes long work", async () => {
  const { cache, holds } = await prepareRule();
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

test("ConstraintCache.inTurns throws when its signal aborts", async () => {
  const { cache } = await prepareRule();
  const stop = new AbortController();
  const endless = function* (): Generator<void, void> {
    for (;;) yield;
  };
  const working = cache.inTurns(endless(), stop.signal);
  stop.abort(new Error("stopped"));
  await expect(working).rejects.toThrow(/^stopped$/);
});
