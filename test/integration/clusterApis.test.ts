import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { Informer } from "../../pkg/controller/informer.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { type ClusterApi, ClusterApis } from "../../pkg/operatorcontroller/dependencies/clusterApis.ts";
import { withOwner } from "../../pkg/release/labels.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { describeWithCluster, eventually, type TestCluster } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { createExtension } from "../support/extensions.ts";
import { serviceAccount } from "../support/serviceAccounts.ts";

const EXTENSION = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;
const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;

/** Returns the APIs that the API server serves to a client, until the test ends. */
async function following(client: Client): Promise<ClusterApis> {
  const log = createLogger({ component: "test", level: "silent" });
  const extensions = new Informer<ClusterExtension>(client, EXTENSION, {}, log);
  const apis = new ClusterApis({ client, extensions, log });
  const stop = new AbortController();
  const running = Promise.all([extensions.run(stop.signal), apis.run(stop.signal)]);
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return apis;
}

const find = (apis: readonly ClusterApi[], group: string, kind: string): ClusterApi | undefined =>
  apis.find(({ gvk }) => gvk.group === group && gvk.kind === kind);

/** Creates a definition, which is deleted after the test. */
async function define(cluster: TestCluster, crd: KubeObject): Promise<void> {
  await cluster.client.create(crd);
  onTestFinished(async () => void (await cluster.client.delete({ ...CRD, name: crd.metadata.name })));
}

describeWithCluster("ClusterApis on a real API server", (cluster) => {
  beforeAll(() => cluster.installCrds());

  test("ClusterApis returns the API server as owner of built-in and aggregated kinds, and the same list when nothing has changed", async () => {
    const apis = await following(cluster.client);
    const all = await apis.served();
    expect(find(all, "", "ConfigMap")).toEqual({
      gvk: { group: "", version: "v1", kind: "ConfigMap" },
      resource: "configmaps",
      owner: "the API server",
    });
    expect(find(all, "apps", "Deployment")?.owner).toBe("the API server");
    expect(await apis.version()).toMatch(/^v1\.\d+\.\d+/);
    // Other test files add definitions to this cluster meanwhile.
    await eventually(async () => {
      const before = await apis.served();
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      expect(await apis.served()).toBe(before);
    });
  });

  test("ClusterApis returns the extension or other installer in the labels of a CRD as its owner", async () => {
    const apis = await following(cluster.client);
    const owner = await cluster.client.create<ClusterExtension>(createExtension("apis-owner", { packageName: "p" }));
    onTestFinished(async () => void (await cluster.client.delete({ ...EXTENSION, name: "apis-owner" })));
    const marks = { ...EXTENSION, name: "apis-owner", uid: owner.metadata.uid ?? "" };
    await define(cluster, withOwner(thingDefinition("ours.example.com"), marks));
    await define(cluster, withOwner(thingDefinition("orphan.example.com"), { ...marks, name: "gone", uid: "gone" }));
    const helm = thingDefinition("helm.example.com");
    helm.metadata.annotations = { "meta.helm.sh/release-name": "r", "meta.helm.sh/release-namespace": "n" };
    await define(cluster, helm);
    await define(cluster, thingDefinition("plain.example.com"));
    const owners = async (): Promise<unknown[]> => {
      const all = await apis.served();
      return ["ours", "orphan", "helm", "plain"].map((name) => {
        const found = find(all, `${name}.example.com`, "Thing");
        return found ? [found.owner ?? "nobody", found.extension ?? ""] : undefined;
      });
    };
    await eventually(async () =>
      expect(await owners()).toEqual([
        ['ClusterExtension "apis-owner"', "apis-owner"],
        ["nobody", ""],
        ['Helm release "n/r"', ""],
        ['the creator of CustomResourceDefinition "things.plain.example.com"', ""],
      ]),
    );
    await cluster.client.delete({ ...EXTENSION, name: "apis-owner" });
    await eventually(async () => expect((await owners())[0]).toEqual(["nobody", ""]));
    await cluster.client.delete({ ...CRD, name: "things.helm.example.com" });
    await eventually(async () => expect((await owners())[2]).toBeUndefined());
  });

  test("ClusterApis lists the served APIs without permission to list CRDs", async () => {
    await define(cluster, thingDefinition("unseen.example.com"));
    const { client } = await serviceAccount(cluster.client, await cluster.namespace("apis"), "nobody", []);
    const apis = await following(client);
    await eventually(async () => {
      const all = await apis.served();
      expect(find(all, "unseen.example.com", "Thing")?.owner).toBeUndefined();
      expect(find(all, "unseen.example.com", "Thing")).toBeDefined();
      expect(find(all, "apps", "Deployment")?.owner).toBe("the API server");
    });
  });
});
