import { expect, test } from "vitest";
import { ANNOTATION_RECONCILE_REQUESTED_AT, API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const INJECT = "config.openshift.io/inject-trusted-cabundle";

const trusted: KubeObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "trusted-ca", labels: { [INJECT]: "true" } } };
const configMap = (name: string, value: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { value },
});
const secret = (name: string, value: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  stringData: { value },
});

describeWithPrivateCluster("ConfigMaps and Secrets of a bundle", (cluster) => {
  const extension: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "x" };
  const toRef = (kind: string, name: string): ObjectRef => ({ apiVersion: "v1", kind, namespace: "x-system", name });
  const start = async (): Promise<OperatorWorld> => {
    const world = await OperatorWorld.start(cluster);
    const v1 = [trusted, configMap("settings-v1", "1"), secret("credentials-v1", "1"), configMap("kept", "1"), secret("kept", "1")];
    const v2 = [trusted, configMap("settings-v2", "1"), secret("credentials-v2", "1"), configMap("kept", "2"), secret("kept", "2")];
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: v1 }));
    world.bundle("p.v2.0.0", tinyBundle("2.0.0", { objects: v2 }));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v2.0.0", replaces: "p.v1.0.0" }] },
      bundles: ["p.v1.0.0", "p.v2.0.0"],
    });
    return world;
  };
  const waitUntilInstalled = async (world: OperatorWorld, version: string): Promise<void> => {
    await eventually(async () => expect((await world.get("x")).status?.install?.bundle.version).toBe(version));
    await world.conditions("x", { Progressing: "True/Succeeded" });
  };
  const names = async (kind: string): Promise<string[]> => {
    const { items } = await cluster.client.list({ apiVersion: "v1", kind }, { namespace: "x-system" });
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");
  };
  const patchLabel = (value: string): Promise<KubeObject> =>
    cluster.client.patch(toRef("ConfigMap", "trusted-ca"), { metadata: { labels: { [INJECT]: value } } }, { type: "merge" });
  /** Expects the label of the bundle, and the data that the cluster wrote. */
  const isTrusted = (pem: string): Promise<void> =>
    eventually(async () =>
      expect(await cluster.client.get(toRef("ConfigMap", "trusted-ca"))).toMatchObject({
        metadata: { labels: { [INJECT]: "true" } },
        data: { "ca-bundle.crt": pem },
      }),
    );
  const inject = (pem: string): Promise<KubeObject> =>
    cluster.client.patch(
      toRef("ConfigMap", "trusted-ca"),
      { data: { "ca-bundle.crt": pem } },
      { type: "merge", fieldManager: "cluster-network-operator" },
    );

  // S0-090, S0-012, S0-013, H-09.
  test("data that the cluster writes into a ConfigMap is kept by drift correction, upgrades and restarts until the bundle no longer contains the ConfigMap", async () => {
    {
      await using world = await start();
      await world.extension("x", { catalog: { version: "1.0.0" } });
      await waitUntilInstalled(world, "1.0.0");
      await inject("PEM 1");
      await patchLabel("false");
      await isTrusted("PEM 1");
      const uids = async (): Promise<unknown[]> =>
        Promise.all(["ConfigMap", "Secret"].map(async (kind) => (await cluster.client.get(toRef(kind, "kept")))?.metadata.uid));
      const before = await uids();
      await cluster.client.patch(extension, { spec: { source: { catalog: { version: "2.0.0" } } } }, { type: "merge" });
      await waitUntilInstalled(world, "2.0.0");
      expect([await names("ConfigMap"), await names("Secret")]).toEqual([
        ["kept", "settings-v2", "trusted-ca"],
        ["credentials-v2", "kept"],
      ]);
      expect(await uids()).toEqual(before);
      expect(await cluster.client.get(toRef("ConfigMap", "kept"))).toMatchObject({ data: { value: "2" } });
      expect(await cluster.client.get(toRef("Secret", "kept"))).toMatchObject({ data: { value: "Mg==" } });
      await isTrusted("PEM 1");
    }
    await inject("PEM 2");
    await patchLabel("false");
    await using world = await start();
    await isTrusted("PEM 2");
    const annotations = { [ANNOTATION_RECONCILE_REQUESTED_AT]: "now" };
    await cluster.client.patch(extension, { metadata: { annotations } }, { type: "merge" });
    await eventually(async () => expect((await world.get("x")).status?.lastHandledReconcileAt).toBe("now"));
    await isTrusted("PEM 2");
    await world.remove("x");
    expect([await names("ConfigMap"), await names("Secret")]).toEqual([[], []]);
  });
});
