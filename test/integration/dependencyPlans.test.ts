import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { type CatalogWorld, packageFrom } from "../support/dependencyFixture.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };

/** The definition of a kind. */
function crd(kind: string, group = "example.com", scope: "Cluster" | "Namespaced" = "Cluster"): KubeObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
}

describeWithPrivateCluster("dependency plans", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000 });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Serves packages whose bundles contain the definitions that they provide, and other objects by name of the bundle. */
  async function serve(packages: CatalogWorld["packages"], objects: Readonly<Record<string, readonly KubeObject[]>> = {}): Promise<void> {
    for (const [packageName, fixture] of Object.entries(packages)) {
      for (const bundle of fixture.bundles) {
        const { name, provides = [] } = typeof bundle === "string" ? { name: bundle } : bundle;
        const contained = [...provides.map((kind) => crd(kind)), ...(objects[name] ?? [])];
        world.bundle(name, tinyBundle(name.slice(name.indexOf(".v") + 2), { name: packageName, objects: contained }));
      }
      await world.servePackage(packageFrom(fixture, packageName), packageName);
    }
  }

  const buildSpec = (packageName: string, spec: Partial<ClusterExtensionSpec> = {}) => ({
    dependencies: { policy: "Install" as const },
    ...spec,
    catalog: { packageName },
  });

  test("two bundles that need each other are installed together", async () => {
    await serve({
      hen: { bundles: [{ name: "hen.v1.0.0", requires: ["egg >=1.0.0"] }] },
      egg: { bundles: [{ name: "egg.v1.0.0", requires: ["hen >=1.0.0"] }] },
    });
    await world.extension("hen", buildSpec("hen"));
    await world.conditions("hen", DONE);
    await world.conditions("egg", DONE);
    await world.until("hen", ({ status }) => expect(status?.dependencyPlan).toBeUndefined());
    await world.remove("hen");
    await world.gone("egg");
  });

  test("the definitions of all bundles of a wave are applied before their other objects", async () => {
    const custom = (kind: string): KubeObject => ({ apiVersion: "monitoring.coreos.com/v1", kind, metadata: { name: "sample" } });
    const provides = (kind: string): Property[] => [{ type: "olm.gvk", value: { group: "monitoring.coreos.com", version: "v1", kind } }];
    const requires = (kind: string): object => ({ gvk: { group: "monitoring.coreos.com", version: "v1", kind } });
    await serve(
      {
        lock: { bundles: [{ name: "lock.v1.0.0", properties: provides("PrometheusRule"), requires: [requires("ServiceMonitor")] }] },
        key: { bundles: [{ name: "key.v1.0.0", properties: provides("ServiceMonitor"), requires: [requires("PrometheusRule")] }] },
      },
      {
        "lock.v1.0.0": [crd("PrometheusRule", "monitoring.coreos.com", "Namespaced"), custom("ServiceMonitor")],
        "key.v1.0.0": [crd("ServiceMonitor", "monitoring.coreos.com", "Namespaced"), custom("PrometheusRule")],
      },
    );
    await world.extension("lock", buildSpec("lock"));
    await world.conditions("lock", DONE);
    await world.conditions("key", DONE);
    await world.remove("lock");
    await world.gone("key");
  });
});
