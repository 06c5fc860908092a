import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { selfSigned } from "../../pkg/certificates/providers.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { ownObjects } from "../support/audit.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { followObjects } from "../support/followObjects.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import type { ServingPod } from "../support/servingPod.ts";
import { startWebhookServer, webhook, webhookBundle } from "../support/webhookBundle.ts";
import { whileAsking } from "../support/whileAsking.ts";

const GROUP = "certs.example.com";
const NAME = "hooked";
const NAMESPACE = `${NAME}-system`;
const SERVICE = "tiny-service";
const SECRET: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: NAMESPACE, name: "tiny-service-cert" };
const WEBHOOK: ObjectRef = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "check.tiny.example.com",
};
const CRD: ObjectRef = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: `things.${GROUP}` };

/** A CRD with versions v1, which is stored, and v2. */
function definition(): KubeObject {
  const crd = thingDefinition(GROUP);
  const spec = crd["spec"] as { versions: { name: string; storage: boolean }[] };
  return { ...crd, spec: { ...spec, versions: [...spec.versions, { ...spec.versions[0], name: "v2", storage: false }] } };
}

const CONVERSION = webhook({
  generateName: "convert.tiny.example.com",
  type: "ConversionWebhook",
  webhookPath: "/convert",
  conversionCRDs: [CRD.name],
  rules: [],
});
const withConversion = (version: string) => webhookBundle(version, { webhooks: [webhook(), CONVERSION], objects: [definition()] });
const withoutConversion = (version: string) => webhookBundle(version, { objects: [definition()] });
const files = (bundle: Record<string, string>) => new Map(Object.entries(bundle).map(([path, text]) => [path, Buffer.from(text)]));

