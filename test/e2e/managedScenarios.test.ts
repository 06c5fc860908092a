import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { loadScenarios } from "../support/scenarios/scenario.ts";
import { type ScenarioPermissions, ScenarioRun } from "../support/scenarios/scenarioRun.ts";
import { World } from "../support/world.ts";

const SCENARIOS = loadScenarios(join(import.meta.dirname, "scenarios"));
const MODES: readonly {
  permissions: ScenarioPermissions;
  title: string;
  without: readonly string[];
  flags: Parameters<typeof World.start>[1];
}[] = [
  {
    permissions: "managed",
    title: "the default installation, without a ServiceAccount",
    // These set a ServiceAccount.
    without: ["named-account", "cleared"],
    flags: {},
  },
  {
    permissions: "drop-in",
    title: "overlay drop-in, which ignores the ServiceAccount",
    without: [],
    flags: {
      extraArgs: {
        "operator-controller": ["--managed-permissions", "always"],
        "permission-manager": ["--managed-permissions", "always", "--default-grant", "Automatic"],
      },
    },
  },
];

// The scenarios of scenarios.test.ts, without prepared permissions.
for (const { permissions, title, without, flags } of MODES)
  describeWithPrivateCluster(`scenarios on ${title}`, (cluster) => {
    let world: World;

    beforeAll(async () => {
      const { extraArgs = {} } = flags ?? {};
      const fast = ["--max-backoff", "2s", "--recheck-interval", "1s"];
      world = await World.start(cluster, {
        extraArgs: { ...extraArgs, "operator-controller": [...fast, ...(extraArgs["operator-controller"] ?? [])] },
      });
    });

    afterAll(async () => {
      await world?.stop();
      expect(await listDeniedRequests(new AuditTail(cluster.auditLog))).toEqual([]);
    });

    describe.concurrent("with one extension each", () => {
      const played = SCENARIOS.filter(({ id }) => !without.includes(id));
      test.for(played)("$name", async (scenario) => {
        const run = new ScenarioRun(world, scenario, permissions);
        try {
          await run.play();
        } finally {
          await run.end();
        }
      });
    });
  });
