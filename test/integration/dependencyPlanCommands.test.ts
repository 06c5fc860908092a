import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import type { InstallPlan } from "../../pkg/operatorcontroller/plan/installPlan.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { type CatalogWorld, packageFrom } from "../support/dependencyFixture.ts";
import { createExtension } from "../support/extensions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { insecureRegistry } from "../support/pulling.ts";
import { type Ended, olmv1 } from "../support/runCli.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

const DONE = { Installed: "True/Succeeded", Progressing: "True/Succeeded" };
const GROUP = "monitoring.coreos.com";
const provides = (kind: string): Property[] => [{ type: "olm.gvk", value: { group: GROUP, version: "v1", kind } }];
const requires = (kind: string): object => ({ gvk: { group: GROUP, version: "v1", kind } });
const custom = (kind: string): KubeObject => ({ apiVersion: `${GROUP}/v1`, kind, metadata: { name: "sample" } });
const crd = (kind: string): KubeObject => {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
};
/** lock and key need each other's API, and lock needs the package bolt. */
const PACKAGES: CatalogWorld["packages"] = {
  lock: {
    bundles: [
      {
        name: "lock.v1.0.0",
        image: "registry.example/lock:v1.0.0",
        properties: provides("PrometheusRule"),
        requires: [requires("ServiceMonitor"), "bolt 1.0.0"],
      },
    ],
  },
  key: {
    bundles: [
      {
        name: "key.v1.0.0",
        image: "registry.example/key:v1.0.0",
        properties: provides("ServiceMonitor"),
        requires: [requires("PrometheusRule")],
      },
    ],
  },
  bolt: { bundles: [{ name: "bolt.v1.0.0", image: "registry.example/bolt:v1.0.0" }] },
};
const OBJECTS: Readonly<Record<string, readonly KubeObject[]>> = {
  lock: [crd("PrometheusRule"), custom("ServiceMonitor")],
  key: [crd("ServiceMonitor"), custom("PrometheusRule")],
  bolt: [],
};

describeWithPrivateCluster("commands for dependency plans", (cluster) => {
  const folder = new TempFolder();
  let world: OperatorWorld;
  let access: string[];

  beforeAll(async () => {
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000 });
    const metas: object[] = [];
    for (const [packageName, fixture] of Object.entries(PACKAGES)) {
      const files = tinyBundle("1.0.0", { name: packageName, objects: OBJECTS[packageName] ?? [] });
      const { digest } = await pushImage(cluster.registry, packageName, "v1.0.0", { files: toFiles(files) });
      world.bundle(`${packageName}:v1.0.0`, files, digest);
      const content = packageFrom(fixture, packageName);
      await world.servePackage(content, packageName);
      metas.push({ schema: "olm.package", name: packageName }, ...content.bundles.map((bundle) => ({ schema: "olm.bundle", ...bundle })));
    }
    const { digest } = await pushImage(cluster.registry, "catalog", "latest", {
      files: toFiles({ "configs/catalog.json": metas.map((meta) => JSON.stringify(meta)).join("\n") }),
      labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
    });
    const resolvedSource = { type: "Image", image: { ref: `registry.example/catalog@${digest}` } };
    const catalog = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "c" };
    await cluster.client.patch(catalog, { status: { resolvedSource } }, { type: "merge", subresource: "status" });
    const registries = folder.write("registries", { "registries.conf": insecureRegistry(cluster.registry.host, "registry.example") });
    access = ["--kubeconfig", cluster.kubeconfig, "--registries-conf", join(registries, "registries.conf")];
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const spec: Partial<ClusterExtensionSpec> & { catalog: { packageName: string } } = {
    catalog: { packageName: "lock" },
    approval: "Manual",
    dependencies: { policy: "Install" },
  };
  const readPlan = async (name: string): Promise<InstallPlan> => {
    const { out, err } = await olmv1("plan", name, "-o", "json", ...access);
    expect(err).toBe("");
    return JSON.parse(out) as InstallPlan;
  };
  const run = (...args: string[]): Promise<Ended> => olmv1(...args, "--kubeconfig", cluster.kubeconfig);

  test("the commands show a cycle that waits for approval as one plan, and one approval installs it", async () => {
    const x = await world.extension("lock", { ...spec, suspend: true });
    await world.conditions("lock", { Progressing: "False/Suspended" });
    const computed = await readPlan("lock");
    const members = computed.dependencies?.members.map(({ wave, extension, created, installed }) => [wave, extension, created, installed]);
    expect(members).toEqual([
      [1, "bolt", true, false],
      [2, "key", true, false],
      [2, "lock", false, false],
    ]);
    expect(computed).toMatchObject({
      findings: [],
      approval: { needed: true, given: false },
      dependencies: { stored: false, failure: null },
    });
    expect(computed.dependencies?.awaitedKinds).toEqual([{ apiVersion: `${GROUP}/v1`, kind: "ServiceMonitor", bundle: "key.v1.0.0" }]);

    await cluster.client.patch({ ...x, name: "lock" }, { spec: { suspend: false } }, { type: "merge" });
    await world.conditions("lock", { Progressing: "False/AwaitingApproval" });
    const { plan: waiting, dependencyPlan } = (await world.get("lock")).status ?? {};
    expect([waiting?.digest, dependencyPlan?.digest]).toEqual([computed.digest, computed.digest]);
    const { out, code, err } = await olmv1("plan", "lock", ...access);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain(`
Dependencies: the plan installs 3 bundles in 2 waves
  wave 1:
    + bolt.v1.0.0 (version 1.0.0, from catalog c): new ClusterExtension bolt
        lock.v1.0.0 requires package "bolt" 1.0.0
  wave 2, installed together:
    + key.v1.0.0 (version 1.0.0, from catalog c): new ClusterExtension key
        lock.v1.0.0 requires API monitoring.coreos.com/v1 ServiceMonitor
    + lock.v1.0.0 (version 1.0.0, from catalog c): this ClusterExtension
`);
    expect(out).toContain(
      `one approval covers all bundles of the plan\napprove: kubectl annotate clusterextension lock --overwrite olm.operatorframework.io/approve=${waiting?.digest}\n`,
    );
    expect((await run("describe", "lock")).out).toContain(`
Dependency plan: 0 of 3 bundles installed
  wave 1: bolt.v1.0.0 (ClusterExtension bolt): not created yet
  wave 2: key.v1.0.0 (ClusterExtension key): not created yet
  wave 2: lock.v1.0.0 (ClusterExtension lock): not installed: AwaitingApproval: `);
    expect((await run("list")).out).toContain("AwaitingApproval (0 of 3 bundles)");
    expect((await run("tree", "lock")).out).toContain("─ dependency plan: 0 of 3 bundles installed\n");

    const approved = await run("approve", "lock", "--yes");
    expect(approved.out).toContain("one approval covers 3 bundles; the bundles of a wave are installed together:\n");
    expect(approved.err).toContain("  bundle bolt.v1.0.0 is installed (ClusterExtension bolt) (");
    expect([approved.code, approved.err]).toEqual([
      0,
      expect.stringContaining("lock: lock.v1.0.0 (version 1.0.0) is installed and ready after"),
    ]);
    await eventually(async () =>
      expect((await run("tree", "lock")).out.match(/ClusterExtension \w+/g)).toEqual([
        "ClusterExtension lock",
        "ClusterExtension bolt",
        "ClusterExtension key",
      ]),
    );
    for (const name of ["lock", "key", "bolt"]) await world.conditions(name, DONE);
    const done = await readPlan("lock");
    expect([done.dependencies, done.findings]).toEqual([undefined, []]);
    await world.remove("lock");
    for (const name of ["key", "bolt"]) await world.gone(name);
  });

  test("olmv1 plan shows an extension in the plan of another one with this plan", async () => {
    const end = world.fail("bolt:v1.0.0", new Error("the registry does not respond"));
    await world.extension("padlock", { ...spec, approval: "Automatic" });
    await world.until("padlock", ({ status }) => expect(status?.dependencyPlan?.members).toHaveLength(2));
    await eventually(async () => expect((await run("get", "key")).code).toBe(0));
    const { dependencies, bundle } = await readPlan("key");
    const { digest } = (await world.get("padlock")).status?.dependencyPlan ?? {};
    expect([bundle.name, dependencies]).toEqual(["key.v1.0.0", expect.objectContaining({ root: "padlock", stored: true, digest })]);
    expect((await run("describe", "key")).out).toContain("\nDependency plan: part of that of ClusterExtension padlock\n");
    expect(JSON.parse((await olmv1("resolve", "key", "-o", "json", ...access)).out)).toMatchObject({
      outcome: { winner: { bundle: "key.v1.0.0" }, notes: ['it is part of the plan of ClusterExtension "padlock"'] },
    });
    end();
    for (const name of ["padlock", "key", "bolt"]) await world.conditions(name, DONE);
  });
});