describeWithPrivateCluster("bundles with webhooks and certificates of operator-controller", (cluster) => {
  let world: OperatorWorld;
  let server: ServingPod;

  /** Exactly the permissions for all versions. */
  const computeRules = (namespace: string) => {
    const objects = [withConversion("1.0.0"), withoutConversion("1.1.0")].flatMap((bundle) =>
      renderBundle(loadBundle(files(bundle)), { installNamespace: namespace, certProvider: selfSigned }),
    );
    return computeRequiredRules(objects, { installNamespace: namespace, crdPolicy: "Delete" });
  };
  const tryCreate = (data: Record<string, string>) =>
    cluster.client.create(
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default", labels: { checked: "yes" } }, data },
      { dryRun: true },
    );
  /** Returns the CA bundle of the only webhook of a webhook configuration or CRD; "" without one. */
  const readCaBundles = ({ webhooks = [], spec = {} }: Partial<KubeObject>): string[] => {
    type Webhook = { clientConfig: { caBundle?: string } } | undefined;
    const { conversion } = spec as { conversion?: { webhook?: Webhook } };
    return [...(webhooks as Webhook[]), ...(conversion ? [conversion.webhook] : [])].map((one) => one?.clientConfig.caBundle ?? "");
  };
  const caBundles = async (): Promise<string[]> => {
    const found = await Promise.all([WEBHOOK, CRD].map((ref) => cluster.client.get(ref)));
    return found.flatMap((object) => (object ? readCaBundles(object) : [""]));
  };
  const secretData = async () => ((await cluster.client.get(SECRET))?.["data"] ?? {}) as Record<string, string>;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    world.bundle("p.v1.0.0", withConversion("1.0.0"));
    world.bundle("p.v1.1.0", withoutConversion("1.1.0"));
    await world.serve({
      channels: { stable: [{ name: "p.v1.0.0" }, { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: [
        { name: "p.v1.0.0", version: "1.0.0" },
        { name: "p.v1.1.0", version: "1.1.0" },
      ],
    });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  test("bundles with webhooks are installed with the derived permissions, and their webhooks are called", async () => {
    const withoutCa: string[] = [];
    const stopFollowing = await Promise.all(
      [WEBHOOK, CRD].map(({ apiVersion, kind, name }) => {
        const selection = { fieldSelector: `metadata.name=${name}` };
        return followObjects(cluster.client, { apiVersion, kind, selection }, (object) => {
          if (!readCaBundles(object).every(Boolean)) withoutCa.push(`${kind} at ${object.metadata.resourceVersion}`);
        });
      }),
    );
    await world.extension(NAME, { computeRules, catalog: { version: "1.0.0" }, uninstall: { crdPolicy: "Delete" } });
    await world.conditions(NAME, { Progressing: "True/Succeeded", Available: "True/Healthy" });
    server = await startWebhookServer(cluster.client, NAMESPACE, SERVICE, SECRET.name);
    await eventually(async () => {
      await expect(tryCreate({ refuse: "me" })).rejects.toThrow(
        'admission webhook "check.tiny.example.com" denied the request: refused: me',
      );
    });
    await tryCreate({});
    const thing = { apiVersion: `${GROUP}/v1`, kind: "Thing", metadata: { name: "a", namespace: "default" }, spec: { a: 1 } };
    await cluster.client.create(thing);
    const seen = await cluster.client.get({ apiVersion: `${GROUP}/v2`, kind: "Thing", namespace: "default", name: "a" });
    expect(seen?.["spec"]).toEqual({ a: 1, convertedTo: `${GROUP}/v2` });
    for (const stop of stopFollowing) await stop();
    expect(withoutCa).toEqual([]); // otherwise the API server would reject requests for an instant
  });

  test("the stored release contains neither key nor CA, and the certificate Secret has the labels of the extension", async () => {
    const secret = await cluster.client.get(SECRET);
    expect(secret).toMatchObject({ type: "kubernetes.io/tls", metadata: { ownerReferences: [{ kind: "ClusterExtension", name: NAME }] } });
    expect(Object.keys(await secretData()).sort()).toEqual(["ca.crt", "tls.crt", "tls.key"]);
    expect(await caBundles()).toEqual([(await secretData())["ca.crt"], (await secretData())["ca.crt"]]);
    await eventually(async () =>
      expect(await world.events(NAME)).toContainEqual(expect.stringMatching(/^CertificateIssued: .*hooked-system\/tiny-service-cert/)),
    );
  });

  test("the controller restores the CA when a webhook configuration is changed or deleted", async () => {
    const [before] = await caBundles();
    await cluster.client.patch(WEBHOOK, [{ op: "replace", path: "/webhooks/0/clientConfig/caBundle", value: "Cg==" }], { type: "json" });
    await eventually(async () => expect((await caBundles())[0]).toBe(before));
    await cluster.client.delete(WEBHOOK);
    await eventually(async () => expect((await caBundles())[0]).toBe(before));
    await expect(tryCreate({ refuse: "me" })).rejects.toThrow("refused: me");
  });

  test("the controller recreates a deleted certificate Secret, and webhooks still trust the earlier CA", async () => {
    const { "ca.crt": before = "" } = await secretData();
    await cluster.client.delete(SECRET);
    await cluster.client.patch(
      { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: NAME },
      { metadata: { annotations: { "olm.operatorframework.io/reconcile-requested-at": "now" } } },
      { type: "merge" },
    );
    await eventually(async () => {
      const { "ca.crt": after = "" } = await secretData();
      expect(Buffer.from(after, "base64").toString()).toContain(Buffer.from(before, "base64").toString().trim());
      expect(after).not.toBe(before);
      await expect(tryCreate({ refuse: "me" })).rejects.toThrow("refused: me");
    });
    await eventually(() => expect(server.certificates.length).toBe(2));
    await expect(tryCreate({ refuse: "me" })).rejects.toThrow("refused: me");
  });

  test("an upgrade keeps certificate and CA, and removes a conversion webhook that the bundle no longer contains", async () => {
    const before = await secretData();
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: NAME };
    await cluster.client.patch(ref, { spec: { source: { catalog: { version: "1.1.0" } } } }, { type: "merge" });
    await eventually(async () => expect((await world.get(NAME)).status?.install?.bundle.version).toBe("1.1.0"));
    await world.conditions(NAME, { Progressing: "True/Succeeded", Available: "True/Healthy" });
    expect(await secretData()).toEqual(before);
    expect(await caBundles()).toEqual([before["ca.crt"], ""]);
    await expect(tryCreate({ refuse: "me" })).rejects.toThrow("refused: me");
  });

  test("an uninstall of a bundle with webhooks leaves no objects", async () => {
    await world.remove(NAME);
    expect(await ownObjects(cluster.client, NAME)).toEqual([]);
    expect(await cluster.client.get(SECRET)).toBeUndefined();
    expect(await cluster.client.get(WEBHOOK)).toBeUndefined();
    const events = await world.events(NAME);
    expect(events.filter((text) => text.startsWith("UninstalledByGarbageCollector"))).toEqual([]);
  });

  test("provider none rejects a bundle with webhooks with the message of the Go implementation", async () => {
    await world[Symbol.asyncDispose]();
    world = await OperatorWorld.start(cluster, { webhookCertProvider: "none" });
    world.bundle("p.v1.0.0", withConversion("1.0.0"));
    await world.serve({ channels: { stable: [{ name: "p.v1.0.0" }] }, bundles: [{ name: "p.v1.0.0", version: "1.0.0" }] });
    await world.extension("refused");
    const { Progressing } = await world.conditions("refused", { Progressing: "True/Retrying" });
    expect(Progressing).toContain("unsupported bundle: webhookDefinitions are not supported: certificate provider is nil");
    await world.remove("refused");
  });

  test("webhook certificates are renewed without a failed request, and expired ones are no longer trusted", async () => {
    await world[Symbol.asyncDispose]();
    const certificates = { validityMs: 20_000, renewBeforeMs: 12_000, settleMs: 2_000, skewMs: 2_000 };
    world = await OperatorWorld.start(cluster, { certificates });
    world.bundle("p.v1.0.0", withConversion("1.0.0"));
    await world.serve({ channels: { stable: [{ name: "p.v1.0.0" }] }, bundles: [{ name: "p.v1.0.0", version: "1.0.0" }] });
    const name = "renewed";
    const secret = { ...SECRET, namespace: `${name}-system` };
    await world.extension(name, { uninstall: { crdPolicy: "Delete" } });
    await world.conditions(name, { Progressing: "True/Succeeded", Available: "True/Healthy" });
    await using renewed = await startWebhookServer(cluster.client, secret.namespace, SERVICE, secret.name);
    await eventually(() => tryCreate({}));
    const thing = { apiVersion: `${GROUP}/v1`, kind: "Thing", metadata: { name: "b", namespace: "default" } };
    await cluster.client.create(thing);
    const bundle = async (): Promise<string[]> => {
      const { "ca.crt": text = "" } = ((await cluster.client.get(secret))?.["data"] ?? {}) as Record<string, string>;
      return Buffer.from(text, "base64")
        .toString()
        .split(/(?<=-----END CERTIFICATE-----\n)/);
    };
    const [first] = await bundle();
    const { answers, failures } = await whileAsking(
      async () => {
        await tryCreate({});
        await cluster.client.get({ apiVersion: `${GROUP}/v2`, kind: "Thing", namespace: "default", name: "b" });
      },
      () =>
        eventually(
          async () => {
            expect(renewed.certificates.length).toBeGreaterThanOrEqual(3);
            expect(await bundle()).not.toContain(first);
          },
          { timeoutMs: 90_000 },
        ),
    );
    expect(failures).toEqual([]);
    expect(answers).toBeGreaterThan(10);
    expect([...renewed.served.keys()].sort()).toEqual(["/convert", "/validate"]);
    expect(await world.releases(name)).toEqual(["v1 deployed"]);
    await eventually(async () => expect((await world.events(name)).map((text) => text.split(":")[0])).toContain("CertificateRenewed"));
    await world.remove(name);
  });
});
