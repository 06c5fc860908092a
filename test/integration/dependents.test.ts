import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import { contentFrom } from "../support/catalogFixture.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const INSTALLED = { Progressing: "True/Succeeded", Installed: "True/Succeeded", Available: "True/Healthy" };
const HELD = { Progressing: "False/RequiredByOthers", Installed: "True/Succeeded" };

const needsPackage = (packageName: string): Property => ({ type: "olm.package.required", value: { packageName, versionRange: ">=1.0.0" } });
const needsThing = (group: string): Property => ({ type: "olm.gvk.required", value: { group, version: "v1", kind: "Thing" } });

// Source: H-14.
describeWithPrivateCluster("an extension that others depend on", (cluster) => {
  let world: OperatorWorld;
  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000 });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const ref = (name: string) => ({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });
  const setPolicy = (name: string, policy: string): Promise<KubeObject> =>
    cluster.client.patch(ref(name), { spec: { dependencies: { policy } } }, { type: "merge" });

  /** Installs package `name`, whose bundle has these properties, and waits until dependents are known. */
  async function install(name: string, properties: Property[], objects: KubeObject[] = []): Promise<void> {
    const bundle = `${name}.v1.0.0`;
    world.bundle(bundle, tinyBundle("1.0.0", { objects }));
    await world.servePackage(contentFrom({ channels: { stable: [bundle] }, bundles: [{ name: bundle, properties }] }, name), name);
    await world.extension(name, { catalog: { packageName: name }, dependencies: { policy: "Ignore" } });
    await world.conditions(name, INSTALLED);
    if (properties.length > 0) await setPolicy(name, "Require");
  }

  const isRunning = async (name: string): Promise<boolean> =>
    (await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", name: "tiny", namespace: `${name}-system` })) !== undefined;

  test("an extension is not uninstalled until its dependents are deleted, and status lists the dependents", async () => {
    await install("provider", [], [thingDefinition("held.example.com")]);
    await install("consumer", [needsThing("held.example.com"), needsPackage("provider")]);
    await cluster.client.delete(ref("provider"));
    const { Progressing = "" } = await world.conditions("provider", HELD);
    expect(Progressing).toContain(
      'not uninstalled: other extensions depend on bundle "provider.v1.0.0": ClusterExtension "consumer" (bundle "consumer.v1.0.0") needs ',
    );
    expect(Progressing).toContain('API held.example.com/v1 Thing, package "provider" >=1.0.0');
    await world.expectProblem("provider", "RequiredByOthers", { details: ["consumer"] });
    expect(await isRunning("provider")).toBe(true);
    await eventually(async () =>
      expect((await world.events("provider")).filter((text) => text.startsWith("RequiredByOthers: "))).toHaveLength(1),
    );
    await cluster.client.delete(ref("consumer"));
    await world.gone("consumer");
    await world.gone("provider");
    expect(await isRunning("provider")).toBe(false);
  });

  test("an extension is uninstalled when no other extension depends on it any longer", async () => {
    await install("left", []);
    await install("leaver", [needsPackage("left")]);
    await cluster.client.delete(ref("left"));
    await world.conditions("left", HELD);
    await setPolicy("leaver", "Ignore");
    await world.gone("left");
    await world.remove("leaver");
  });

  test("extensions that depend on each other are uninstalled together", async () => {
    await install("one", [needsPackage("other")]);
    await install("other", [needsPackage("one")]);
    await cluster.client.delete(ref("one"));
    await world.conditions("one", HELD);
    await cluster.client.delete(ref("other"));
    await Promise.all([world.gone("one"), world.gone("other")]);
  });

  test("an extension with dependents is uninstalled with annotation force-uninstall", async () => {
    await install("forced", []);
    await install("broken", [needsPackage("forced")]);
    await cluster.client.delete(ref("forced"));
    await world.conditions("forced", HELD);
    await world.expectProblem("forced", "RequiredByOthers", {
      next: "kubectl annotate clusterextension forced olm.operatorframework.io/force-uninstall=true",
    });
    const annotations = { "olm.operatorframework.io/force-uninstall": "true" };
    await cluster.client.patch(ref("forced"), { metadata: { annotations } }, { type: "merge" });
    await world.gone("forced");
    expect(await isRunning("broken")).toBe(true);
  });
});
