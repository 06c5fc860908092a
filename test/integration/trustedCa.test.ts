import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { ANNOTATION_RECONCILE_REQUESTED_AT, API_VERSION, CLUSTER_EXTENSION, TRUSTED_CA_LABEL } from "../../pkg/api/constants.ts";
import type { JsonObject, KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const INJECTED = { "ca-bundle.crt": "-----BEGIN CERTIFICATE-----\nof the cluster\n-----END CERTIFICATE-----\n" };
const buildLabelled = (name: string, more: JsonObject = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels: { [TRUSTED_CA_LABEL]: "true" } },
  ...more,
});
const configMap = (extension: string, name: string): ObjectRef => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: `${extension}-system`,
  name,
});

// Source: S0-090, Register A (config.openshift.io/inject-trusted-cabundle), H-17.
describeWithPrivateCluster("certificate authorities that OpenShift writes into a ConfigMap", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { driftIntervalMs: 1_000 });
    const placeholder = { "ca-bundle.crt": "to be injected", other: "of the bundle" };
    const objects = [
      buildLabelled("of-the-bundle"),
      buildLabelled("empty", { data: {} }),
      buildLabelled("placeholder", { data: placeholder }),
    ];
    world.bundle("p.v1.0.0", tinyBundle("1.0.0", { objects }));
    world.bundle("p.v1.1.0", tinyBundle("1.1.0", { objects }));
    await world.serve({
      channels: { stable: ["p.v1.0.0", { name: "p.v1.1.0", replaces: "p.v1.0.0" }] },
      bundles: ["p.v1.0.0", "p.v1.1.0"],
    });
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Writes like the network operator: by apply, as it does now, or by an update, as it did before. */
  const inject = async (ref: ObjectRef, way: "apply" | "update"): Promise<void> => {
    const { name, namespace, ...gvk } = ref;
    if (way === "apply")
      await cluster.client.apply(
        { ...gvk, metadata: { name, namespace: namespace ?? "" }, data: INJECTED },
        { fieldManager: "cluster-network-operator", force: ref.name === "placeholder" },
      );
    else await cluster.client.patch(ref, { data: INJECTED }, { type: "merge" });
  };
  /** Expects the injected authorities in each ConfigMap, and otherwise only the data of the bundle. */
  const expectFilled = async (refs: readonly ObjectRef[]): Promise<void> => {
    for (const ref of refs)
      expect(await readData(ref)).toEqual(ref.name === "placeholder" ? { ...INJECTED, other: "of the bundle" } : INJECTED);
  };
  const readData = async (ref: ObjectRef): Promise<unknown> => (await cluster.client.get(ref))?.["data"];
  /** Requests a comparison of all objects, and waits until it is done. */
  const compare = async (name: string, at: string): Promise<void> => {
    const annotations = { [ANNOTATION_RECONCILE_REQUESTED_AT]: at };
    await cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name },
      { metadata: { annotations } },
      { type: "merge" },
    );
    await world.until(name, ({ status }) => expect(status?.lastHandledReconcileAt).toBe(at));
  };
  const moveOn = (name: string): Promise<ClusterExtension> =>
    cluster.client.patch(
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name },
      { spec: { source: { catalog: { version: null } } } },
      { type: "merge" },
    );
  const readPodSpec = async (name: string): Promise<JsonObject & { containers: JsonObject[] }> => {
    const found = await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace: `${name}-system`, name: "tiny" });
    return (found as unknown as { spec: { template: { spec: JsonObject & { containers: JsonObject[] } } } }).spec.template.spec;
  };

  test.for(["apply", "update"] as const)(
    "comparisons, upgrades and drift correction keep CA certificates that a controller injects by %s",
    async (way) => {
      const name = `own-${way}`;
      const deploymentConfig = { trustedCA: { configMapName: "authorities", create: true } };
      await world.extension(name, { catalog: { version: "1.0.0" }, config: { configType: "Inline", inline: { deploymentConfig } } });
      await world.conditions(name, DONE);
      const refs = ["authorities", "of-the-bundle", "empty", "placeholder"].map((one) => configMap(name, one));
      expect((await cluster.client.get(refs[0]!))?.metadata.labels).toMatchObject({ [TRUSTED_CA_LABEL]: "true" });
      for (const ref of refs) await inject(ref, way);
      await compare(name, "1");
      await expectFilled(refs);
      await moveOn(name);
      await eventually(async () => expect((await world.get(name)).status?.install?.bundle.name).toBe("p.v1.1.0"));
      await world.conditions(name, DONE);
      await expectFilled(refs);
      // Drift of our fields is corrected, and nothing else is changed.
      await cluster.client.patch(refs[0]!, { metadata: { labels: { [TRUSTED_CA_LABEL]: "false" } } }, { type: "merge" });
      await eventually(async () =>
        expect((await cluster.client.get(refs[0]!))?.metadata.labels).toMatchObject({ [TRUSTED_CA_LABEL]: "true" }),
      );
      await compare(name, "2");
      await expectFilled(refs);
      await eventually(async () => expect(await world.events(name)).toContainEqual(expect.stringMatching(/^Drifted: .*metadata\.labels/)));
      const drifted = (await world.events(name)).filter((event) => event.startsWith("Drifted"));
      expect(drifted.join("\n")).not.toMatch(/of-the-bundle|empty|placeholder|: data/);
      const { containers, volumes } = await readPodSpec(name);
      expect(containers[0]).toMatchObject({
        env: [{ name: "SSL_CERT_FILE", value: "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem" }],
        volumeMounts: [{ name: "olm-trusted-ca", readOnly: true, mountPath: "/etc/pki/ca-trust/extracted/pem" }],
      });
      expect(volumes).toMatchObject([{ configMap: { name: "authorities", items: [{ key: "ca-bundle.crt", path: "tls-ca-bundle.pem" }] } }]);
      await world.remove(name);
      expect(await cluster.client.get(refs[0]!)).toBeUndefined();
    },
  );

  test("CA certificates in a user's ConfigMap are mounted, and the controller does not manage the ConfigMap", async () => {
    const own = configMap("recipe", "trusted-ca");
    const items = [{ key: "ca-bundle.crt", path: "tls-ca-bundle.pem" }];
    const deploymentConfig = {
      selector: { matchLabels: { app: "tiny" } },
      volumes: [{ name: "trusted-ca", configMap: { name: "trusted-ca", items } }],
      volumeMounts: [{ name: "trusted-ca", mountPath: "/etc/pki/ca-trust/extracted/pem", readOnly: true }],
    };
    await world.extension("recipe", {
      config: { configType: "Inline", inline: { deploymentConfig } },
      before: (namespace) =>
        cluster.client.create({ ...buildLabelled("trusted-ca"), metadata: { ...buildLabelled("trusted-ca").metadata, namespace } }),
    });
    await world.conditions("recipe", DONE);
    await inject(own, "update");
    await compare("recipe", "1");
    expect(await readPodSpec("recipe")).toMatchObject({
      containers: [{ volumeMounts: [{ name: "trusted-ca", readOnly: true }] }],
      volumes: [{ name: "trusted-ca", configMap: { name: "trusted-ca", items } }],
    });
    await world.remove("recipe");
    expect(await readData(own)).toEqual(INJECTED);
  });

  test("an install with trustedCA.create fails and does not change a ConfigMap that already exists", async () => {
    const taken = { ...buildLabelled("authorities"), metadata: { name: "authorities", namespace: "taken-system" }, data: { a: "b" } };
    const deploymentConfig = { trustedCA: { configMapName: "authorities", create: true } };
    await world.extension("taken", {
      config: { configType: "Inline", inline: { deploymentConfig } },
      before: () => cluster.client.create(taken),
    });
    const { Progressing } = await world.conditions("taken", { Installed: "False/Failed", Progressing: "True/Retrying" });
    expect(Progressing).toContain("ConfigMap 'authorities' already exists in namespace 'taken-system'");
    expect(await readData(configMap("taken", "authorities"))).toEqual({ a: "b" });
  });
});
