import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { CatalogSource, ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const max = (token: string): string => `[{"type":"olm.maxOpenShiftVersion","value":${token}}]`;
const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };

// Source: S1-29 to S1-36, X-14, D-06.
describeWithPrivateCluster("bundles that limit the cluster's version", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { driftIntervalMs: 500 });
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { properties: max("4.20") }));
    world.bundle("p.v1.1.0", tinyBundle("1.1.0", { properties: max('"4.18"') }));
    world.bundle("p.v1.2.0", tinyBundle("1.2.0"));
  });
  beforeEach(async () => {
    world.clusterVersion.set("4.19.3");
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }, { name: "p.v1.2.0", replaces: "p.v1.1.0" }] },
      bundles: ["p.v1.0.0", "p.v1.1.0", "p.v1.2.0"],
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const edit = (name: string, catalog: Partial<Record<keyof CatalogSource, unknown>>): Promise<ClusterExtension> =>
    cluster.client.patch({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name }, { spec: { source: { catalog } } }, { type: "merge" });
  const expectEvent = (name: string, text: string): Promise<void> =>
    eventually(async () => expect(await world.events(name)).toContainEqual(expect.stringContaining(text)));

  test("condition ClusterUpgradeBlocked changes with the version of the cluster and with the installed bundle", async () => {
    await world.extension("held", { catalog: { version: "1.0.0" } });
    expect(await world.conditions("held", { ...DONE, ClusterUpgradeBlocked: "False/Compatible" })).toMatchObject({
      Progressing: "Desired state reached",
      ClusterUpgradeBlocked: 'bundle "p.v1.0.0" (version 1.0.0) has olm.maxOpenShiftVersion 4.20: the cluster can be upgraded up to 4.20',
    });
    world.clusterVersion.set("4.20.0");
    const blocked = await world.conditions("held", { ClusterUpgradeBlocked: "True/IncompatibleOperatorInstalled" });
    expect(blocked).toMatchObject({
      ClusterUpgradeBlocked:
        'bundle "p.v1.0.0" (version 1.0.0) has olm.maxOpenShiftVersion 4.20, which blocks an upgrade of the cluster to 4.21; version 1.1.0 of catalog "c" would allow the cluster upgrade, but spec.source.catalog.version "1.0.0" excludes it',
    });
    const remedy = 'version 1.1.0 of catalog "c" would allow the cluster upgrade, but spec.source.catalog.version "1.0.0" excludes it';
    await world.expectProblem("held", "ClusterUpgradeBlocked", { details: { bundles: ["p.v1.0.0"], target: "4.21", remedy } });
    await expectEvent("held", "ClusterUpgradeBlocked: bundle");
    world.clusterVersion.set({ unknown: "nobody knows" });
    await world.conditions("held", { ClusterUpgradeBlocked: "Unknown/ClusterVersionUnknown" });
    await expectEvent("held", "ClusterUpgradeUnblocked: bundle");
    world.clusterVersion.set("4.20.0");
    await world.conditions("held", { ClusterUpgradeBlocked: "True/IncompatibleOperatorInstalled" });
    await edit("held", { version: "1.1.0" });
    await eventually(async () => {
      const { ClusterUpgradeBlocked } = await world.conditions("held", {
        ...DONE,
        ClusterUpgradeBlocked: "True/IncompatibleOperatorInstalled",
      });
      expect(ClusterUpgradeBlocked).toContain('bundle "p.v1.1.0" (version 1.1.0) has olm.maxOpenShiftVersion 4.18, which');
    });
    await world.expectProblem("held", "ClusterVersionNotSupported", {
      message: `bundle "p.v1.1.0" may not work on this cluster: its olm.maxOpenShiftVersion 4.18 is below the cluster's 4.20`,
    });
    await edit("held", { version: null });
    await eventually(async () => {
      const { status } = await world.get("held");
      expect(status?.install?.bundle.name).toBe("p.v1.2.0");
      expect(findCondition(status?.conditions, "ClusterUpgradeBlocked")).toBeUndefined();
    });
    await expectEvent("held", "ClusterUpgradeUnblocked: no installed bundle of this extension limits the cluster version");
  });

  test("clusterVersionPolicy Enforce keeps the installed bundle when the limit of the new bundle is only in its image", async () => {
    const { spec } = await world.extension("enforced", { catalog: { clusterVersionPolicy: "Enforce", version: "1.0.0" } });
    await world.conditions("enforced", DONE);
    await edit("enforced", { version: "<1.2.0" });
    const { Progressing } = await world.conditions("enforced", { Installed: "True/Succeeded", Progressing: "True/Retrying" });
    expect(Progressing).toBe(
      `error for resolved bundle "p.v1.1.0" with version "1.1.0": bundle "p.v1.1.0" is not installed: its olm.maxOpenShiftVersion 4.18 is below the cluster's 4.19 (according to its ClusterServiceVersion, not the catalog)`,
    );
    await world.expectProblem("enforced", "ClusterVersionNotSupported", { severity: "Error", next: "set clusterVersionPolicy to Warn" });
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace: spec.namespace, name: "tiny" };
    await cluster.client.delete(deployment);
    await eventually(async () => expect(await cluster.client.get(deployment)).toBeDefined());
    expect(await world.releases("enforced")).toEqual(["v1 deployed"]);
    world.clusterVersion.set("4.18.30");
    await eventually(async () => expect((await world.get("enforced")).status?.install?.bundle.name).toBe("p.v1.1.0"), {
      timeoutMs: 30_000,
    });
  });

  test("clusterVersionPolicy Enforce selects a supported version when the catalog contains the limit", async () => {
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: [
        { name: "p.v1.0.0", max: "4.20" },
        { name: "p.v1.1.0", max: "4.18" },
      ],
    });
    await world.extension("chosen", { catalog: { clusterVersionPolicy: "Enforce" } });
    const { Progressing } = await world.conditions("chosen", DONE);
    expect((await world.get("chosen")).status?.install?.bundle.name).toBe("p.v1.0.0");
    expect(Progressing).toBe("Desired state reached");
    await world.expectProblem("chosen", "ClusterVersionNotSupported", {
      message: `clusterVersionPolicy Enforce excludes bundle "p.v1.1.0" (its olm.maxOpenShiftVersion 4.18 is below the cluster's 4.19)`,
    });
  });
});
