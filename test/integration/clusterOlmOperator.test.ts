import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../pkg/api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION, OPENSHIFT_CATALOGD_NAMESPACE, OPENSHIFT_NAMESPACE } from "../../pkg/api/constants.ts";
import type { Condition, KubeObject } from "../../pkg/api/k8s.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import type { Asset, ClusterState } from "../support/clusterOlmOperator/assets.ts";
import { ClusterOlmOperator, type DeploymentSettings, type ServerDeployment } from "../support/clusterOlmOperator/clusterOlmOperator.ts";
import { KNOWN_GATES } from "../support/clusterOlmOperator/helmValues.ts";
import { RenderedServers } from "../support/clusterOlmOperator/renderedServers.ts";
import { eventually } from "../support/eventually.ts";
import { OpenShift } from "../support/openShift.ts";
import { pushBundleImage, pushCatalogImage } from "../support/pushedImages.ts";
import { SmallPackage } from "../support/smallPackage.ts";

const ROOT = join(import.meta.dirname, "../..");
const IMAGE = "registry.example.com/release@sha256:1";
const VERSION = "v4.20";
const STANDARD: ClusterState = { experimental: false, gates: [], highlyAvailable: false, image: IMAGE };
const EXPERIMENTAL: ClusterState = { experimental: true, gates: KNOWN_GATES, highlyAvailable: true, image: IMAGE };
const SETTINGS: DeploymentSettings = {
  verbosity: 4,
  proxy: { HTTPS_PROXY: "http://proxy.internal:3128", HTTP_PROXY: "", NO_PROXY: "127.0.0.1,localhost" },
  tls: { version: "TLSv1.2", ciphers: ["TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"] },
};
const SERVERS = ["catalogd-controller-manager", "operator-controller-controller-manager", "permission-manager-controller-manager"];
const REDHAT = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: "openshift-redhat-operators" };

/** The namespace and the Deployment of catalogd of the Go implementation. */
function earlierCatalogd(): KubeObject[] {
  const labels = { "control-plane": "catalogd-controller-manager" };
  const containers = [{ name: "manager", image: "registry.example.com/earlier" }];
  const spec = { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } };
  const metadata = { name: "catalogd-controller-manager", namespace: OPENSHIFT_CATALOGD_NAMESPACE };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: OPENSHIFT_CATALOGD_NAMESPACE } },
    { apiVersion: "apps/v1", kind: "Deployment", metadata, spec },
    webhookOfEarlierCatalogd(),
  ];
}

/** The webhook of the Go implementation, whose server does not exist any more. */
function webhookOfEarlierCatalogd(): KubeObject {
  const service = { name: "catalogd-service", namespace: OPENSHIFT_CATALOGD_NAMESPACE, port: 9443 };
  const rule = { apiGroups: ["olm.operatorframework.io"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["clustercatalogs"] };
  const webhook = {
    name: "inject-metadata-name.olm.operatorframework.io",
    clientConfig: { service },
    rules: [rule],
    failurePolicy: "Fail",
  };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "catalogd-mutating-webhook-configuration" },
    webhooks: [{ ...webhook, sideEffects: "None", admissionReviewVersions: ["v1"] }],
  };
}

