import { expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, FIELD_MANAGER, LABEL_BUNDLE_VERSION, LABEL_PACKAGE_NAME } from "../../pkg/api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { ReleaseStore } from "../../pkg/operatorcontroller/releases/releaseStore.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { withoutBundleLabels } from "../../pkg/release/labels.ts";
import type { ReleaseRecord } from "../../pkg/release/record.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };

const configMap = (name: string, value: string, labels?: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...(labels ? { labels } : {}) },
  data: { value },
});

const account: KubeObject = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "helper" } };
const role: KubeObject = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "labelled-helper" },
  rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
};

// Source: D-30.
describeWithPrivateCluster("labels with package and version on installed objects", (cluster) => {
  const extension: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "x" };
  const store = (): ReleaseStore => new ReleaseStore(cluster.client, "olmv1-system");
  const start = async (): Promise<OperatorWorld> => {
    const world = await OperatorWorld.start(cluster);
    const theirs = configMap("theirs", "1", { [LABEL_BUNDLE_VERSION]: "9.9.9", team: "a" });
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects: [account, role, theirs, configMap("changing", "1")] }));
    world.bundle("p.v1.1.0", tinyBundle("1.1.0", { objects: [account, role, theirs, configMap("changing", "2")] }));
    const template = {
      metadata: { labels: { app: "tiny" } },
      spec: { containers: [{ name: "manager", image: "registry.example.com/tiny:1.1.0" }] },
    };
    const sameObjects = [account, role, theirs, configMap("changing", "2")];
    world.bundle("p.v1.2.0", tinyBundle("1.2.0", { objects: sameObjects, deployment: { template } }));
    const entries = [
      { name: "p.v1.1.0", replaces: "p.v1.0.0" },
      { name: "p.v1.2.0", replaces: "p.v1.1.0" },
    ];
    await world.serve({ channels: { stable: ["p.v1.0.0", ...entries] }, bundles: ["p.v1.0.0", "p.v1.1.0", "p.v1.2.0"] });
    return world;
  };
  const readDeployed = async (): Promise<ReleaseRecord> => {
    const { uid = "" } = (await cluster.client.get(extension))!.metadata;
    const [latest] = (await store().history({ name: "x", uid })).current;
    expect(latest?.status).toBe("deployed");
    return latest!;
  };
  const live = async (): Promise<KubeObject[]> => {
    const found = await Promise.all((await readDeployed()).objects.map((object) => cluster.client.get(toObjectRef(object))));
    return found.flatMap((object) => object ?? []);
  };
  /** Formats an object and its labels, such as "ConfigMap x-system/a p 1.0.0". */
  const labels = async (): Promise<string[]> =>
    (await live()).map((object) => {
      const { [LABEL_PACKAGE_NAME]: name, [LABEL_BUNDLE_VERSION]: version } = object.metadata.labels ?? {};
      return `${describeObject(object)} ${name ?? "-"} ${version ?? "-"}`;
    });
  const all = (text: string): string[] =>
    ["ServiceAccount x-system/helper", "ConfigMap x-system/changing", "ConfigMap x-system/theirs", "ClusterRole labelled-helper"]
      .concat("Deployment x-system/tiny")
      .map((object) => `${object} ${text}`);
  const resourceVersions = async (): Promise<unknown[]> => (await live()).map(({ metadata }) => metadata.resourceVersion);
  const generations = async (): Promise<unknown[]> => (await live()).map(({ metadata }) => metadata.generation);
  const upgradeTo = (version: string): Promise<KubeObject> =>
    cluster.client.patch(extension, { spec: { source: { catalog: { version } } } }, { type: "merge" });
  const waitUntilInstalled = async (world: OperatorWorld, version: string): Promise<void> => {
    await eventually(async () => expect((await world.get("x")).status?.install?.bundle.version).toBe(version));
    await world.conditions("x", { ...DONE, Available: "True/Healthy" });
  };
  const compared = async (world: OperatorWorld, request: string): Promise<void> => {
    const annotations = { "olm.operatorframework.io/reconcile-requested-at": request };
    await cluster.client.patch(extension, { metadata: { annotations } }, { type: "merge" });
    await eventually(async () => expect((await world.get("x")).status?.lastHandledReconcileAt).toBe(request));
  };

  test("every object has labels with package and version that each upgrade updates without listing the change in plan or Events", async () => {
    await using world = await start();
    await world.extension("x", { catalog: { version: "1.0.0" } });
    await waitUntilInstalled(world, "1.0.0");
    expect(await labels()).toEqual(all("p 1.0.0"));
    const tiny = (await live()).find(({ kind }) => kind === "Deployment");
    expect(JSON.stringify(tiny?.["spec"])).not.toContain(LABEL_PACKAGE_NAME);
    expect(JSON.stringify(tiny?.metadata.annotations)).not.toContain(LABEL_PACKAGE_NAME);
    const theirs = (await live()).find(({ metadata }) => metadata.name === "theirs");
    expect(theirs?.metadata.labels).toMatchObject({ team: "a" });

    await cluster.client.patch(extension, { spec: { approval: "Manual" } }, { type: "merge" });
    await upgradeTo("1.1.0");
    await world.conditions("x", { Progressing: "False/AwaitingApproval" });
    const { plan } = (await world.get("x")).status ?? {};
    expect(plan).toMatchObject({ create: 0, update: 2, delete: 0, unchanged: 3 });
    expect(plan?.objects?.flatMap(({ fields }) => fields)).toEqual(["data.value", "spec.template.spec.containers[name=manager].image"]);
    await cluster.client.patch(extension, { spec: { approval: "Automatic" } }, { type: "merge" });
    await waitUntilInstalled(world, "1.1.0");
    expect(await labels()).toEqual(all("p 1.1.0"));
    await eventually(async () =>
      expect(await world.events("x")).toContain('Upgraded: upgraded to bundle "p.v1.1.0" from "p.v1.0.0": 3 unchanged, 2 updated'),
    );
    expect((await world.events("x")).filter((text) => text.startsWith("Drift"))).toEqual([]);
  });

  test("drift correction restores the labels with package and version", async () => {
    await using world = await start();
    await compared(world, "once"); // drift during a comparison is corrected without a report
    const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: "x-system", name: "theirs" };
    await cluster.client.patch(
      ref,
      { metadata: { labels: { [LABEL_BUNDLE_VERSION]: null } } },
      { type: "merge", fieldManager: "somebody" },
    );
    await eventually(async () => expect(await labels()).toEqual(all("p 1.1.0")));
    await eventually(async () => {
      const events = (await world.events("x")).filter((text) => text.startsWith("Drift"));
      expect(events.sort()).toEqual([
        `DriftCorrected: corrected objects of bundle "p.v1.1.0": ConfigMap x-system/theirs (updated)`,
        `Drifted: objects of bundle "p.v1.1.0" drifted: ConfigMap x-system/theirs was changed: metadata.labels["${LABEL_BUNDLE_VERSION}"] removed`,
      ]);
    });
  });

  // Releases of earlier versions of this program lack the labels, like those of the Go operator-controller.
  test("missing labels in objects of an older release are not drift, and the next release adds the labels", async () => {
    const before = await readDeployed();
    const { uid = "" } = (await cluster.client.get(extension))!.metadata;
    const objects = before.objects.map(withoutBundleLabels);
    for (const object of objects) await cluster.client.apply(object, { fieldManager: FIELD_MANAGER, force: true });
    // Another input digest, as after an upgrade of this program, which causes bundles to be rendered again.
    await store().update({ ...before, objects, inputDigest: "of another rendering" }, { name: "x", uid });
    expect(await labels()).toEqual(all("- -"));
    const [versions, known] = [await resourceVersions(), await generations()];

    await using world = await start();
    const { inputDigest } = before;
    await eventually(async () => expect((await readDeployed()).inputDigest).toBe(inputDigest));
    await compared(world, "again");
    expect([await resourceVersions(), await labels(), (await readDeployed()).version]).toEqual([versions, all("- -"), before.version]);
    expect((await world.events("x")).filter((text) => text.startsWith("Drift"))).toHaveLength(2);

    await upgradeTo("1.2.0");
    await waitUntilInstalled(world, "1.2.0");
    expect([await labels(), await generations()]).toEqual([all("p 1.2.0"), known]);
    await eventually(async () =>
      expect(await world.events("x")).toContain('Upgraded: upgraded to bundle "p.v1.2.0" from "p.v1.1.0": 5 unchanged'),
    );
  });
});
