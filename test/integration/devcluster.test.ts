import { expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { describeWithCluster, eventually, type TestCluster } from "../support/cluster.ts";

interface DeploymentStatus {
  availableReplicas?: number;
  unavailableReplicas?: number;
}

function deployment(namespace: string, name: string): KubeObject {
  const labels = { app: name };
  const container = { name: "main", image: "example.com/nothing:1" };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
  };
}

async function readStatus(cluster: TestCluster, object: KubeObject): Promise<DeploymentStatus> {
  const found = await cluster.client.get({ ...object, name: object.metadata.name, namespace: object.metadata.namespace });
  const status: DeploymentStatus = found?.["status"] ?? {};
  return status;
}

describeWithCluster("the shared control plane", (cluster) => {
  test("the control plane makes a Deployment available", async () => {
    const object = deployment(await cluster.namespace(), "web");
    await cluster.client.create(object);
    await eventually(async () => expect(await readStatus(cluster, object)).toMatchObject({ availableReplicas: 2 }));
  });

  test("the control plane keeps the Pods of a namespace unready when their outcome is set to NotReady", async () => {
    const namespace = await cluster.namespace("unready", "NotReady");
    const object = deployment(namespace, "web");
    await cluster.client.create(object);
    await eventually(async () => expect(await readStatus(cluster, object)).toMatchObject({ unavailableReplicas: 2 }));
    const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace });
    expect(items.map((pod) => (pod["status"] as { phase: string }).phase)).not.toContain("Succeeded");
    await cluster.setPodOutcome(namespace, "Ready");
    await eventually(async () => expect(await readStatus(cluster, object)).toMatchObject({ availableReplicas: 2 }));
  });

  test("the control plane deletes the dependents of a deleted owner", async () => {
    const object = deployment(await cluster.namespace(), "web");
    await cluster.client.create(object);
    const pods = async (): Promise<KubeObject[]> => {
      return (await cluster.client.list({ apiVersion: "v1", kind: "Pod" }, { namespace: object.metadata.namespace! })).items;
    };
    await eventually(async () => expect(await pods()).toHaveLength(2));
    await cluster.client.delete({ ...object, name: "web", namespace: object.metadata.namespace });
    await eventually(async () => expect(await pods()).toEqual([]));
  });

  test("the control plane writes an audit log with the user of each request", async () => {
    const namespace = await cluster.namespace("audited");
    const events = (await cluster.auditEvents()).filter((event) => event.objectRef?.name === namespace && event.verb === "create");
    expect(events).toMatchObject([{ user: { username: "kubernetes-admin" }, responseStatus: { code: 201 } }]);
  });

  test("the control plane serves an image registry", async () => {
    const answer = await fetch(`http://${cluster.registry.host}/v2/`);
    expect(answer.status).toBe(200);
  });
});
