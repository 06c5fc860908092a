import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;
const requiring = (group: string) => ({
  minKubeVersion: "1.20.0",
  customresourcedefinitions: {
    required: [{ name: `things.${group}`, version: "v1", kind: "Thing", displayName: "Thing", description: "" }],
  },
});

// Source: H-12, S0-136, S0-142.
describeWithPrivateCluster("requirements of a bundle", (cluster) => {
  let world: OperatorWorld;
  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000 });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const events = async (name: string): Promise<string[]> =>
    (await world.events(name)).filter((text) => text.startsWith("RequirementsNotMet: "));

  test("policy Enforce installs nothing until the requirements are met, and then resumes automatically", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { spec: requiring("enforced.example.com") }));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
    await world.extension("enforced", { install: { requirements: "Enforce" } });
    const { Progressing = "" } = await world.conditions("enforced", {
      Progressing: "False/RequirementsNotMet",
      Installed: "False/Failed",
      Ready: "False/RequirementsNotMet",
    });
    expect(Progressing).toContain('CustomResourceDefinition "things.enforced.example.com" is required, but not served');
    const details = ['CustomResourceDefinition "things.enforced.example.com" is required, but not served'];
    await world.expectProblem("enforced", "RequirementsNotMet", { next: "install the missing APIs or upgrade the cluster", details });
    const deployments = await cluster.client.list({ apiVersion: "apps/v1", kind: "Deployment" }, { namespace: "enforced-system" });
    expect(deployments.items).toEqual([]);
    await eventually(async () => expect(await events("enforced")).toHaveLength(1));
    await cluster.client.create(thingDefinition("enforced.example.com"));
    await world.conditions("enforced", { Progressing: "True/Succeeded", Installed: "True/Succeeded", Available: "True/Healthy" });
    await cluster.client.delete({ ...CRD, name: "things.enforced.example.com" });
  });

  test("the default policy installs the bundle, and reports unmet requirements until they are met", async () => {
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { spec: requiring("warned.example.com") }));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
    await world.extension("warned");
    const message =
      'bundle "p.v1.0.0" may not work: the cluster does not meet its requirements: CustomResourceDefinition "things.warned.example.com" is required, but not served';
    const installed = { Progressing: "True/Succeeded", Installed: "True/Succeeded", Available: "True/Healthy" };
    await world.conditions("warned", installed);
    await world.expectProblem("warned", "RequirementsNotMet", { severity: "Warning", message: message });
    world.controller.healthChanged("warned"); // a reconcile without an apply reports it as well
    await eventually(async () => expect((await world.conditions("warned", installed))["problems"]).toContain(message));
    await eventually(async () => expect(await events("warned")).toEqual([`RequirementsNotMet: ${message}`]));
    await cluster.client.create(thingDefinition("warned.example.com"));
    await eventually(async () => expect((await world.conditions("warned", installed))["problems"]).toBe(""));
    await cluster.client.delete({ ...CRD, name: "things.warned.example.com" });
  });
});
