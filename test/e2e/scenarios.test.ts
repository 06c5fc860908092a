import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { loadScenarios } from "../support/scenarios/scenario.ts";
import { ScenarioRun } from "../support/scenarios/scenarioRun.ts";
import { World } from "../support/world.ts";

describeWithPrivateCluster("scenarios", (cluster) => {
  let world: World;

  beforeAll(async () => {
    world = await World.start(cluster, { extraArgs: { "operator-controller": ["--max-backoff", "2s", "--recheck-interval", "1s"] } });
  });

  afterAll(async () => {
    await world?.stop();
  });

  describe.concurrent("of one extension each", () => {
    test.for(loadScenarios(join(import.meta.dirname, "scenarios")))("$name", async (scenario) => {
      const run = new ScenarioRun(world, scenario);
      try {
        await run.play();
      } finally {
        await run.end();
      }
    });
  });
});
