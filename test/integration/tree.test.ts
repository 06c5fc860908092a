import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { createCrd } from "../support/bundleFixture.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { configMap } from "../support/releases.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const PROGRAM = join(import.meta.dirname, "../../cmd/olmv1/main.ts");
const CRD = createCrd("greetings.hello.example.com", {
  group: "hello.example.com",
  scope: "Namespaced",
  names: { plural: "greetings", singular: "greeting", kind: "Greeting", listKind: "GreetingList" },
  versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
}) as unknown as KubeObject;

// Source: D-32 (see what belongs to an extension).
describeWithPrivateCluster("the objects of an extension", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    const { metadata: _metadata, ...settings } = configMap("settings", "any");
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [{ ...settings, metadata: { name: "settings" } }, CRD] }));
    await world.serve({ channels: { stable: ["p.v1.0.0"] }, bundles: ["p.v1.0.0"] });
    await world.extension("shown");
    await world.conditions("shown", { Ready: "True/Succeeded" });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  const tree = (name: string): Promise<{ stdout: string }> =>
    promisify(execFile)(process.execPath, [PROGRAM, "tree", name, "--kubeconfig", cluster.kubeconfig]);

  test("the status of an extension contains its inventory and its provided APIs", async () => {
    const { status } = await world.get("shown");
    expect(status?.inventory?.count).toBe(3);
    expect(status?.inventory?.objects.map(({ kind, name }) => `${kind} ${name}`).sort()).toEqual([
      "ConfigMap settings",
      "CustomResourceDefinition greetings.hello.example.com",
      "Deployment tiny",
    ]);
    expect(status?.providedAPIs).toEqual([{ group: "hello.example.com", kind: "Greeting", versions: ["v1"] }]);
  });

  test("olmv1 tree prints objects down to the Pods, with the health of each", async () => {
    const { stdout } = await tree("shown");
    const lines = stdout.replaceAll(/tiny-[a-z0-9]+/g, "tiny-HASH").replaceAll(/tiny-HASH-[a-z0-9]+/g, "tiny-HASH-POD");
    expect(lines.trimEnd().split("\n").sort()).toEqual(
      [
        "ClusterExtension shown: p.v1.0.0 (version 1.0.0), ready",
        "├─ CustomResourceDefinition greetings.hello.example.com: healthy",
        "├─ ConfigMap shown-system/settings",
        "└─ Deployment shown-system/tiny: healthy",
        "   └─ ReplicaSet tiny-HASH: healthy",
        "      └─ Pod tiny-HASH-POD: healthy",
      ].sort(),
    );
  });

  test("olmv1 tree prints missing objects, and reports an unknown extension", async () => {
    await cluster.client.patch(
      { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "shown" },
      { spec: { drift: { policy: "Ignore" } } },
      { type: "merge" },
    );
    await cluster.client.delete({ apiVersion: "v1", kind: "ConfigMap", namespace: "shown-system", name: "settings" });
    await eventually(async () => expect((await tree("shown")).stdout).toContain("ConfigMap shown-system/settings: missing"));
    await expect(tree("nobody")).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ClusterExtension "nobody" not found') as string,
    });
  });
});
