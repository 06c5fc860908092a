import { expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import type { WebhookCertProvider } from "../../pkg/api/flagValues.ts";
import type { ObjectRef } from "../../pkg/api/k8s.ts";
import { installCertManagerKinds } from "../support/certManagerKind.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { webhookBundle } from "../support/webhookBundle.ts";

const NAME = "hooked";
const NAMESPACE = `${NAME}-system`;
const EXTENSION: ObjectRef = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: NAME };
const SECRET: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: NAMESPACE, name: "tiny-service-cert" };
const CERTIFICATE: ObjectRef = { ...SECRET, apiVersion: "cert-manager.io/v1", kind: "Certificate" };
const WEBHOOK: ObjectRef = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "check.tiny.example.com",
};

describeWithPrivateCluster("providers of webhook certificates", (cluster) => {
  /** Runs `work` with a controller that uses this provider, and a catalog with one bundle with a webhook. */
  async function withProvider(webhookCertProvider: WebhookCertProvider, work: (world: OperatorWorld) => Promise<void>): Promise<void> {
    await using world = await OperatorWorld.start(cluster, { webhookCertProvider });
    world.bundle("p.v1.0.0", webhookBundle("1.0.0"));
    await world.serve({ channels: { stable: [{ name: "p.v1.0.0" }] }, bundles: [{ name: "p.v1.0.0", version: "1.0.0" }] });
    await work(world);
  }
  const hints = async (): Promise<string[]> => {
    const { annotations = {} } = (await cluster.client.get(WEBHOOK))?.metadata ?? {};
    return Object.entries(annotations).map(([name, value]) => `${name}=${value}`);
  };
  const caBundle = async (): Promise<string | undefined> => {
    const [first] = ((await cluster.client.get(WEBHOOK))?.["webhooks"] ?? []) as { clientConfig: { caBundle?: string } }[];
    return first?.clientConfig.caBundle;
  };
  const authority = async (): Promise<string | undefined> => {
    const { data } = ((await cluster.client.get(SECRET)) ?? {}) as { data?: Record<string, string> };
    return data?.["ca.crt"];
  };
  /** Requests a reconcile of the extension and waits for its end. */
  async function passedAgain(request: string): Promise<void> {
    const annotations = { "olm.operatorframework.io/reconcile-requested-at": request };
    await cluster.client.patch(EXTENSION, { metadata: { annotations } }, { type: "merge" });
    await eventually(async () => {
      const { status } = (await cluster.client.get<ClusterExtension>(EXTENSION)) ?? {};
      expect(status?.lastHandledReconcileAt).toBe(request);
    });
  }

  test("provider auto selects operator-controller when cert-manager is not installed, and keeps it when cert-manager is installed later", async () => {
    await withProvider("auto", async (world) => {
      await world.extension(NAME);
      await world.conditions(NAME, { Ready: "True/Succeeded" });
      expect(await hints()).toEqual([`olm.operatorframework.io/inject-ca-from-secret=${NAMESPACE}/${SECRET.name}`]);
      await installCertManagerKinds(cluster.client);
      await passedAgain("1");
    });
    await withProvider("auto", async (world) => {
      await passedAgain("2");
      expect(await world.releases(NAME)).toEqual(["v1 deployed"]);
      expect(await caBundle()).toBe(await authority());
    });
  });

  test("an explicit provider also applies to installed bundles, and replaces the previous provider", async () => {
    await withProvider("cert-manager", async (world) => {
      await eventually(async () => expect(await world.releases(NAME)).toEqual(["v1 superseded", "v2 deployed"]));
      expect(await hints()).toEqual([`cert-manager.io/inject-ca-from=${NAMESPACE}/${SECRET.name}`]);
      expect(await cluster.client.get(CERTIFICATE)).toBeDefined();
      await eventually(async () => expect(await cluster.client.get(SECRET)).toBeUndefined());
      await cluster.client.create({
        ...SECRET,
        metadata: { name: SECRET.name, namespace: NAMESPACE },
        data: { "tls.crt": "", "tls.key": "" },
        type: "kubernetes.io/tls",
      });
    });
    await withProvider("self-signed", async (world) => {
      await eventually(async () => expect((await world.releases(NAME)).at(-1)).toBe("v3 deployed"));
      await world.conditions(NAME, { Ready: "True/Succeeded" });
      expect(await caBundle()).toBe(await authority());
      expect(await authority()).toBeDefined();
      expect(await cluster.client.get(CERTIFICATE)).toBeUndefined();
      expect((await cluster.client.get(SECRET))?.metadata.ownerReferences?.[0]?.name).toBe(NAME);
    });
  });

  test("provider none keeps the installed bundle, and rejects bundles with webhooks with the message of the Go implementation", async () => {
    await withProvider("none", async (world) => {
      const { Progressing, Installed } = await world.conditions(NAME, { Progressing: "True/Retrying", Installed: "True/Succeeded" });
      expect(Progressing).toContain("unsupported bundle: webhookDefinitions are not supported: certificate provider is nil");
      expect(Installed).toContain("Installed bundle");
      expect(await caBundle()).toBe(await authority());
      await world.remove(NAME);
      for (const ref of [SECRET, WEBHOOK]) expect(await cluster.client.get(ref)).toBeUndefined();
    });
  });
});