describeWithPrivateCluster("cluster-olm-operator", (cluster) => {
  const small = new SmallPackage("small", { version: "1.0.0" });
  let folder: string;
  let assets: string;
  let openShift: OpenShift;
  let operator: ClusterOlmOperator;

  /** Runs the built program of /cp-manifests on a folder with charts. */
  const copyManifests = (...args: string[]) =>
    promisify(execFile)(process.execPath, [join(cluster.programs, "cp-manifests.js"), ...args], { cwd: folder });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "olmv1-operand-"));
    assets = join(folder, "operand-assets");
    await buildCharts();
    openShift = new OpenShift(cluster.client);
    await openShift.install();
    await openShift.installImagePolicies();
    await openShift.install(["servicemonitors"]);
    await openShift.setVersion("4.20.1");
    await openShift.addOlm();
    await cluster.client.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "openshift-config" } });
    const auths = Buffer.from('{"auths":{}}').toString("base64");
    const secret = { name: "pull-secret", namespace: "openshift-config" };
    const type = "kubernetes.io/dockerconfigjson";
    await cluster.client.create({ apiVersion: "v1", kind: "Secret", metadata: secret, type, data: { ".dockerconfigjson": auths } });
    for (const object of earlierCatalogd()) await cluster.client.create(object);
    operator = await ClusterOlmOperator.start(cluster.client, assets);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Creates the folder /config/helm of an image that was built with argument OPENSHIFT_VERSION. */
  async function buildCharts(): Promise<void> {
    await cp(join(ROOT, "config/helm"), join(folder, "config/helm"), { recursive: true });
    const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");
    const [, command = ""] = /^RUN (sed .*)$/m.exec(dockerfile) ?? [];
    await promisify(execFile)("sh", ["-c", command], { cwd: folder, env: { ...process.env, OPENSHIFT_VERSION: VERSION } });
  }

  /** Renders and applies everything, as at each start of cluster-olm-operator. */
  async function deploy(state: ClusterState): Promise<{ rendered: Asset[]; deployments: ServerDeployment[] }> {
    const rendered = await operator.render(state);
    await operator.applyStaticResources(rendered);
    return { rendered, deployments: await operator.applyDeployments(rendered, SETTINGS) };
  }

  /** Waits until all Deployments have the conditions of a ClusterOperator that is available and does not progress. */
  async function waitUntilAvailable(deployments: readonly ServerDeployment[]): Promise<void> {
    await eventually(
      async () => {
        const conditions = await operator.readDeploymentConditions(deployments);
        expect(conditions).toEqual(Object.fromEntries(SERVERS.map((name) => [name, { available: true, progressing: false }])));
      },
      { timeoutMs: 60_000 },
    );
  }

  describe("/cp-manifests", () => {
    test("the image contains the program as an executable for its Node.js", async () => {
      const dockerfile = await readFile(join(ROOT, "Dockerfile"), "utf8");
      expect(dockerfile).toContain("COPY --from=build --chmod=755 /src/dist/cp-manifests.js /cp-manifests\n");
      const [, entryPoint] = /^ENTRYPOINT \["(.*)"\]$/m.exec(dockerfile) ?? [];
      const program = await readFile(join(cluster.programs, "cp-manifests.js"), "utf8");
      expect(program.split("\n")[0]).toBe(`#!${entryPoint}`);
    });

    test("the program writes charts and values for both components, and replaces files of an earlier run", async () => {
      await copyManifests(assets, join(folder, "config/helm"));
      await writeFile(join(assets, "helm/catalogd/olmv1/templates/old.yaml"), "old");
      await copyManifests(assets, join(folder, "config/helm"));
      expect((await readdir(join(assets, "helm"))).sort()).toEqual(["catalogd", "operator-controller"]);
      for (const component of ["catalogd", "operator-controller"]) {
        const copied = join(assets, "helm", component);
        expect((await readdir(copied)).sort()).toEqual(["experimental.yaml", "olmv1", "openshift.yaml"]);
        const [chart, copy] = [join(ROOT, "config/helm/olmv1"), join(copied, "olmv1")];
        expect((await readdir(copy, { recursive: true })).sort()).toEqual((await readdir(chart, { recursive: true })).sort());
      }
    });

    test("the program fails without a destination", async () => {
      await expect(copyManifests()).rejects.toThrow("no destination folder");
    });
  });

  describe.each([
    { name: "standard", state: STANDARD, replicas: 1 },
    { name: "experimental", state: EXPERIMENTAL, replicas: 2 },
  ])("with the $name feature set", ({ state, replicas }) => {
    let rendered: Asset[];
    let deployments: ServerDeployment[];
    beforeAll(async () => {
      ({ rendered, deployments } = await deploy(state));
    });

    test("each object is in a file with its number, namespace, kind and name", async () => {
      const files = rendered.map(({ file }) => file);
      expect(files.every((file) => /^\d\d-/.test(file))).toBe(true);
      expect(files.map((file) => file.slice(3))).toEqual(
        expect.arrayContaining([
          `namespace-${OPENSHIFT_CATALOGD_NAMESPACE}.yaml`,
          `${OPENSHIFT_CATALOGD_NAMESPACE}-deployment-catalogd-controller-manager.yaml`,
          "customresourcedefinition-clusterextensions.olm.operatorframework.io.yaml",
          `${OPENSHIFT_NAMESPACE}-deployment-operator-controller-controller-manager.yaml`,
        ]),
      );
      const names = rendered.map(({ object: { kind, metadata } }) => `${kind} ${metadata.namespace} ${metadata.name}`);
      expect(new Set(names).size).toBe(names.length);
      expect(rendered.filter(({ object }) => object.kind === "Secret")).toEqual([]);
    });

    test("the Deployments have the image, the gates and the replicas, and become available", async () => {
      expect(deployments.map(({ metadata }) => metadata.name)).toEqual(SERVERS);
      for (const { spec } of deployments) {
        const [container] = spec.template.spec.containers;
        expect([spec.replicas, container]).toMatchObject([replicas, { image: IMAGE }]);
        expect(container?.args).toEqual(expect.arrayContaining(["--v=4", "--tls-profile=custom"]));
      }
      const gates = deployments.map(({ spec }) =>
        spec.template.spec.containers[0]?.args?.filter((arg) => arg.startsWith("--feature-gates")),
      );
      const on = state.gates.length > 0;
      expect(gates[0]).toEqual([`--feature-gates=APIV1MetasHandler=${on}`]);
      expect(gates[1]).toContain(`--feature-gates=BoxcutterRuntime=${on}`);
      expect(gates[1]).toContain("--feature-gates=WebhookProviderCertManager=false");
      expect(rendered.filter(({ object }) => object.kind === "PodDisruptionBudget")).toHaveLength(replicas > 1 ? 3 : 0);
      await waitUntilAvailable(deployments);
    });

    const policies = { group: "config.openshift.io", resource: "imagepolicies", verb: "list" };
    const requests = { group: "olm.operatorframework.io", resource: "extensionpermissions", verb: "create" };
    const bind = { group: "rbac.authorization.k8s.io", resource: "clusterroles", verb: "bind" };
    const secrets = { group: "", resource: "secrets", verb: "list", namespace: "openshift-config" };
    const privileged = { group: "security.openshift.io", resource: "securitycontextconstraints", verb: "use", name: "privileged" };
    test.for([
      // cluster-olm-operator waits for this permission in experimental feature sets.
      { server: "operator-controller", attributes: privileged, allowed: state.experimental },
      { server: "operator-controller", attributes: requests, allowed: true },
      { server: "operator-controller", attributes: policies, allowed: true },
      { server: "operator-controller", attributes: bind, allowed: false },
      { server: "permission-manager", attributes: bind, allowed: true },
      { server: "permission-manager", attributes: requests, allowed: false },
      { server: "permission-manager", attributes: policies, allowed: true },
      { server: "permission-manager", attributes: { ...secrets, name: "pull-secret" }, allowed: true },
      { server: "permission-manager", attributes: secrets, allowed: false },
      { server: "catalogd", attributes: { ...policies, resource: "clusterimagepolicies" }, allowed: true },
      { server: "catalogd", attributes: policies, allowed: false },
      { server: "catalogd", attributes: privileged, allowed: false },
    ])(
      "$server has exactly its own permissions: $attributes.verb $attributes.resource is $allowed",
      async ({ server, attributes, allowed }) => {
        const namespace = server === "catalogd" ? OPENSHIFT_CATALOGD_NAMESPACE : OPENSHIFT_NAMESPACE;
        const user = `system:serviceaccount:${namespace}:${server}-controller-manager`;
        const spec = { user, resourceAttributes: attributes };
        const review = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
        const { status } = (await cluster.client.raw("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)) as {
          status: { allowed: boolean };
        };
        expect(status.allowed).toBe(allowed);
      },
    );

    test("a second start changes no object", async () => {
      const versions = async (): Promise<string[]> => {
        const live = rendered.filter(({ object }) => object.kind !== "ClusterCatalog" && object.kind !== "Deployment");
        const objects = await Promise.all(
          live.map(({ object: { apiVersion, kind, metadata } }) => cluster.client.get({ apiVersion, kind, ...metadata })),
        );
        // Controllers write the status of objects with a generation.
        return objects.map(
          (object) => `${object?.kind} ${object?.metadata.name} ${object?.metadata.generation ?? object?.metadata.resourceVersion}`,
        );
      };
      const before = await versions();
      await operator.applyStaticResources(rendered);
      expect(await versions()).toEqual(before);
    });
  });

  test("a change of the proxy reaches all Deployments", async () => {
    const rendered = await operator.render(EXPERIMENTAL);
    const proxy = { ...SETTINGS.proxy, HTTPS_PROXY: "http://other.internal:3128" };
    await waitUntilAvailable(await operator.applyDeployments(rendered, { ...SETTINGS, proxy }));
    for (const { object } of rendered.filter((asset) => asset.object.kind === "Deployment")) {
      const { apiVersion, kind, metadata } = object;
      const live = await cluster.client.get<ServerDeployment>({ apiVersion, kind, ...metadata });
      expect(live?.spec.template.spec.containers[0]?.env).toContainEqual({ name: "HTTPS_PROXY", value: proxy.HTTPS_PROXY });
    }
  });

  describe("with running servers", () => {
    let rendered: Asset[];
    let servers: RenderedServers;
    beforeAll(async () => {
      const bundle = await pushBundleImage(cluster.registry, "bundles/small", "v1.0.0", "small", small.bundleFiles({ version: "1.0.0" }));
      const metas = small.catalogMetas(() => bundle).map((meta) => JSON.stringify(meta));
      const catalog = new Map([["catalog.json", Buffer.from(metas.join("\n"))]]);
      await pushCatalogImage(cluster.registry, "redhat/redhat-operator-index", VERSION, catalog);
      const deployed = await deploy(STANDARD);
      rendered = deployed.rendered;
      servers = await RenderedServers.start(cluster, join(folder, "servers"), deployed.deployments);
      await eventually(() => operator.syncCatalogs(rendered));
    });
    afterAll(async () => {
      await servers?.stop();
      expect(servers?.unexpectedEnds).toEqual([]);
    });

    /** Waits until a condition of an object is True. */
    async function waitForCondition(ref: { apiVersion: string; kind: string; name: string }, type: string): Promise<KubeObject> {
      return eventually(
        async () => {
          const object = await cluster.client.get(ref);
          const { conditions } = (object?.["status"] ?? {}) as { conditions?: Condition[] };
          if (findCondition(conditions, type)?.status !== "True") throw new Error(JSON.stringify(object?.["status"], null, 1));
          return object as KubeObject;
        },
        { timeoutMs: 120_000 },
      );
    }

    test("the default catalogs have the priorities and the tag of the cluster's minor version, and are served", async () => {
      const { items } = await cluster.client.list({ apiVersion: API_VERSION, kind: "ClusterCatalog" });
      const image = (name: string) => ({
        type: "Image",
        image: { ref: `registry.redhat.io/redhat/${name}-operator-index:${VERSION}`, pollIntervalMinutes: 10 },
      });
      const catalogs = items.map(({ metadata, spec }) => [metadata.name, spec]);
      const manifests = parseYamlDocuments(await readFile(join(ROOT, "config/openshift/catalogs.yaml"), "utf8")) as KubeObject[];
      expect(Object.fromEntries(catalogs)).toMatchObject(Object.fromEntries(manifests.map(({ metadata, spec }) => [metadata.name, spec])));
      expect(Object.fromEntries(catalogs)).toMatchObject({
        "openshift-redhat-operators": { priority: -100, source: image("redhat") },
        "openshift-certified-operators": { priority: -200, source: image("certified") },
        "openshift-community-operators": { priority: -400, source: image("community") },
      });
      await waitForCondition(REDHAT, "Serving");
    });

    test("an extension is installed from a default catalog with managed permissions", async () => {
      const { spec, ...extension } = small.extension({ version: "1.0.0" });
      const { serviceAccount: _account, ...managed } = spec;
      await cluster.client.apply({ ...extension, spec: managed }, { fieldManager: "test", force: true });
      const installed = await waitForCondition({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "small" }, "Installed");
      expect((installed as ClusterExtension).status?.install?.bundle.version).toBe("1.0.0");
      expect(await servers.metric("permission-manager", 'permission_manager_pull_secrets{state="used"}')).toMatch(/ 1$/);
    });

    test("cluster-olm-operator reads the release, and operator-controller does not write ClusterOperator olm", async () => {
      expect(await operator.listReleases("small")).toHaveLength(1);
      expect(await openShift.clusterOperator()).toBeUndefined();
    });

    test("an edit of a default catalog is reverted, other fields are kept, and a deleted catalog is created again", async () => {
      expect(await operator.syncCatalogs(rendered)).toEqual([]);
      await cluster.client.patch(REDHAT, { spec: { priority: 5, availabilityMode: "Unavailable" } }, { type: "merge" });
      expect(await operator.syncCatalogs(rendered)).toEqual([REDHAT.name]);
      expect(await cluster.client.get(REDHAT)).toMatchObject({ spec: { priority: -100, availabilityMode: "Unavailable" } });
      await cluster.client.delete(REDHAT);
      await eventually(async () => expect(await cluster.client.get(REDHAT)).toBeUndefined(), { timeoutMs: 60_000 });
      expect(await operator.syncCatalogs(rendered)).toEqual([REDHAT.name]);
      await waitForCondition(REDHAT, "Serving");
    });
  });
});
