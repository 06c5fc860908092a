import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, FIELD_MANAGER } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import { findKnownResource } from "../../pkg/rbac/resources.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { determineOwnership } from "../../pkg/release/ownership.ts";
import { sortForInstall, sortForUninstall } from "../../pkg/release/plan.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import type { ReleaseRecord } from "../../pkg/release/record.ts";
import { encodeRelease, getKeyLabel } from "../../pkg/release/storage/encode.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { chunkNames, decodedRecord } from "../support/releases.ts";
import { renamedSample } from "../support/sampleBundle.ts";

const APPLY = { fieldManager: FIELD_MANAGER, force: true };
const thrownBy = (call: Promise<unknown>): Promise<unknown> => call.then(() => undefined).catch((err: unknown) => err);

describeWithCluster("prepared objects and releases on a real API server", (cluster) => {
  let namespace = "";
  let extension: KubeObject;
  const applied: KubeObject[] = [];

  const prepare = (objects: readonly KubeObject[]): KubeObject[] => {
    const { name, uid = "" } = extension.metadata;
    const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name, uid };
    const { objects: prepared } = prepareObjects(objects, {
      owner,
      installNamespace: namespace,
      isNamespaced: (gvk) => findKnownResource(gvk)?.namespaced,
    });
    applied.push(...prepared);
    return sortForInstall(prepared);
  };

  beforeAll(async () => {
    await cluster.installCrds();
    namespace = await cluster.namespace("release");
    extension = await cluster.client.create({
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name: namespace },
      spec: { namespace, source: { sourceType: "Catalog", catalog: { packageName: "hello-operator" } } },
    });
  });
  afterAll(async () => {
    for (const object of sortForUninstall(applied)) await cluster.client.delete(toObjectRef(object));
    await cluster.client.delete(toObjectRef(extension));
  });

  test("applied objects are owned by the extension, and a second apply changes nothing", async () => {
    const objects = prepare(renderBundle(renamedSample(namespace, "1.0.0"), { installNamespace: namespace }));
    for (const object of objects) await cluster.client.apply(object, APPLY);
    const { name, uid = "" } = extension.metadata;
    for (const object of objects) {
      const first = await cluster.client.get(toObjectRef(object));
      const generation = first?.metadata.generation;
      await cluster.client.apply(object, APPLY);
      const second = await cluster.client.get(toObjectRef(object));
      expect([describeObject(object), second?.metadata.generation]).toEqual([describeObject(object), generation]);
      expect([describeObject(object), determineOwnership(second, { name, uid, installNamespace: namespace }).kind]).toEqual([
        describeObject(object),
        "ours",
      ]);
    }
  });

  test("objects that the API server accepts in a create request but not in an apply are normalized before the apply", async () => {
    const labels = { app: "twice" };
    const container = {
      name: "manager",
      image: "registry.example.com/twice:1",
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
      ports: [
        { name: "http", containerPort: 8080 },
        { name: "metrics", containerPort: 8080 },
      ],
      livenessProbe: { httpGet: { path: "/", port: "http" } },
    };
    const rendered: KubeObject[] = [
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "twice", namespace, creationTimestamp: null },
        spec: {
          replicas: 0,
          selector: { matchLabels: labels },
          template: { metadata: { labels, creationTimestamp: null }, spec: { containers: [container] } },
        },
        status: {},
      },
      { apiVersion: "v1", kind: "Secret", metadata: { name: "twice", namespace }, stringData: { key: "value" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "twice", namespace }, data: { key: null } },
    ];
    const [deployment] = rendered as [KubeObject];
    const { status: _, ...spoken } = deployment;
    expect(String(await thrownBy(cluster.client.apply(spoken, { ...APPLY, dryRun: true })))).toContain("duplicate entries for key");
    for (const object of rendered) await cluster.client.create(object, { dryRun: true });
    const created = await cluster.client.create(rendered[2] as KubeObject, { dryRun: true });
    expect(created["data"]).toEqual({ key: "" });
    for (const object of prepare(rendered)) await cluster.client.apply(object, APPLY);
    const live = await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", name: "twice", namespace });
    expect(live).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              {
                env: [{ name: "A", value: "2" }],
                ports: [{ name: "metrics", containerPort: 8080 }],
                livenessProbe: { httpGet: { port: 8080 } },
              },
            ],
          },
        },
      },
    });
    expect((await cluster.client.get({ apiVersion: "v1", kind: "Secret", name: "twice", namespace }))?.["data"]).toEqual({
      key: "dmFsdWU=",
    });
    expect((await cluster.client.get({ apiVersion: "v1", kind: "ConfigMap", name: "twice", namespace }))?.["data"]).toEqual({ key: "" });
  });

  test.for(["a", "x".repeat(53)])("a release that needs several Secrets is stored and read: %s", async (name) => {
    const objects = Array.from(
      { length: 40 },
      (_, i): KubeObject => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: `c${i}`, namespace },
        data: { noise: randomBytes(45_000).toString("base64") },
      }),
    );
    const record: ReleaseRecord = {
      name,
      namespace,
      version: 1,
      status: "deployed",
      description: "Install complete",
      firstDeployed: "2026-01-01T00:00:00Z",
      lastDeployed: "2026-01-01T00:00:00Z",
      labels: { "olm.operatorframework.io/bundle-name": "hello-operator.v1.0.0" },
      annotations: {},
      objects,
    };
    const owner = { name: extension.metadata.name, uid: extension.metadata.uid ?? "" };
    const secrets = encodeRelease(record, { systemNamespace: namespace, owner });
    expect(secrets.length).toBeGreaterThan(2);
    for (const secret of secrets) await cluster.client.create(secret);
    const secret = { apiVersion: "v1", kind: "Secret" };
    const [index] = (await cluster.client.list(secret, { namespace, labelSelector: `owner=operator-controller,name=${name},type=index` }))
      .items;
    const { items: chunks } = await cluster.client.list(secret, {
      namespace,
      labelSelector: `owner=operator-controller,key=${getKeyLabel(index?.metadata.name ?? "")},type=chunk`,
    });
    expect(chunkNames(index as KubeObject)).toEqual(chunks.map(({ metadata }) => metadata.name).sort());
    expect(decodedRecord(index as KubeObject, chunks)).toEqual(record);
  });
});
