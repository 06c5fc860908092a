import { afterAll, beforeAll, expect, test } from "vitest";
import { getNamespace } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { compareText } from "../../pkg/text/compare.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { thingDefinition } from "../support/definitions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" } as const;
const INSTALLED = { Progressing: "True/Succeeded", Installed: "True/Succeeded", Available: "True/Healthy" };
const DEFINITION = {
  metadata: { name: "things.legacy.example.com" },
  spec: {
    group: "legacy.example.com",
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};

// Source: H-01, H-02, S0-014, S3-33.
describeWithPrivateCluster("the content of bundles", (cluster) => {
  let world: OperatorWorld;
  beforeAll(async () => {
    world = await OperatorWorld.start(cluster);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const serve = (version: string): Promise<void> => world.serve({ channels: { stable: [`p.v${version}`] }, bundles: [`p.v${version}`] });
  const events = async (name: string, reason: string): Promise<string[]> =>
    (await world.events(name)).filter((text) => text.startsWith(`${reason}: `));

  test("a bundle with v1beta1 CRDs is rejected before any write, and a later version with v1 CRDs is installed", async () => {
    const legacy = { ...DEFINITION, apiVersion: "apiextensions.k8s.io/v1beta1", kind: CRD.kind };
    world.bundle("p.v1.0.0", { ...tinyBundle("1.0.0"), "manifests/crd.yaml": JSON.stringify(legacy) });
    await serve("1.0.0");
    await world.extension("legacy");
    const { Progressing = "" } = await world.conditions("legacy", { Progressing: "False/Blocked", Installed: "False/Failed" });
    expect(Progressing).toContain(
      'bundle "p.v1.0.0" cannot be applied: CustomResourceDefinition "things.legacy.example.com" uses apiextensions.k8s.io/v1beta1, which Kubernetes 1.22 removed',
    );
    await world.expectProblem("legacy", "BundleInvalid", { next: "choose another version" });
    const { items } = await cluster.client.list({ apiVersion: "apps/v1", kind: "Deployment" }, { namespace: "legacy-system" });
    expect(items).toEqual([]);
    expect(await world.releases("legacy")).toEqual([]);
    await eventually(async () => expect(await events("legacy", "Blocked")).toHaveLength(1));

    world.bundle("p.v1.1.0", { ...tinyBundle("1.1.0"), "manifests/crd.yaml": JSON.stringify({ ...DEFINITION, ...CRD }) });
    await serve("1.1.0");
    await world.conditions("legacy", INSTALLED);
    expect(await cluster.client.get({ ...CRD, name: DEFINITION.metadata.name })).toBeDefined();
    await world.remove("legacy");
  });

  test("a bundle that contradicts its catalog is installed, and reported in one Event and in status.problems", async () => {
    const second = { kind: "ClusterServiceVersion", metadata: { name: "p.v0.9.0" }, spec: { version: "0.9.0" } };
    world.bundle("p.v1.2.0", { ...tinyBundle("1.2.1"), "manifests/a.yaml": JSON.stringify(second) });
    await serve("1.2.0");
    await world.extension("flawed");
    const message =
      'bundle "p.v1.2.0" has mistakes that its author must fix: ' +
      'it contains 2 ClusterServiceVersions: "p.v0.9.0" (manifests/a.yaml), "p.v1.2.1" (manifests/csv.yaml); only the last is used; ' +
      'its ClusterServiceVersion has version "1.2.1", but the catalog has "1.2.0"';
    await world.conditions("flawed", INSTALLED);
    await world.expectProblem("flawed", "BundleWarning", { message: message });
    world.controller.healthChanged("flawed"); // a reconcile without a pull reports it as well
    await world.expectProblem("flawed", "BundleWarning", { message: message });
    await eventually(async () => expect(await events("flawed", "BundleWarning")).toEqual([`BundleWarning: ${message}`]));
    world.bundle("p.v1.3.0", tinyBundle("1.3.0"));
    await world.serve({
      channels: { stable: ["p.v1.2.0", { name: "p.v1.3.0", replaces: "p.v1.2.0" }] },
      bundles: ["p.v1.2.0", "p.v1.3.0"],
    });
    await world.until("flawed", ({ status }) => expect(status?.install?.bundle.version).toBe("1.3.0"));
    await eventually(async () => expect((await world.conditions("flawed", INSTALLED))["problems"]).toBe(""));
    await world.remove("flawed");
  });

  test("manifests are read from the folder that the bundle's annotations set", async () => {
    const annotations = {
      "operators.operatorframework.io.bundle.package.v1": "p",
      "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
      "operators.operatorframework.io.bundle.manifests.v1": "deploy/olm/",
    };
    const { "manifests/csv.yaml": csv = "" } = tinyBundle("1.4.0");
    world.bundle("p.v1.4.0", { "metadata/annotations.yaml": JSON.stringify({ annotations }), "deploy/olm/csv.yaml": csv });
    await serve("1.4.0");
    await world.extension("elsewhere");
    await world.conditions("elsewhere", INSTALLED);
    await world.remove("elsewhere");
  });

  test("an install rejects a bundle with an unsupported media type, and reports the supported media type", async () => {
    const annotations = { "operators.operatorframework.io.bundle.mediatype.v1": "helm" };
    world.bundle("p.v1.5.0", { ...tinyBundle("1.5.0"), "metadata/annotations.yaml": JSON.stringify({ annotations }) });
    await serve("1.5.0");
    await world.extension("helm");
    const { Progressing } = await world.conditions("helm", { Progressing: "True/Retrying", Installed: "False/Failed" });
    expect(Progressing).toContain(
      'error for resolved bundle "p.v1.5.0" with version "1.5.0": metadata/annotations.yaml: operators.operatorframework.io.bundle.mediatype.v1: bundles of media type "helm" are not supported, only "registry+v1" is',
    );
    await world.remove("helm");
  });

  test("members named like JavaScript built-ins are preserved in bundle objects, configuration and custom resources", async () => {
    const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"];
    const map = (of: readonly string[], suffix = ""): Record<string, string> =>
      Object.fromEntries(of.map((name, i) => [name, `value ${i}${suffix}`]));
    /** The API server accepts labels and annotations only with these names. */
    const labels = Object.fromEntries(names.slice(1).map((name, i) => [name, `v${i}`]));
    const encode = (of: Record<string, string>): Record<string, string> =>
      Object.fromEntries(Object.entries(of).map(([name, value]) => [name, Buffer.from(value).toString("base64")]));
    const properties = (of: readonly string[]): object => Object.fromEntries(of.map((name) => [name, { type: "string" }]));
    const group = "names.example.com";
    const objects = (count: number): KubeObject[] => [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", labels, annotations: labels }, data: map(names) },
      { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: map(names) },
      thingDefinition(group, { properties: { spec: { type: "object", properties: properties(names.slice(0, count)) } } }),
    ];
    world.bundle("p.v2.0.0", tinyBundle("2.0.0", { objects: objects(4) }));
    world.bundle("p.v2.1.0", tinyBundle("2.1.0", { objects: objects(5) }));
    await serve("2.0.0");
    const x = await world.extension("names", {
      config: { configType: "Inline", inline: { deploymentConfig: { annotations: labels, nodeSelector: labels } } },
    });
    const namespace = getNamespace(x);
    await world.conditions("names", { Progressing: "True/Succeeded", Installed: "True/Succeeded" });

    const config = await cluster.client.get({ apiVersion: "v1", kind: "ConfigMap", namespace, name: "c" });
    expect(listOwn(config?.["data"])).toEqual(listOwn(map(names)));
    expect([config?.metadata.labels, config?.metadata.annotations]).toMatchObject([labels, labels]);
    const secret = await cluster.client.get({ apiVersion: "v1", kind: "Secret", namespace, name: "s" });
    expect(listOwn(secret?.["data"])).toEqual(listOwn(encode(map(names))));
    const deployment = await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name: "tiny" });
    expect(deployment?.["spec"]).toMatchObject({ template: { metadata: { annotations: labels }, spec: { nodeSelector: labels } } });

    const thing = { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "t", namespace }, spec: map(names.slice(0, 4)) };
    await eventually(() => cluster.client.create(thing));
    const live = await cluster.client.get({ apiVersion: thing.apiVersion, kind: "Thing", namespace, name: "t" });
    expect(listOwn(live?.["spec"])).toEqual(listOwn(thing.spec));

    await world.serve({
      channels: { stable: ["p.v2.0.0", { name: "p.v2.1.0", replaces: "p.v2.0.0" }] },
      bundles: ["p.v2.0.0", "p.v2.1.0"],
    });
    await world.until("names", ({ status }) => expect(status?.install?.bundle.version).toBe("2.1.0"));
    const definition = await cluster.client.get({ ...CRD, name: `things.${group}` });
    const { versions } = (definition?.["spec"] ?? { versions: [] }) as {
      versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: object } } } } }[];
    };
    expect(Object.keys(versions[0]?.schema.openAPIV3Schema.properties.spec.properties ?? {}).sort()).toEqual(names.toSorted());
    expect(listOwn((await cluster.client.get({ apiVersion: thing.apiVersion, kind: "Thing", namespace, name: "t" }))?.["spec"])).toEqual(
      listOwn(thing.spec),
    );
    await cluster.client.delete({ apiVersion: thing.apiVersion, kind: "Thing", namespace, name: "t" });
    await world.remove("names");
  });
});

/** Returns the own members of an object, sorted, because a comparison of objects ignores a member named `__proto__`. */
function listOwn(value: unknown): [string, unknown][] {
  return Object.entries(value as object).sort(([a], [b]) => compareText(a, b));
}
