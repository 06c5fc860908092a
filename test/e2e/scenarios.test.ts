import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ConnectProxy } from "../support/connectProxy.ts";
import { applyServingSecrets } from "../support/manifests.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { loadScenarios, type Scenario } from "../support/scenarios/scenario.ts";
import { ScenarioRun } from "../support/scenarios/scenarioRun.ts";
import { World } from "../support/world.ts";

const FOLDER = join(import.meta.dirname, "scenarios");
/** Host that only the proxy can resolve. */
const CATALOGS_HOST = "catalogd-service.olmv1-system.svc";

describeWithPrivateCluster("scenarios", (cluster) => {
  const flags = { catalogd: new Array<string>(), "operator-controller": ["--max-backoff", "2s", "--recheck-interval", "1s"] };
  const env: Record<"operator-controller", Record<string, string>> = { "operator-controller": {} };
  let world: World;

  beforeAll(async () => {
    world = await World.start(cluster, { extraArgs: flags, env });
  });

  afterAll(async () => {
    await world?.stop();
    expect(await listDeniedRequests(new AuditTail(cluster.auditLog))).toEqual([]);
  });

  async function play(scenario: Scenario): Promise<void> {
    const run = new ScenarioRun(world, scenario);
    try {
      await run.play();
    } finally {
      await run.end();
    }
  }

  describe.concurrent("with one extension each", () => {
    test.for(loadScenarios(FOLDER))("$name", play);
  });

  // These scenarios restart the controllers, so they run sequentially after all others.
  describe("with a proxy", () => {
    const scenarios = new Map(loadScenarios(join(FOLDER, "proxy")).map((scenario) => [scenario.id, scenario]));
    let proxy: ConnectProxy | undefined;

    beforeAll(async () => {
      // catalogd creates its certificate, and operator-controller trusts the one in the Secret.
      await applyServingSecrets(cluster.client);
      const selfManaged = ["--serving-certificates", "self-managed", "--metrics-bind-address", "0"];
      flags.catalogd.push("--external-address", CATALOGS_HOST, ...selfManaged);
      flags["operator-controller"].push(...selfManaged);
      await world.installation.restart("catalogd");
    });

    afterAll(() => proxy?.stop());

    async function restartBehind(url: string): Promise<void> {
      env["operator-controller"]["HTTPS_PROXY"] = url;
      await world.installation.restart("operator-controller");
    }

    function scenario(id: string): Scenario {
      const found = scenarios.get(id);
      if (!found) throw new Error(`scenario ${id} not found`);
      return found;
    }

    test("operator-controller reports a proxy that it cannot reach", async () => {
      const [port] = await findFreePorts(1);
      await restartBehind(`http://127.0.0.1:${port}`);
      await play(scenario("no-proxy"));
    });

    test("operator-controller connects to catalogs through the proxy", async () => {
      proxy = await ConnectProxy.start(() => Number(new URL(world.installation.catalogs).port));
      await restartBehind(proxy.url);
      await play(scenario("proxied"));
      expect(proxy.seen).toContain(`${CATALOGS_HOST}:443`);
    });
  });
});
