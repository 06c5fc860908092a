import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension, ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { type ExtensionParts, OperatorWorld } from "../support/operatorWorld.ts";
import { expectProblem } from "../support/problems.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const GROUP = "problems.example.com";

/** The definition of Things with a member `size` of a type. */
const buildSized = (type: string): KubeObject => {
  const spec: JsonObject = { type: "object", properties: { size: { type } } };
  return thingDefinition(GROUP, { properties: { spec } });
};
const monitor: KubeObject = { apiVersion: "monitoring.coreos.com/v1", kind: "ServiceMonitor", metadata: { name: "tiny" }, spec: {} };

/** An extension that cannot be installed. */
interface Scenario {
  readonly spec: Partial<ClusterExtensionSpec> & ExtensionParts;
  readonly reports: (extension: ClusterExtension) => unknown;
}

const SCENARIOS: [what: string, scenario: Scenario][] = [
  [
    "a kind that the cluster does not serve",
    {
      spec: { catalog: { channels: ["monitored"] } },
      reports: (extension) =>
        expectProblem(extension, "KindNotServed", {
          message: "this cluster does not serve ServiceMonitor (monitoring.coreos.com/v1)",
          next: "first install the operator or CustomResourceDefinition that provides the missing kind",
          details: [{ group: "monitoring.coreos.com", kind: "ServiceMonitor" }],
        }),
    },
  ],
  [
    "a missing ServiceAccount",
    {
      spec: { catalog: { channels: ["stable"] }, serviceAccount: { name: "nobody" } },
      reports: (extension) => expectProblem(extension, "ServiceAccountNotFound", { next: "--service-account nobody" }),
    },
  ],
  [
    "an invalid version range",
    {
      spec: { catalog: { version: "|" } },
      reports: (extension) => expectProblem(extension, "InvalidSpec", { message: 'desired version range "|" is invalid' }),
    },
  ],
  [
    "a missing image",
    {
      spec: { catalog: { channels: ["lost"] } },
      reports: (extension) => expectProblem(extension, "ImagePullFailed", { message: "manifest of registry.example/p.v4.0.0 unknown" }),
    },
  ],
];

describeWithPrivateCluster("status.problems", (cluster) => {
  let world: OperatorWorld;
  /** Difference of the controller's time and the time. */
  let shiftMs = 0;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { now: () => Date.now() + shiftMs });
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [buildSized("string")] }));
    world.bundle("p.v2.0.0", tinyBundle("2.0.0", { objects: [buildSized("integer")] }));
    world.bundle("p.v3.0.0", tinyBundle("3.0.0", { objects: [monitor] }));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v2.0.0", replaces: "p.v1.0.0" }], monitored: ["p.v3.0.0"], lost: ["p.v4.0.0"] },
      bundles: ["p.v1.0.0", "p.v2.0.0", "p.v3.0.0", "p.v4.0.0"],
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  test.for(SCENARIOS)("status.problems reports why an extension is not installed when the cause is %s", async ([, { spec, reports }]) => {
    const name = cluster.name("problem");
    await world.extension(name, spec);
    await eventually(async () => reports(await world.get(name)));
    await cluster.client.delete({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  });

  test("status.problems reports a failed CRD check until the version in spec changes", async () => {
    await world.extension("sized", { catalog: { version: "1.0.0" } });
    await world.conditions("sized", { Ready: "True/Succeeded" });
    const choose = (version: string): Promise<KubeObject> =>
      cluster.client.patch(
        { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "sized" },
        { spec: { source: { catalog: { version } } } },
        { type: "merge" },
      );
    await choose("2.0.0");
    await world.conditions("sized", { Installed: "True/Succeeded", Progressing: "True/Retrying" });
    await world.expectProblem("sized", "CRDUpgradeUnsafe", {
      message: `validating upgrade for CRD "things.${GROUP}": v1: ^.spec.size: type: type changed : "string" -> "integer"`,
      details: [{ name: `things.${GROUP}`, check: "type", message: expect.stringContaining("type changed") as string }],
    });
    await choose("1.0.0");
    await world.until("sized", ({ status }) => expect(status?.problems).toBeUndefined());
    await world.remove("sized");
  });

  test("status.support and the problem follow the support phases without a change of the extension or catalog", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0"));
    world.bundle("p.v1.1.0", tinyBundle("1.1.0"));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: ["p.v1.0.0", "p.v1.1.0"],
      lifecycle: { "1.0": { phases: ["Full 2026-01-01 2026-03-31"] }, "1.1": { phases: ["Full 2026-04-01 2026-06-30"] } },
    });
    const untilMidnight = 15_000;
    shiftMs = Date.parse("2026-04-01T00:00:00Z") - untilMidnight - Date.now();
    await world.extension("enforced", { catalog: { supportPolicy: "Enforce" } });
    await world.extension("warned", { catalog: { supportPolicy: "Warn", version: "1.0.0" } });
    const before = { state: "Supported", phase: "Full", phaseEndDate: "2026-03-31", endDate: "2026-03-31", platform: "Unknown" };
    for (const name of ["enforced", "warned"])
      await world.until(name, ({ status }) => {
        expect(status).toMatchObject({ install: { bundle: { name: "p.v1.0.0" } }, support: before });
        expect(status?.problems).toBeUndefined();
      });
    const { status } = await world.get("enforced");
    expect(status?.blockedUpdate).toMatchObject({ version: "1.1.0", reason: "Support" });
    await world.expectProblem("warned", "VersionNotSupported", {
      message: 'bundle "p.v1.0.0" is not supported: its support ended on 2026-03-31',
      next: "olmv1 versions p --supported",
    });
    await world.until("warned", (extension) =>
      expect(extension.status?.support).toEqual({ state: "Ended", endDate: "2026-03-31", platform: "Unknown" }),
    );
    await world.until("enforced", (extension) =>
      expect(extension.status).toMatchObject({
        install: { bundle: { name: "p.v1.1.0" } },
        support: { state: "Supported", endDate: "2026-06-30" },
      }),
    );
  });
});
