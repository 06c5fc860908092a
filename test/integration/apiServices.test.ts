import { join } from "node:path";
import { load } from "js-yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCondition } from "../../pkg/api/conditions.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { isApiService, listOwnedApiServices } from "../../pkg/bundle/apiServices.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { selfSigned } from "../../pkg/certificates/providers.ts";
import { ServedResources } from "../../pkg/kube/servedResources.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { bundleFiles } from "../cases/topics/render.ts";
import { ownObjects } from "../support/audit.ts";
import { AuditTail } from "../support/auditTail.ts";
import { contentFrom } from "../support/catalogFixture.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { FLUNDERS, flunderBundle, startFlunderServer } from "../support/flunderServer.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import type { ServingPod } from "../support/servingPod.ts";
import { describeWithData } from "../support/sharedData.ts";
import { tinyBundle } from "../support/tinyBundle.ts";
import { whileAsking } from "../support/whileAsking.ts";

const NAME = "wardle";
const NAMESPACE = `${NAME}-system`;
const API_VERSION = `${FLUNDERS.group}/${FLUNDERS.version}`;
const API_SERVICE: ObjectRef = {
  apiVersion: "apiregistration.k8s.io/v1",
  kind: "APIService",
  name: `${FLUNDERS.version}.${FLUNDERS.group}`,
};
const SECRET: ObjectRef = { apiVersion: "v1", kind: "Secret", namespace: NAMESPACE, name: "tiny-service-cert" };
const READER: ObjectRef = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  namespace: "kube-system",
  name: `${NAMESPACE}:tiny-service:auth-reader`,
};
const FLUNDER: ObjectRef = { apiVersion: API_VERSION, kind: FLUNDERS.kind, namespace: "default", name: "a" };
const files = (bundle: Record<string, string>) => new Map(Object.entries(bundle).map(([path, text]) => [path, Buffer.from(text)]));

