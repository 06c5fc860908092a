import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { KillWorld } from "../support/killWorld.ts";

/** Enough for forty starts of a program. */
const TIMEOUT_MS = 1_800_000;
/** Upper bound of the writes of one operation. */
const MAX_WRITES = 30;

// Source: O-04.
describeWithPrivateCluster("operator-controller killed after each write", (cluster) => {
  let world: KillWorld;

  beforeAll(async () => {
    world = await KillWorld.start(cluster);
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test("operator-controller completes an install, an upgrade and an uninstall after being killed at any write", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const kills = { install: 0, upgrade: 0, uninstall: 0 };
    const operations = [
      ["install", () => world.install(), () => world.expectInstalled("1.0.0", ["v1 deployed"])],
      ["upgrade", () => world.upgrade(), () => world.expectInstalled("2.0.0", ["v1 superseded", "v2 deployed"])],
      ["uninstall", () => world.uninstall(), () => world.expectGone()],
    ] as const;
    for (let writes = 0, any = true; any && writes < MAX_WRITES; writes++) {
      any = false;
      for (const [name, work, done] of operations) {
        const killed = await world.killedAfter(writes, work, done).catch((err: unknown) => {
          throw new Error(`${name}, killed after ${writes} writes`, { cause: err });
        });
        if (killed) kills[name]++;
        any ||= killed;
      }
    }
    // An install writes the finalizer, the release twice, five objects and the status. Other operations write at least
    // as often.
    for (const [name, count] of Object.entries(kills)) {
      expect(count, name).toBeGreaterThanOrEqual(9);
      expect(count, name).toBeLessThan(MAX_WRITES);
    }
  });
});
