import { setImmediate } from "node:timers/promises";
import { assert, asyncProperty, oneof } from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { generatePigeons, generateThreeSat } from "../../../test/bench/hardProblems.ts";
import type { DependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { generateWorlds } from "../../../test/support/dependencyWorlds.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import { toWorld } from "../../../test/support/hardWorlds.ts";
import { openWorld } from "../../../test/support/openWorld.ts";
import { isRetryable } from "../../errors/errors.ts";
import { StepBudget, StepLimitError } from "../../resolve/constraint/stepBudget.ts";
import { formatRefusal } from "../../resolve/dependencies/resolutionHints.ts";
import { StepCounter } from "../../resolve/solver/stepCounter.ts";
import { BlockingHintSearch, type HintRequest, type HintSearchLimits, HintSearchThread } from "./hintSearch.ts";

const LIMITS: HintSearchLimits = { mainSteps: 20_000, heapMib: 192, deadlineMs: 60_000, idleMs: 3_000 };
/** Sends every search to the thread. */
const ALWAYS = { mainSteps: -1 };

const open: HintSearchThread[] = [];
afterEach(async () => {
  for (const thread of open.splice(0)) await thread.end();
});

function start(
  { constraints }: Pick<Opened, "constraints">,
  limits: Partial<HintSearchLimits> = {},
  clock = new FakeClock(),
): HintSearchThread {
  const thread = new HintSearchThread(constraints, clock, { ...LIMITS, ...limits });
  open.push(thread);
  return thread;
}

type Opened = Awaited<ReturnType<typeof openWorld>>;

/** Returns the request for the best candidate of a world. */
function toRequest({ candidates, context, reachable }: Opened, rest: Partial<HintRequest> = {}): HintRequest {
  const [bundle] = candidates;
  if (!bundle) throw new Error("the world has no candidate");
  const { signal } = new AbortController();
  return {
    extension: "root",
    bundle,
    context,
    reachable,
    canUpdate: true,
    budget: new StepBudget(),
    counter: new StepCounter(),
    signal,
    ...rest,
  };
}

/** A world that the main thread cannot decide, but the worker thread can. */
const HARD = toWorld(generateThreeSat(40, 170, 3));
/** A world for which the worker thread needs about a second. */
const SLOW = toWorld(generateThreeSat(100, 426, 3));

test("HintSearchThread finds the same in its thread as in the main thread, for all candidates of generated worlds", async () => {
  const seen: Record<string, number> = {};
  const nested = generateWorlds({ depth: 2, maxConstraints: 2, oneInstalledOf: 2 });
  const crowded = generateWorlds({ depth: 1, maxConstraints: 1, oneInstalledOf: 1 });
  const first = start(await openWorld(HARD), ALWAYS);
  expect(first.isRunning).toBe(false);
  await assert(
    asyncProperty(oneof({ weight: 1, arbitrary: nested }, { weight: 2, arbitrary: crowded }), async (world) => {
      const opened = await openWorld(world);
      for (const bundle of opened.candidates) {
        const [inThread, inMain] = [new StepCounter(), new StepCounter()];
        const expected = await new BlockingHintSearch(opened.constraints).find(toRequest(opened, { bundle, counter: inMain }));
        expect(await first.find(toRequest(opened, { bundle, counter: inThread }))).toEqual(expected);
        expect(inThread.steps).toBeGreaterThanOrEqual(inMain.steps);
        seen[expected.kind] = (seen[expected.kind] ?? 0) + 1;
      }
    }),
    { numRuns: 300, seed: 23 },
  );
  expect(first.isRunning).toBe(true);
  for (const kind of ["offered", "steps", "deadlock", "none"]) expect(seen[kind], kind).toBeGreaterThan(0);
});

test("HintSearchThread does not start its thread for a world that the main thread decides", async () => {
  const opened = await openWorld(toWorld(generatePigeons(4, 3)));
  const search = start(opened);
  expect(await search.find(toRequest(opened))).toMatchObject({ kind: "none", explanation: { isMinimal: true } });
  expect(search.isRunning).toBe(false);
});

test("HintSearchThread decides a world that exceeds the limit of the main thread, while the main thread does other work", async () => {
  const opened = await openWorld(HARD);
  const search = start(opened);
  const request = toRequest(opened);
  const done = new AbortController();
  const searching = search.find(request).finally(() => done.abort());
  let turns = 0;
  while (!done.signal.aborted) {
    await setImmediate();
    if (search.isRunning) turns++;
  }
  expect(await searching).toEqual(await new BlockingHintSearch(opened.constraints).find(toRequest(opened)));
  expect(turns).toBeGreaterThan(50);
  expect(request.counter.steps).toBeGreaterThan(LIMITS.mainSteps);
});

test("HintSearchThread sends a world to its thread once for all candidates, and again after the thread has ended", async () => {
  const opened = await openWorld(HARD);
  const clock = new FakeClock();
  const search = start(opened, {}, clock);
  const before = await search.find(toRequest(opened));
  expect(await search.find(toRequest(opened))).toEqual(before);
  clock.advance(LIMITS.idleMs);
  await eventually(() => expect(search.isRunning).toBe(false));
  expect(await search.find(toRequest(opened))).toEqual(before);
});

describe("HintSearchThread ends a search and continues with the next when", () => {
  /** Asserts that the search decides another world. */
  async function expectDecides(search: HintSearchThread): Promise<void> {
    expect(await search.find(toRequest(await openWorld(HARD), { extension: "other" }))).toMatchObject({ kind: "none" });
  }

  test("the signal is aborted", async () => {
    const opened = await openWorld(SLOW);
    const search = start(opened);
    const stop = new AbortController();
    const searching = search.find(toRequest(opened, { signal: stop.signal })).catch((err: unknown) => err);
    await eventually(() => expect(search.isRunning).toBe(true));
    const next = expectDecides(search);
    stop.abort(new Error("stopped"));
    expect(await searching).toEqual(new Error("stopped"));
    await next;
  });

  test("the extension changes, whether the search is running or waits for its turn", async () => {
    const opened = await openWorld(SLOW);
    const search = start(opened);
    const find = (extension: string): Promise<unknown> => search.find(toRequest(opened, { extension })).catch((err: unknown) => err);
    const running = find("root");
    await eventually(() => expect(search.isRunning).toBe(true));
    const waiting = find("second");
    await setImmediate();
    search.cancel("unrelated");
    search.cancel("second");
    const cancelled = await waiting;
    expect(String(cancelled)).toContain("the search for dependencies was cancelled, because the ClusterExtension has changed");
    expect([isRetryable(cancelled), search.isRunning]).toEqual([true, true]);
    search.cancel("root");
    expect(await running).toSatisfy(isRetryable);
    await expectDecides(search);
  });

  test("the search exceeds its time, which is reported", async () => {
    const opened = await openWorld(SLOW);
    const clock = new FakeClock();
    const search = start(opened, {}, clock);
    const searching = search.find(toRequest(opened));
    await eventually(() => expect(search.isRunning).toBe(true));
    clock.advance(LIMITS.deadlineMs);
    expect(await explain(searching)).toEqual([
      'it requires package "b"',
      "cannot determine which bundles would satisfy the requirements: the search exceeded 60 seconds",
    ]);
    await expectDecides(search);
  });

  test("the search exceeds its memory, which is reported", async () => {
    const large = Array.from({ length: 400 }, (_, i) => ({
      type: `large${i}`,
      value: Array.from({ length: 200 }, (_item, n) => `${i} ${n}`),
    }));
    const opened = await openWorld(withProperties(HARD, large));
    const search = start(opened, { ...ALWAYS, heapMib: 12 });
    expect(await explain(search.find(toRequest(opened)))).toEqual([
      'it requires package "b"',
      "cannot determine which bundles would satisfy the requirements: the search exceeded 12 MiB of memory",
    ]);
    await expectDecides(search);
  });
});

/** Returns the clauses of a refusal with this hint. */
async function explain(searching: ReturnType<HintSearchThread["find"]>): Promise<string[]> {
  const conflict = { faults: [], requires: ['package "b"'], provided: [], dependents: [] };
  return formatRefusal({ conflict, hint: await searching, unavailable: [] });
}

/** Adds properties to every bundle of a world; each bundle has its own copy. */
function withProperties({ catalogs = {} }: DependencyWorld, properties: { type: string; value: unknown }[]): DependencyWorld {
  const [first] = Object.entries(catalogs);
  if (!first) return {};
  const [name, { packages }] = first;
  const changed = Object.entries(packages).map(([packageName, one]) => {
    const bundles = one.bundles.map((bundle) => {
      const { name: bundleName, ...rest } = typeof bundle === "string" ? { name: bundle } : bundle;
      return { ...rest, name: bundleName, properties: properties.map(({ type, value }) => ({ type: `${bundleName} ${type}`, value })) };
    });
    return [packageName, { ...one, bundles }] as const;
  });
  return { catalogs: { [name]: { packages: Object.fromEntries(changed) } } };
}

test("HintSearchThread names the limit and a rule when the CEL rules take too many steps in its thread", async () => {
  const rule = (number: number): string =>
    `properties.exists(p, properties.exists(q, properties.exists(r, p.type == q.type + "${number}" + r.type)))`;
  const properties = Array.from({ length: 60 }, (_, i) => ({ type: `t${i}`, value: i }));
  const bundles = Array.from({ length: 40 }, (_, i) => ({ name: `b.v1.0.${i}`, properties }));
  const requires = [{ any: { constraints: Array.from({ length: 12 }, (_, i) => ({ cel: { rule: rule(i) } })) } }, "b >=1.0.0"];
  const world = { catalogs: { c: { packages: { root: { bundles: [{ name: "root.v1.0.0", requires }] }, b: { bundles } } } } };
  const opened = await openWorld(world, new StepBudget(Number.POSITIVE_INFINITY));
  const search = start(opened);
  const inThread: unknown = await search.find(toRequest(opened)).catch((err: unknown) => err);
  const inMain: unknown = await new BlockingHintSearch(opened.constraints).find(toRequest(opened)).catch((err: unknown) => err);
  expect(search.isRunning).toBe(true);
  expect(inThread).toBeInstanceOf(StepLimitError);
  expect(String(inThread)).toBe(String(inMain));
});