// Source: H-11, S0-139, S0-140, S0-141.
describeWithPrivateCluster("bundles with API services", (cluster) => {
  let world: OperatorWorld;
  let server: ServingPod | undefined;

  /** Returns exactly the permissions that olmv1 derives from the bundle. */
  const computeRules = (namespace: string) => {
    const objects = renderBundle(loadBundle(files(flunderBundle("1.0.0"))), { installNamespace: namespace, certProvider: selfSigned });
    return computeRequiredRules(objects, { installNamespace: namespace });
  };
  const caBundle = async (): Promise<string | undefined> => {
    const { caBundle: found } = ((await cluster.client.get(API_SERVICE))?.["spec"] ?? {}) as { caBundle?: string };
    return found;
  };
  const secretData = async (ref = SECRET) => ((await cluster.client.get(ref))?.["data"] ?? {}) as Record<string, string>;
  const serve = async (bundles: Record<string, Record<string, string>>): Promise<void> => {
    const versions = Object.keys(bundles);
    for (const [version, bundle] of Object.entries(bundles)) world.bundle(`p.v${version}`, bundle);
    await world.serve({
      channels: {
        stable: versions.map((version, i) => ({ name: `p.v${version}`, ...(i > 0 ? { replaces: `p.v${versions[i - 1]}` } : {}) })),
      },
      bundles: versions.map((version) => ({ name: `p.v${version}`, version, properties: listProvided(bundles[version] ?? {}) })),
    });
  };

  const upgrade = async (version: string): Promise<void> => {
    const ref = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: NAME };
    await cluster.client.patch(ref, { spec: { source: { catalog: { version } } } }, { type: "merge" });
    await world.until(NAME, ({ status }) => expect(status?.install?.bundle.version).toBe(version));
  };

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
    await serve({ "1.0.0": flunderBundle("1.0.0"), "1.0.1": flunderBundle("1.0.1"), "1.1.0": tinyBundle("1.1.0") });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await world[Symbol.asyncDispose]();
  });

  test("an extension with API services is installed with the derived permissions, and is not Available until its server serves the APIs", async () => {
    await world.extension(NAME, { computeRules, catalog: { version: "1.0.0" } });
    await world.conditions(NAME, { Installed: "True/Succeeded", Progressing: "True/Succeeded", Available: "False/RollingOut" });
    await world.until(NAME, ({ status }) => {
      const { message } = findCondition(status?.conditions, "Available") ?? {};
      expect(message).toContain(`APIService ${API_SERVICE.name}: condition Available is False`);
    });
    server = await startFlunderServer(cluster.client, NAMESPACE);
    await world.conditions(NAME, { Available: "True/Healthy" });
  });

  test("requests for the APIs reach the extension's server through the API server, and status lists the APIs", async () => {
    const flunder = { apiVersion: API_VERSION, kind: "Flunder", metadata: { namespace: "default", name: "a" } };
    await eventually(async () => expect(await cluster.client.get(FLUNDER)).toEqual(flunder));
    const { status } = await world.get(NAME);
    expect(status?.providedAPIs).toEqual([{ group: FLUNDERS.group, kind: "Flunder", versions: [FLUNDERS.version] }]);
    expect(status?.inventory?.objects.map(({ kind, namespace, name }) => [kind, namespace ?? "", name])).toEqual([
      ["ClusterRoleBinding", "", `${NAMESPACE}:tiny-service:auth-delegator`],
      ["Role", NAMESPACE, "tiny-service-cert"],
      ["RoleBinding", "kube-system", READER.name],
      ["RoleBinding", NAMESPACE, "tiny-service-cert"],
      ["Service", NAMESPACE, "tiny-service"],
      ["Deployment", NAMESPACE, "tiny"],
      ["APIService", "", API_SERVICE.name],
    ]);
  });

  test("the controller restores the CA when the APIService is changed or deleted, without a new release", async () => {
    const { "ca.crt": authority } = await secretData();
    expect(await caBundle()).toBe(authority);
    await cluster.client.patch(API_SERVICE, { spec: { caBundle: Buffer.from("wrong").toString("base64") } }, { type: "merge" });
    await eventually(async () => expect(await caBundle()).toBe(authority));
    await cluster.client.delete(API_SERVICE);
    await eventually(async () => expect(await caBundle()).toBe(authority));
    await eventually(async () => expect(await cluster.client.get(FLUNDER)).toBeDefined());
    expect(await world.releases(NAME)).toEqual(["v1 deployed"]);
  });

  test("condition Available reports an APIService whose server is down, and API discovery still works", async () => {
    await server?.[Symbol.asyncDispose]();
    server = undefined;
    await world.until(NAME, ({ status }) => {
      expect(findCondition(status?.conditions, "Installed")).toMatchObject({ status: "True", reason: "Succeeded" });
      const available = {
        reason: "Unhealthy",
        message: expect.stringContaining(`APIService ${API_SERVICE.name}: condition Available is False`),
      };
      expect(findCondition(status?.conditions, "Available")).toMatchObject(available);
    });
    const served = await new ServedResources(cluster.client).read(AbortSignal.timeout(10_000));
    expect(served.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["ConfigMap", "Deployment", "ClusterExtension"]));
    expect(await cluster.client.resourceFor({ apiVersion: "policy/v1", kind: "PodDisruptionBudget" })).toMatchObject({ namespaced: true });
    server = await startFlunderServer(cluster.client, NAMESPACE);
    await world.conditions(NAME, { Available: "True/Healthy" });
  });

  test("an extension that requires the provided APIs is installed, and an upgrade of the provider keeps its certificate and CA", async () => {
    const { group, version, kind } = FLUNDERS;
    const requires = (of: string) => [{ type: "olm.gvk.required", value: { group, version: of, kind } }];
    world.bundle("q.v1.0.0", tinyBundle("1.0.0", { name: "dependent" }));
    const dependents = (of: string) => ({ channels: { stable: ["q.v1.0.0"] }, bundles: [{ name: "q.v1.0.0", properties: requires(of) }] });
    await world.servePackage(contentFrom(dependents("v9"), "q"), "q");
    await world.extension("dependent", { catalog: { packageName: "q" } });
    await world.conditions("dependent", { Progressing: "False/UnsatisfiedDependencies" });
    await world.servePackage(contentFrom(dependents(version), "q"), "q");
    await world.conditions("dependent", { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
    const before = await secretData();
    await upgrade("1.0.1");
    await world.conditions(NAME, { Progressing: "True/Succeeded", Available: "True/Healthy" });
    expect(await secretData()).toEqual(before);
    expect(await caBundle()).toBe(before["ca.crt"]);
    expect(await cluster.client.get(FLUNDER)).toBeDefined();
    await world.remove("dependent");
  });

  test("an upgrade to a bundle without API services deletes all objects that were created for API services", async () => {
    await upgrade("1.1.0");
    await world.conditions(NAME, { Progressing: "True/Succeeded", Available: "True/Healthy" });
    expect(await ownObjects(cluster.client, NAME)).toEqual([`Deployment ${NAMESPACE}/tiny`]);
    expect((await world.get(NAME)).status?.providedAPIs).toBeUndefined();
    await world.remove(NAME);
  });

  test("an install does not adopt an APIService that has another owner, and reports the owner", async () => {
    const spec = { group: "taken.example.com", version: "v1", groupPriorityMinimum: 1000, versionPriority: 10 };
    const taken = { ...API_SERVICE, name: "v1.taken.example.com" };
    const { apiVersion, kind } = API_SERVICE;
    const service = { namespace: "default", name: "nowhere" };
    const theirs: KubeObject = {
      apiVersion,
      kind,
      metadata: { name: taken.name },
      spec: { ...spec, service, insecureSkipTLSVerify: true },
    };
    await cluster.client.create(theirs);
    await serve({ "2.0.0": flunderBundle("2.0.0", { group: spec.group, version: spec.version }) });
    await world.extension("taken");
    const { Progressing } = await world.conditions("taken", { Progressing: "True/Retrying" });
    expect(Progressing).toContain(
      "APIService 'v1.taken.example.com' already exists in namespace '' and cannot be managed by operator-controller",
    );
    expect((await cluster.client.get(taken))?.["spec"]).toMatchObject({ ...spec, service });
    await world.remove("taken");
    await cluster.client.delete(taken);
  });

  describeWithData("a real bundle", (folder) => {
    test("a real bundle with API services is installed with exactly the derived permissions", async () => {
      const bundle = withoutDefinitions(join(folder, "bundles/enmasse/0.28.2"));
      await serve({ "0.28.2": bundle });
      const render = (namespace: string) =>
        renderBundle(loadBundle(files(bundle)), { installNamespace: namespace, certProvider: selfSigned });
      const name = "enmasse";
      await world.extension(name, {
        computeRules: (namespace) => computeRequiredRules(render(namespace), { installNamespace: namespace }),
      });
      await world.conditions(name, { Installed: "True/Succeeded", Progressing: "True/Succeeded" });
      const objects = render(`${name}-system`);
      for (const object of objects) expect(await cluster.client.get(toObjectRef(object)), describeObject(object)).toBeDefined();
      const trusting = objects.filter(isApiService).map((object) => cluster.client.get(toObjectRef(object)));
      for (const live of await Promise.all(trusting)) expect(live?.["spec"]).toMatchObject({ caBundle: expect.any(String) as string });
      await world.remove(name);
      expect(await ownObjects(cluster.client, name)).toEqual([]);
    });
  });

  test("an install is rejected with the message of the Go implementation when the certificate provider is none", async () => {
    await world[Symbol.asyncDispose]();
    world = await OperatorWorld.start(cluster, { webhookCertProvider: "none" });
    await serve({ "1.0.0": flunderBundle("1.0.0") });
    await world.extension("refused");
    const { Progressing } = await world.conditions("refused", { Progressing: "True/Retrying" });
    expect(Progressing).toContain("unsupported bundle: apiServiceDefintions are not supported: certificate provider is nil");
    await world.remove("refused");
  });

  test("certificates of API services are renewed without a failed request, and an uninstall deletes all objects", async () => {
    await world[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    const certificates = { validityMs: 20_000, renewBeforeMs: 12_000, settleMs: 2_000, skewMs: 2_000 };
    world = await OperatorWorld.start(cluster, { certificates });
    await serve({ "1.0.0": flunderBundle("1.0.0") });
    const name = "renewed";
    const { spec } = await world.extension(name, { computeRules });
    await world.conditions(name, { Progressing: "True/Succeeded" });
    server = await startFlunderServer(cluster.client, `${name}-system`);
    await world.conditions(name, { Available: "True/Healthy" });
    await eventually(async () => expect(await cluster.client.get(FLUNDER)).toBeDefined());
    const secret = { ...SECRET, namespace: `${name}-system` };
    const first = authorities(await secretData(secret));
    const { answers, failures } = await whileAsking(
      () => cluster.client.get(FLUNDER),
      () =>
        eventually(
          async () => {
            expect(server?.certificates.length).toBeGreaterThanOrEqual(3);
            expect(authorities(await secretData(secret))).not.toContain(first[0]);
          },
          { timeoutMs: 120_000 },
        ),
    );
    expect(failures).toEqual([]);
    expect(answers).toBeGreaterThan(20);
    expect(await world.releases(name)).toEqual(["v1 deployed"]);
    await world.remove(name);
    expect(await ownObjects(cluster.client, name)).toEqual([]);
    expect(await cluster.client.get(API_SERVICE)).toBeUndefined();
    expect(await cluster.client.get(secret)).toBeUndefined();
    expect(await cluster.client.get({ ...READER, name: `${name}-system:tiny-service:auth-reader` })).toBeUndefined();
    const events = await world.events(name);
    expect(events.filter((text) => text.startsWith("UninstalledByGarbageCollector"))).toEqual([]);
    const requests = await new AuditTail(cluster.auditLog).requestsOf(`${name}-system`, spec.serviceAccount?.name ?? "");
    expect(requests.filter(({ code }) => code === 403)).toEqual([]);
    const deleted = requests.flatMap(({ verb, ref: { resource } }) => (verb === "delete" ? [resource] : []));
    expect(deleted.slice(0, 2)).toEqual(["apiservices", "deployments"]);
  });
});

/** Returns the certificates of all trusted authorities, PEM. */
function authorities({ "ca.crt": text = "" }: Record<string, string>): string[] {
  return Buffer.from(text, "base64")
    .toString()
    .split(/(?<=-----END CERTIFICATE-----\n)/);
}

/** Returns the catalog's properties for the APIs of a bundle: type olm.gvk. */
function listProvided(bundle: Record<string, string>): { type: string; value: unknown }[] {
  const { csv } = loadBundle(files(bundle));
  return listOwnedApiServices(csv).flatMap(({ group, version, kinds }) =>
    kinds.map(({ kind }) => ({ type: "olm.gvk", value: { group, version, kind } })),
  );
}

/** Returns the files of a real bundle without definitions that current API servers do not accept. */
function withoutDefinitions(folder: string): Record<string, string> {
  const kept = [...bundleFiles(folder)].filter(([path]) => !path.endsWith(".crd.yaml"));
  const texts = kept.map(([path, content]): [string, string] => [path, Buffer.from(content).toString()]);
  return Object.fromEntries(
    texts.map(([path, text]) => {
      if (!path.endsWith(".clusterserviceversion.yaml")) return [path, text.replace(/(package\.v1): .*/, "$1: p")];
      const csv = load(text) as { spec: Record<string, unknown> };
      return [path, JSON.stringify({ ...csv, spec: { ...csv.spec, customresourcedefinitions: {} } })];
    }),
  );
}
