import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { Condition, JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { formatTime } from "../../pkg/golang/time.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { CLUSTER_OPERATOR } from "../../pkg/operatorcontroller/openshift/clusterOperator.ts";
import { describeWithPrivateCluster, eventually, type TestCluster } from "../support/cluster.ts";
import { GateWorld } from "../support/gateWorld.ts";
import { GoInstallation } from "../support/goInstallation.ts";
import { describeWithData } from "../support/sharedData.ts";
import { SmallPackage } from "../support/smallPackage.ts";

const HELD = new SmallPackage("held", { version: "1.0.0", properties: '[{"type": "olm.maxOpenShiftVersion", "value": "4.18"}]' });
const BROKEN = new SmallPackage("broken", { version: "1.0.0", properties: '[{"type": "olm.maxOpenShiftVersion", "value": "v4.18"}]' });
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment", namespace: SYSTEM_NAMESPACE, name: "catalogd-controller-manager" };
const CATALOGD = "CatalogdDeploymentCatalogdControllerManager";
const FIVE = ["Degraded", "Progressing", "Available", "Upgradeable", "EvaluationConditionsDetected"];
/** The namespace in which cluster-olm-operator looks for releases. */
const OPENSHIFT_NAMESPACE = "openshift-operator-controller";

/** Makes operator-controller keep its releases in another namespace. */
async function grantSystemNamespace(cluster: TestCluster, namespace: string): Promise<void> {
  const apply = (object: KubeObject) => cluster.client.apply(object, { fieldManager: "test", force: true });
  await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const text = readFileSync(join(import.meta.dirname, "../../config/rbac/operator-controller.yaml"), "utf8");
  for (const object of parseYamlDocuments(text) as KubeObject[]) {
    if (object.metadata.namespace !== SYSTEM_NAMESPACE || !object.kind.startsWith("Role")) continue;
    await apply({ ...object, metadata: { ...object.metadata, namespace } });
  }
}

// Source: S1-35, S1-36, G-01, G-02 and G-05.
describeWithPrivateCluster("ClusterOperator olm", (cluster, dev) => {
  let gate: GateWorld;

  const is = (status: string) => gate.openShift.upgradeable((condition) => condition.status === status);
  const mode = async (): Promise<unknown> => (await gate.logged("cluster upgrade gate mode changed")).at(-1)?.["mode"];
  /** Changes an operator condition as if it had lasted for this number of minutes. */
  const age = async (type: string, minutes: number): Promise<void> => {
    const status = (await gate.openShift.clusterOperator())?.["status"] as { extension: { conditions: Condition[] } } | undefined;
    if (status === undefined) throw new Error("there is no ClusterOperator olm whose conditions could be made older");
    const lastTransitionTime = formatTime(new Date(Date.now() - minutes * 60_000));
    const conditions = status.extension.conditions.map((one) => (one.type === type ? { ...one, lastTransitionTime } : one));
    expect(conditions).toContainEqual(expect.objectContaining({ type, status: "True" }));
    await cluster.client.patch(CLUSTER_OPERATOR, { status: { extension: { conditions } } }, { type: "merge", subresource: "status" });
  };
  const restartWith = async (...flags: string[]): Promise<void> => {
    gate.flags.splice(0, Number.POSITIVE_INFINITY, "--max-backoff", "2s", ...flags);
    await gate.restart(undefined);
  };

  beforeAll(async () => {
    gate = await GateWorld.start(cluster, { version: "4.18.3", packages: [HELD, BROKEN] });
    await is("True");
  });
  afterEach(async () => {
    dev().setPodReadiness(() => "Ready");
    await gate.openShift.removeOlm();
    await gate.clear();
    await is("True");
  });
  afterAll(() => gate?.world.stop());

  test("ClusterOperator olm is created again when it is deleted, and corrected when it is edited", async () => {
    const first = await gate.openShift.clusterOperator();
    await cluster.client.delete(CLUSTER_OPERATOR);
    await eventually(async () => expect((await gate.openShift.clusterOperator())?.metadata.uid).not.toBe(first?.metadata.uid));
    await is("True");
    const status = { conditions: [], versions: [{ name: "operator", version: "1.2.3" }], relatedObjects: [] };
    await cluster.client.patch(CLUSTER_OPERATOR, { status }, { type: "merge", subresource: "status" });
    await is("True");
    expect((await gate.openShift.clusterOperator())?.["status"]).toMatchObject({ versions: [{ name: "operator", version: "4.18.3" }] });
    expect(first?.["status"]).toMatchObject({
      relatedObjects: expect.arrayContaining([expect.objectContaining({ resource: "deployments" })]),
    });
  });

  test("ClusterOperator olm reports which controller is unavailable until the controller is available again", async () => {
    const type = CATALOGD;
    await eventually(async () => expect(await gate.openShift.condition("Available")).toMatchObject({ status: "True" }));
    await cluster.client.delete(DEPLOYMENT);
    await eventually(async () =>
      expect(await gate.openShift.condition("Available")).toEqual({
        type: "Available",
        status: "False",
        reason: `${type}_Deploying`,
        message: `${type}Available: Waiting for Deployment`,
      }),
    );
    dev().setPodReadiness(() => "NotReady");
    await gate.applyManagers();
    await eventually(async () =>
      expect(await gate.openShift.condition("Progressing")).toEqual({
        type: "Progressing",
        status: "True",
        reason: `${type}_Deploying`,
        message: `${type}Progressing: Waiting for Deployment to deploy pods`,
      }),
    );
    dev().setPodReadiness(() => "Ready");
    await eventually(async () => expect(await gate.openShift.condition("Available")).toMatchObject({ status: "True" }));
    await eventually(async () => expect(await gate.openShift.condition("Progressing")).toMatchObject({ status: "False" }));
  });

  test("ClusterOperator olm is Degraded when an error lasts for more than two minutes, even across a restart, until the error ends", async () => {
    await gate.install(BROKEN, "1.0.0");
    await is("False");
    expect(await gate.openShift.condition("Degraded")).toMatchObject({ status: "False", reason: "AsExpected" });
    await gate.restart("SIGKILL", () => age("OLMIncompatibleOperatorControllerDegraded", 3));
    await eventually(async () =>
      expect(await gate.openShift.condition("Degraded")).toMatchObject({
        status: "True",
        reason: "OLMIncompatibleOperatorController_SyncError",
        message: expect.stringMatching(/^OLMIncompatibleOperatorControllerDegraded: error\(s\) with cluster extension broken: /) as string,
      }),
    );
    await gate.world.removed("ClusterExtension", "broken");
    await eventually(async () =>
      expect(await gate.openShift.condition("Degraded")).toMatchObject({ status: "False", message: "All is well" }),
    );
  });

  test("ClusterOperator olm is Degraded when the rollout of a controller takes longer than 15 minutes", async () => {
    const type = CATALOGD;
    dev().setPodReadiness(() => "NotReady");
    await cluster.client.delete(DEPLOYMENT);
    await gate.applyManagers();
    await eventually(async () => expect(await gate.openShift.condition("Progressing")).toMatchObject({ status: "True" }));
    // A write that the controller has already started restores the time.
    await eventually(
      async () => {
        await age(`${type}Progressing`, 16);
        await age(`${type}Degraded`, 3);
        expect(await gate.openShift.condition("Degraded")).toMatchObject({
          status: "True",
          message: expect.stringContaining("Deployment was progressing too long") as string,
        });
      },
      { intervalMs: 1_000 },
    );
    dev().setPodReadiness(() => "Ready");
    await eventually(async () => expect(await gate.openShift.condition("Degraded")).toMatchObject({ status: "False" }));
  });

  test("ClusterOperator olm is not written while cluster-olm-operator exists, and is written again when cluster-olm-operator is removed", async () => {
    await gate.install(HELD, "1.0.0");
    await is("False");
    await gate.openShift.addOlm();
    await eventually(async () => expect(await mode()).toBe("inactive"));
    const before = await gate.openShift.clusterOperator();
    await gate.world.removed("ClusterExtension", "held");
    await eventually(async () =>
      expect(await gate.metrics("operator_controller_cluster_upgradeable")).toEqual(["operator_controller_cluster_upgradeable 1"]),
    );
    expect(await gate.openShift.clusterOperator()).toEqual(before);
    await gate.openShift.removeOlm();
    await is("True");
    await eventually(async () => expect(await mode()).toBe("active"));
  });

  test("release Secrets contain the members that cluster-olm-operator reads", async () => {
    await grantSystemNamespace(cluster, OPENSHIFT_NAMESPACE);
    await gate.openShift.addOlm();
    await restartWith("--system-namespace", OPENSHIFT_NAMESPACE);
    await gate.install(HELD, "1.0.0");
    const labelSelector = "name=held,owner=operator-controller,status=deployed,type=index";
    const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Secret" }, { namespace: OPENSHIFT_NAMESPACE, labelSelector });
    expect(items.map((secret) => [secret.metadata.name, secret["type"]])).toEqual([
      ["sh.helm.release.v1.held.v1", "operatorframework.io/index.v1"],
    ]);
    const { chunk, extraChunks } = (items[0]?.["data"] ?? {}) as Record<string, string>;
    expect(JSON.parse(Buffer.from(extraChunks ?? "", "base64").toString())).toEqual([]);
    const release = JSON.parse(gunzipSync(Buffer.from(chunk ?? "", "base64")).toString()) as JsonObject;
    expect(release).toMatchObject({
      version: 1,
      info: { status: "deployed" },
      chart: { metadata: { annotations: { "olm.properties": '[{"type": "olm.maxOpenShiftVersion", "value": "4.18"}]' } } },
      labels: { "olm.operatorframework.io/bundle-name": "held.v1.0.0" },
    });
    await gate.clear();
    await restartWith();
  });

  test("ClusterOperator olm is written with mode on even if cluster-olm-operator exists, and its conditions are Unknown when OLM is Unmanaged", async () => {
    await gate.openShift.addOlm("Managed");
    await restartWith("--cluster-operator", "on");
    await gate.install(HELD, "1.0.0");
    await is("False");
    await eventually(async () => {
      const conditions = (await gate.openShift.readOlmConditions()).map(({ type, status }) => `${type}=${status}`);
      expect(conditions).toEqual(expect.arrayContaining(["InstalledOLMOperatorsUpgradeable=False", `${CATALOGD}Available=True`]));
    });
    expect((await gate.openShift.clusterOperator())?.["status"]).toMatchObject({
      relatedObjects: expect.arrayContaining([{ group: "operator.openshift.io", resource: "olms", name: "cluster" }]) as unknown,
    });
    await gate.openShift.addOlm("Unmanaged");
    await is("Unknown");
    const conditions = await Promise.all(FIVE.map((type) => gate.openShift.condition(type)));
    expect(conditions).toEqual(FIVE.map((type) => ({ type, status: "Unknown", reason: "Unmanaged", message: "" })));
    await gate.openShift.addOlm("Managed");
    await is("False");
    await restartWith();
  });

  test("ClusterOperator olm is not written with mode off, and metrics still report the upgrade block", async () => {
    await restartWith("--cluster-operator", "off");
    await cluster.client.delete(CLUSTER_OPERATOR);
    await gate.install(HELD, "1.0.0");
    await eventually(async () =>
      expect(await gate.metrics("operator_controller_cluster_upgradeable")).toEqual(["operator_controller_cluster_upgradeable 0"]),
    );
    expect(await gate.openShift.clusterOperator()).toBeUndefined();
    await restartWith();
  });

  test("ClusterOperator olm is Progressing once for an update of the cluster to another release", async () => {
    const progressing = await gate.watchCondition("Progressing");
    await restartWith("--operator-image-version", "4.18.9", "--release-version", "4.18.9");
    await eventually(() =>
      expect(progressing.seen).toContainEqual(expect.objectContaining({ status: "True", reason: "UpgradeInProgress" })),
    );
    await eventually(async () => expect(await gate.openShift.condition("Progressing")).toMatchObject({ status: "False" }));
    expect((await gate.openShift.clusterOperator())?.["status"]).toMatchObject({ versions: [{ name: "operator", version: "4.18.9" }] });
    await progressing.stop();
    await restartWith();
  });

  describeWithData("releases of the Go operator-controller", (data) => {
    test("ClusterOperator olm also reports bundles that the Go operator-controller installed", async () => {
      const go = new GoInstallation(join(data, "go-release"));
      await go.restore(cluster.client, (release) => {
        const { metadata } = release["chart"] as { metadata: { annotations: Record<string, string> } };
        metadata.annotations["olm.properties"] = '[{"type": "olm.maxOpenShiftVersion", "value": 4.18}]';
      });
      const { message } = await is("False");
      expect(message.split("\n")[0]).toBe(
        'InstalledOLMOperatorsUpgradeable: Found ClusterExtensions that require upgrades prior to upgrading cluster to version 4.19: bundle "flux-operator.v0.38.1" for ClusterExtension "flux".',
      );
    });
  });
});
