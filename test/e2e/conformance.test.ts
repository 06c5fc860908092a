import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { runCli } from "../support/runCli.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { World } from "../support/world.ts";

/** The report of `olmv1 conformance -o json`. */
interface Report {
  readonly counts: { readonly passed: number; readonly failed: number; readonly notRun: number };
  readonly scenarios: readonly { readonly id: string; readonly state: string; readonly message?: string }[];
}

const RUN = { labelSelector: "conformance.olm.operatorframework.io/run" };

describeWithPrivateCluster("olmv1 conformance", (cluster) => {
  test("passes all scenarios of profile core on olmv1, and leaves no objects", async () => {
    const world = await World.start(cluster, { extraArgs: { "operator-controller": ["--max-backoff", "2s"] } });
    using folder = new TempFolder();
    try {
      const junit = join(folder.path, "conformance.xml");
      const registry = ["--registry", `${cluster.registry.host}/conformance`, "--insecure"];
      const { out, err } = await runCli(["conformance", "--kubeconfig", cluster.kubeconfig, ...registry, "--junit", junit, "-o", "json"]);
      const { counts, scenarios } = JSON.parse(out) as Report;
      expect(
        scenarios.filter(({ state }) => state !== "passed"),
        err,
      ).toEqual([]);
      expect(counts.passed).toBeGreaterThanOrEqual(120);
      for (const [apiVersion, kind] of [
        ["olm.operatorframework.io/v1", "ClusterExtension"],
        ["olm.operatorframework.io/v1", "ClusterCatalog"],
        ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding"],
        ["v1", "Namespace"],
      ] as const)
        expect((await cluster.client.list({ apiVersion, kind }, RUN)).items.map(({ metadata }) => metadata.name)).toEqual([]);
    } finally {
      await world.stop();
    }
  });
});
