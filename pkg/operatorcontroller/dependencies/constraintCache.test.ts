import { expect, test } from "vitest";
import type { Property } from "../../fbc/types.ts";
import { StepBudget, StepLimitError } from "../../resolve/constraint/stepBudget.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";

/** A rule that is false after more than ten thousand steps for a bundle with a hundred properties. */
const COSTLY = "properties.exists(p, properties.exists(q, p.type == q.type + 'x'))";
const never = new AbortController().signal;

const bundles = Array.from({ length: 400 }, (_, bundle): readonly Property[] =>
  Array.from({ length: 100 }, (_property, i) => ({ type: `p${i}`, value: bundle })),
);

async function prepareRule(): Promise<{ cache: ConstraintCache; holds: (properties: readonly Property[]) => boolean }> {
  const cache = new ConstraintCache(loadCelRules);
  const properties = [{ type: "olm.constraint", value: { cel: { rule: COSTLY } } }];
  await cache.prepare([properties]);
  const [constraint] = cache.read({ name: "b.v1.0.0", properties }).constraints;
  if (constraint?.kind !== "cel") throw new Error("not a rule");
  return { cache, holds: constraint.holds };
}

test("ConstraintCache.bounded stops at the same bundle with the same error when the results are known", async () => {
  const { cache, holds } = await prepareRule();
  const attempt = (): [tried: number, error: unknown] => {
    let tried = 0;
    try {
      cache.bounded(
        () =>
          bundles.filter((properties) => {
            tried++;
            return holds(properties);
          }),
        new StepBudget(1_000_000),
      );
    } catch (err) {
      return [tried, err];
    }
    return [tried, undefined];
  };
  const [tried, error] = attempt();
  expect(tried).toBeLessThan(bundles.length);
  expect(error).toBeInstanceOf(StepLimitError);
  expect(error).toHaveProperty(
    "message",
    `evaluating the CEL rules of the bundles takes more than 1,000,000 steps; the rule with the most steps: ${JSON.stringify(COSTLY)} of bundle "b.v1.0.0"`,
  );
  expect(attempt()).toEqual([tried, error]);
});

test("ConstraintCache.bounded and inTurns charge the same budget, each rule once for each bundle", async () => {
  const { cache, holds } = await prepareRule();
  const few = bundles.slice(0, 3);
  const budget = new StepBudget();
  cache.bounded(() => few.filter(holds), budget);
  const { spent } = budget;
  const work = function* (): Generator<void, void> {
    for (const properties of bundles.slice(0, 6)) {
      yield;
      holds(properties);
    }
  };
  await cache.inTurns(work(), never, budget);
  expect(spent).toBeGreaterThan(30_000);
  expect(budget.spent).toBe(2 * spent);
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
  expect(await cache.inTurns(work(), never, new StepBudget(100_000_000))).toBe(0);
  clearInterval(timer);
  expect(others).toBeGreaterThan(1);
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
