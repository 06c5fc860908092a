import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../support/caseFiles.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import type { ProxiedRequest } from "../support/faultProxy.ts";
import type { FaultRule } from "../support/faultRule.ts";
import { FaultWorld } from "../support/faultWorld.ts";

type Operation = "install" | "drift" | "upgrade" | "uninstall";

/** Faults during each of these operations. */
interface FaultCase extends CaseHead {
  during: Operation[];
  faults: FaultRule[];
}

/** Maximum number of requests for an operation with a fault. Without faults, the longest operation, an uninstall, needs 50. */
const AT_MOST = 160;
/** Tolerance for early timers, in milliseconds. */
const CLOCK_MS = 10;

describeWithPrivateCluster("faults between the controller and the API server", (cluster) => {
  let world: FaultWorld;

  beforeAll(async () => {
    world = await FaultWorld.start(cluster);
  });

  afterEach(() => world.clear());

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test.for(loadCases<FaultCase>("faults"))("$name", async ({ during, faults }) => {
    const name = cluster.name("x");
    const meet = async (operation: Operation, work: () => Promise<void>): Promise<void> => {
      const from = world.proxy.requests.length;
      const rules = during.includes(operation) ? faults : [];
      const armed = world.proxy.arm(rules);
      await work();
      // A watch that broke is opened again after a pause, when the fault may be over.
      await eventually(() => expect(armed.hits.map((hits) => hits > 0)).toEqual(rules.map(() => true)));
      const requests = world.proxy.requests.slice(from);
      expect(requests.length, `requests during ${operation}`).toBeLessThan(AT_MOST);
      expect(tooSoon(requests, rules)).toEqual([]);
    };
    await meet("install", async () => world.settled(await world.create(name), "1.0.0", ["v1 deployed"]));
    const x = await world.operator.get(name);
    const later: Record<Exclude<Operation, "install">, () => Promise<void>> = {
      drift: async () => {
        await world.damage(x);
        await world.settled(x, "1.0.0", ["v1 deployed"]);
      },
      upgrade: async () => {
        await world.upgrade(name);
        await world.settled(x, "2.0.0", ["v1 superseded", "v2 deployed"]);
      },
      uninstall: async () => {
        await world.delete(name);
        await world.gone(x);
      },
    };
    for (const operation of ["drift", "upgrade", "uninstall"] as const)
      if (during.includes(operation)) await meet(operation, later[operation]);
    await world.quiet();
  });
});

/** Returns the requests that were sent again before the time that a 429 demanded. */
function tooSoon(requests: readonly ProxiedRequest[], rules: readonly FaultRule[]): string[] {
  const waitMs = Math.max(0, ...rules.map(({ answer, retryAfter = 0 }) => (answer === 429 ? retryAfter * 1_000 : 0)));
  return requests.flatMap((request, i) => {
    if (request.status !== 429) return [];
    const same = ({ verb, resource, namespace, name, dryRun }: ProxiedRequest): string =>
      [verb, resource, namespace, name, dryRun].join(" ");
    const next = requests.slice(i + 1).find((other) => same(other) === same(request));
    const afterMs = next ? next.at - request.at : waitMs;
    return afterMs < waitMs - CLOCK_MS ? [`${same(request)} after ${Math.round(afterMs)} ms`] : [];
  });
}