describeWithPrivateCluster("commands for dependency plans with managed permissions", (cluster) => {
  test("olmv1 permissions approve approves the permissions of all extensions in a plan when asked to", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client, recheckIntervalMs: 1_000 });
    const rbac = "rbac.authorization.k8s.io";
    for (const [name, other] of [
      ["yin", "yang"],
      ["yang", "yin"],
    ] as const) {
      const rules = [{ apiGroups: [rbac], resources: ["clusterroles"], verbs: ["escalate"] }];
      const role = { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name: `${name}-powerful` }, rules };
      world.bundle(`${name}.v1.0.0`, tinyBundle("1.0.0", { name, objects: [role] }));
      await world.servePackage(packageFrom({ bundles: [{ name: `${name}.v1.0.0`, requires: [`${other} 1.0.0`] }] }, name), name);
    }
    const { metadata, apiVersion, kind, spec } = createExtension("yin", { packageName: "yin" });
    const { namespace: _namespace, serviceAccount: _account, ...managed } = spec;
    await cluster.client.create({ apiVersion, kind, metadata, spec: { ...managed, dependencies: { policy: "Install" } } });
    for (const name of ["yin", "yang"]) await world.expectProblem(name, "PermissionsPending");
    const approve = (...args: string[]): Promise<Ended> =>
      olmv1("permissions", "approve", "yin", "--with-dependencies", ...args, "--kubeconfig", cluster.kubeconfig);
    expect(await approve("--digest", "sha256:0")).toMatchObject({ code: 2, out: "" });
    const { code, out, err } = await approve("--yes");
    expect(out).toMatch(
      /^ExtensionPermissions yang: bundle yang\.v1\.0\.0 .*^ExtensionPermissions yin: bundle yin\.v1\.0\.0 .*^ExtensionPermissions yang: permissions approved\nExtensionPermissions yin: permissions approved\n$/ms,
    );
    expect([code, err]).toEqual([0, expect.stringContaining("yin: yin.v1.0.0 (version 1.0.0) is installed and ready after")]);
    await world.conditions("yang", DONE);
    expect(await approve("--yes")).toMatchObject({ code: 1, err: 'no permissions of ClusterExtension "yin" wait for approval\n' });
  });
});

function toFiles(files: Readonly<Record<string, string>>): Map<string, Buffer> {
  return new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));
}
