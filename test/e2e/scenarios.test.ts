import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Scenario as ConformanceScenario } from "../../pkg/conformance/scenario.ts";
import { readScenarios } from "../../pkg/conformance/scenarioFiles.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import { AuditTail } from "../support/auditTail.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ConnectProxy } from "../support/connectProxy.ts";
import { DeployedServers } from "../support/deployedServers.ts";
import { applyServingSecrets } from "../support/manifests.ts";
import { OpenShift } from "../support/openShift.ts";
import { listDeniedRequests } from "../support/programPermissions.ts";
import { runCli } from "../support/runCli.ts";
import { loadScenarios, type Scenario } from "../support/scenarios/scenario.ts";
import { ScenarioRun } from "../support/scenarios/scenarioRun.ts";
import { World } from "../support/world.ts";

const FOLDER = join(import.meta.dirname, "scenarios");
/** Host that only the proxy can resolve. */
const CATALOGS_HOST = "catalogd-service.olmv1-system.svc";

/** The conformance scenarios of these groups that always run: unit tests test the same decisions. Other groups run completely. */
const SAMPLES: Readonly<Record<string, readonly string[]>> = {
  resolution: [
    "ambiguous",
    "deprecated-package",
    "no-package",
    "priority",
    "range-automatic",
    "replaces",
    "replaces-only",
    "selector",
    "self-certified",
    "skips",
    "step-by-step",
  ],
  availability: ["leader-operator-controller", "restart-catalogd", "restart-unchanged"],
  "api-services": ["api-service", "api-service-uninstalled"],
  extended: ["suspended"],
  health: ["health-recovered"],
  permissions: ["account-managed"],
  webhooks: ["webhook-validating"],
  "crd-upgrade-safety": ["crd-add-field", "crd-check-off", "crd-remove-field"],
};
const ALL = process.env["OLMV1_TEST_ALL_SCENARIOS"] === "1";
/** The conformance scenarios of these groups need servers in Deployments. */
const DEPLOYED = ["availability", "metrics"];
/** Label of the objects of conformance scenarios. */
const RUN = { labelSelector: "conformance.olm.operatorframework.io/run" };

/** The report of `olmv1 conformance -o json`. */
interface ConformanceReport {
  readonly scenarios: readonly { readonly id: string; readonly state: string; readonly message?: string }[];
}

describeWithPrivateCluster("scenarios", (cluster) => {
  const common = ["--max-backoff", "2s", "--recheck-interval", "1s"];
  const flags = { catalogd: new Array<string>(), "operator-controller": [...common], "permission-manager": new Array<string>() };
  const env: Record<"catalogd" | "operator-controller", Record<string, string>> = { catalogd: {}, "operator-controller": {} };
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

  /** Runs conformance scenarios, and expects that all of them pass and leave no objects. */
  async function conform(isChosen: (scenario: ConformanceScenario) => boolean): Promise<void> {
    const isSample = ({ group, id }: ConformanceScenario): boolean => ALL || (SAMPLES[group]?.includes(id) ?? true);
    const chosen = readScenarios().filter((scenario) => isChosen(scenario) && isSample(scenario));
    const ids = chosen.map(({ id }) => id);
    const registry = ["--registry", `${cluster.registry.host}/conformance`, "--insecure", "--scenario", ids.join(",")];
    const { out, err } = await runCli(["conformance", "--kubeconfig", cluster.kubeconfig, ...registry, "-o", "json"]);
    const { scenarios } = JSON.parse(out) as ConformanceReport;
    expect(
      scenarios.filter(({ state }) => state !== "passed"),
      err,
    ).toEqual([]);
    expect(scenarios.map(({ id }) => id)).toEqual(ids);
    for (const [apiVersion, kind] of [
      ["olm.operatorframework.io/v1", "ClusterExtension"],
      ["olm.operatorframework.io/v1", "ClusterCatalog"],
      ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
      ["v1", "Namespace"],
    ] as const)
      expect((await cluster.client.list({ apiVersion, kind }, RUN)).items.map(({ metadata }) => metadata.name)).toEqual([]);
  }

  test("olmv1 conformance passes the scenarios of profile core, and leaves no objects", () =>
    conform(({ profile, group }) => profile === "core" && !DEPLOYED.includes(group)));

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

  // Deployments of simulated Pods restart the controllers.
  describe("with servers in Deployments", () => {
    let deployed: DeployedServers | undefined;

    beforeAll(async () => {
      flags.catalogd = [];
      flags["operator-controller"] = [...common];
      env["operator-controller"] = {};
      deployed = await DeployedServers.start({
        client: cluster.client,
        installation: world.installation,
        workDir: world.workDir,
        flags,
        env,
      });
    });

    afterAll(() => deployed?.[Symbol.asyncDispose]());

    test("olmv1 conformance passes the scenarios about restarts and metrics, and those of most other profiles", () =>
      conform(
        ({ profile, group, id }) =>
          id !== "leader-catalogd" && (DEPLOYED.includes(group) || !["core", "openshift"].includes(profile)) && group !== "cluster-network",
      ));

    describe("with the API of OpenShift", () => {
      beforeAll(async () => {
        await new OpenShift(cluster.client).imitate(cluster.registry.host);
        for (const server of ["catalogd", "operator-controller"] as const) await world.installation.restart(server);
      });

      test("olmv1 conformance passes the scenarios of profile openshift, and those about proxies and mirrors", () =>
        conform(({ profile, group }) => profile === "openshift" || group === "cluster-network"));
    });
  });
});
