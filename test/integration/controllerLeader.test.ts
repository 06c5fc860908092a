import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { World } from "../support/world.ts";

const LEASE = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace: "olmv1-system", name: "9c4404e7.operatorframework.io" };
const FLAGS = [
  "--leader-elect",
  "--leader-election-lease-duration=10s",
  "--leader-election-renew-deadline=8s",
  "--leader-election-retry-period=1s",
];

// Source: I-30, I-31.
describeWithPrivateCluster("operator-controller with leader election", (cluster) => {
  let world: World;
  beforeAll(async () => {
    world = await World.start(cluster, { extraArgs: { "operator-controller": FLAGS } });
  });
  afterAll(() => world?.stop());

  const holder = async (): Promise<string> => {
    const lease = await cluster.client.get<KubeObject & { spec?: { holderIdentity?: string } }>(LEASE);
    return lease?.spec?.holderIdentity ?? "";
  };
  const ready = async (): Promise<string> => (await fetch(`${world.installation.probes["operator-controller"]}/readyz?verbose`)).text();

  test("operator-controller reconciles while it leads, and exits when another process leads", async () => {
    await eventually(async () => expect(await holder()).not.toBe(""));
    await world.apply({
      apiVersion: "olm.operatorframework.io/v1",
      kind: "ClusterExtension",
      metadata: { name: "led" },
      spec: {
        namespace: "default",
        serviceAccount: { name: "nobody" },
        source: { sourceType: "Catalog", catalog: { packageName: "none" } },
      },
    });
    await world.condition("ClusterExtension", "led", (c) => c("Progressing") !== undefined);
    expect(await ready()).toContain("leads");
    await cluster.client.patch(
      LEASE,
      { spec: { holderIdentity: "somebody-else", renewTime: "2100-01-01T00:00:00.000000Z" } },
      { type: "merge" },
    );
    await eventually(() => expect(world.unexpectedEnds.join("")).toContain("leader election lost"));
    world.unexpectedEnds.length = 0;
    // The process restarts as the kubelet would restart it, and is ready while the other process leads.
    await world.installation.restart("operator-controller");
    await eventually(async () => expect(await ready()).toContain("somebody-else leads"));
    expect(await ready()).toContain("readyz check passed");
  });
});
