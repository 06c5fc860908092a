import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterCatalog } from "../../pkg/api/clusterCatalog.ts";
import type { ClusterExtension, ClusterExtensionSpec } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../pkg/api/k8s.ts";
import type { PodOutcome } from "../../pkg/devcluster/podSimulation.ts";
import type { Property } from "../../pkg/fbc/types.ts";
import { bundleWrites } from "../support/audit.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { type CatalogWorld, packageFrom } from "../support/dependencyFixture.ts";
import { createExtension } from "../support/extensions.ts";
import { OperatorWorld } from "../support/operatorWorld.ts";
import { problemText } from "../support/problems.ts";
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
    world = await OperatorWorld.start(cluster, { recheckIntervalMs: 1_000, minuteMs: 400 });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });

  /** Serves packages whose bundles contain the definitions that they provide, and other objects by name of the bundle. */
  async function serve(
    packages: CatalogWorld["packages"],
    objects: Readonly<Record<string, readonly KubeObject[]>> = {},
    { catalog = "c", podOutcomes = {} }: { catalog?: string; podOutcomes?: Readonly<Record<string, PodOutcome>> } = {},
  ): Promise<void> {
    for (const [packageName, fixture] of Object.entries(packages)) {
      for (const bundle of fixture.bundles) {
        const { name, provides = [] } = typeof bundle === "string" ? { name: bundle } : bundle;
        const contained = [...provides.map((kind) => crd(kind)), ...(objects[name] ?? [])];
        const podOutcome = podOutcomes[name];
        const parts = { name: packageName, objects: contained, ...(podOutcome ? { podOutcome } : {}) };
        world.bundle(name, tinyBundle(name.slice(name.indexOf(".v") + 2), parts));
      }
      await world.servePackage(packageFrom(fixture, packageName), packageName, catalog);
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
    const writes = bundleWrites(await cluster.auditEvents()).filter(
      ({ user, requestURI, verb }) =>
        user.username.startsWith("system:serviceaccount:lock-system:") &&
        !requestURI.includes("dryRun") &&
        !["get", "list", "watch"].includes(verb),
    );
    const resources = writes.map(({ objectRef }) => objectRef?.resource ?? "");
    expect(resources.lastIndexOf("customresourcedefinitions")).toBeGreaterThanOrEqual(0);
    const first = resources.findIndex((resource) => resource !== "customresourcedefinitions");
    expect(new Set(resources.slice(0, first))).toEqual(new Set(["customresourcedefinitions"]));
    const defined = writes.slice(0, first).map(({ objectRef }) => objectRef?.name ?? "");
    expect(new Set(defined)).toEqual(new Set(["prometheusrules.monitoring.coreos.com", "servicemonitors.monitoring.coreos.com"]));
    await world.remove("lock");
    await world.gone("key");
  });

  test("three bundles that need each other through alternatives are installed together", async () => {
    const either = (...packages: string[]): object => ({
      any: { constraints: packages.map((packageName) => ({ package: { packageName, versionRange: ">=1.0.0" } })) },
    });
    await serve({
      rock: { bundles: [{ name: "rock.v1.0.0", requires: [either("none", "paper")] }] },
      paper: { bundles: [{ name: "paper.v1.0.0", requires: [either("rock", "scissors"), "scissors 1.0.0"] }] },
      scissors: { bundles: [{ name: "scissors.v1.0.0", requires: ["rock <2.0.0"] }] },
    });
    await world.extension("rock", buildSpec("rock"));
    for (const name of ["rock", "paper", "scissors"]) await world.conditions(name, DONE);
    await world.remove("rock");
    for (const name of ["paper", "scissors"]) await world.gone(name);
  });

  test("a bundle is installed with an installed bundle that needs it", async () => {
    await serve({
      lamp: { bundles: [{ name: "lamp.v1.0.0", requires: ["bulb 1.0.0"] }] },
      bulb: { bundles: [{ name: "bulb.v1.0.0", requires: ["lamp 1.0.0", "wire 1.0.0"] }] },
      wire: { bundles: [{ name: "wire.v1.0.0", requires: ["bulb 1.0.0"] }] },
    });
    const lamp = await world.extension("lamp", buildSpec("lamp", { dependencies: { policy: "Ignore" } }));
    await world.conditions("lamp", DONE);
    await cluster.client.patch({ ...lamp, name: "lamp" }, { spec: { dependencies: { policy: "Require" } } }, { type: "merge" });
    await world.extension("bulb", buildSpec("bulb"));
    for (const name of ["lamp", "bulb", "wire"]) await world.conditions(name, DONE);
  });

  test("one approval covers all bundles of a plan", async () => {
    await serve({
      crew: { bundles: [{ name: "crew.v1.0.0", requires: ["cook 1.0.0", "pilot 1.0.0"] }] },
      cook: { bundles: [{ name: "cook.v1.0.0", requires: ["crew 1.0.0"] }] },
      pilot: { bundles: ["pilot.v1.0.0"] },
    });
    const crew = await world.extension("crew", buildSpec("crew", { approval: "Manual" }));
    const { Progressing } = await world.conditions("crew", { Progressing: "False/AwaitingApproval" });
    expect(Progressing).toBe(
      'error for resolved bundle "crew.v1.0.0" with version "1.0.0": waiting for approval to install bundles "crew.v1.0.0", "pilot.v1.0.0", "cook.v1.0.0"',
    );
    expect(await cluster.client.get({ ...crew, name: "pilot" })).toBeUndefined();
    const { plan } = (await world.get("crew")).status ?? {};
    expect(plan?.objects?.map(({ action, kind, name }) => `${action} ${kind} ${name}`)).toEqual([
      "Create ClusterExtension pilot",
      "Create ClusterExtension cook",
    ]);
    const approve = { metadata: { annotations: { "olm.operatorframework.io/approve": plan?.digest ?? "" } } };
    await cluster.client.patch({ ...crew, name: "crew" }, approve, { type: "merge" });
    for (const name of ["crew", "cook", "pilot"]) await world.conditions(name, DONE);
    expect((await world.get("cook")).spec.approval).toBe("Manual");
    await world.remove("crew");
  });

  test("no bundle of a wave is written until an extension of a user in it is approved", async () => {
    await serve({
      left: { bundles: [{ name: "left.v1.0.0", requires: ["right 1.0.0"] }] },
      right: { bundles: [{ name: "right.v1.0.0", requires: ["left 1.0.0"] }] },
    });
    const right = await world.extension("right", buildSpec("right", { approval: "Manual", dependencies: { policy: "Require" } }));
    await world.conditions("right", { Progressing: "False/UnsatisfiedDependencies" });
    await world.extension("left", buildSpec("left"));
    await world.conditions("right", { Progressing: "False/AwaitingApproval" });
    await world.expectProblem("left", "DependenciesInstalling", {
      details: [{ message: expect.stringContaining('ClusterExtension "right" (package "right"): AwaitingApproval') as string }],
    });
    expect(await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace: "left-system", name: "left" })).toBeUndefined();
    const digest = (await world.get("right")).status?.plan?.digest ?? "";
    const approve = { metadata: { annotations: { "olm.operatorframework.io/approve": digest } } };
    await cluster.client.patch({ ...right, name: "right" }, approve, { type: "merge" });
    for (const name of ["left", "right"]) await world.conditions(name, DONE);
  });

  test("a plan continues after a restart of the controller", async () => {
    await serve({
      day: { bundles: [{ name: "day.v1.0.0", requires: ["night 1.0.0"] }] },
      night: { bundles: [{ name: "night.v1.0.0", requires: ["day 1.0.0", "star 1.0.0"] }, { name: "night.v2.0.0" }] },
      star: { bundles: ["star.v1.0.0"] },
    });
    const end = world.fail("night.v1.0.0", new Error("the registry does not respond"));
    await world.extension("day", buildSpec("day"));
    await world.until("day", ({ status }) => expect(status?.dependencyPlan?.members).toHaveLength(2));
    await world.conditions("star", DONE);
    await world.restart();
    await world.until("night", ({ status }) => expect(problemText(status)).toContain("the registry does not respond"));
    end();
    for (const name of ["day", "night"]) await world.conditions(name, DONE);
    expect((await world.get("night")).status?.install?.bundle.version).toBe("1.0.0");
    await world.remove("day");
  });

  test("a prerelease and a bundle of another catalog are installed as planned", async () => {
    await serve({
      poem: { bundles: [{ name: "poem.v1.0.0", requires: ["rhyme !1.0.0", "meter 1.0.0"] }] },
      rhyme: { bundles: ["rhyme.v1.0.0", "rhyme.v1.0.0-rc.1"] },
    });
    await serve({ meter: { bundles: [{ name: "meter.v1.0.0", requires: ["rhyme <1.0.0"] }] } }, {}, { catalog: "d" });
    await world.extension("poem", buildSpec("poem"));
    for (const name of ["poem", "rhyme", "meter"]) await world.conditions(name, DONE);
    const rhyme = await world.get("rhyme");
    expect(rhyme.status?.install).toMatchObject({ bundle: { version: "1.0.0-rc.1" }, catalog: "c" });
    expect(rhyme.spec.source.catalog?.version).toBeUndefined();
    expect((await world.get("meter")).status?.install).toMatchObject({ catalog: "d" });
    await world.remove("poem");
  });

  test("a plan is kept while the catalog of one of its bundles is unavailable", async () => {
    await serve({ song: { bundles: [{ name: "song.v1.0.0", requires: ["tune 1.0.0"] }] }, tune: { bundles: ["tune.v2.0.0"] } });
    await serve({ tune: { bundles: ["tune.v1.0.0"] } }, {}, { catalog: "d" });
    const end = world.fail("tune.v1.0.0", new Error("the registry does not respond"));
    await world.extension("song", buildSpec("song"));
    await world.until("tune", ({ status }) => expect(problemText(status)).toContain("the registry does not respond"));
    const digest = (await world.get("song")).status?.dependencyPlan?.digest;
    const catalog = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name: "d" };
    const { status } = (await cluster.client.get<ClusterCatalog>(catalog)) ?? {};
    const silent = status?.conditions?.map((condition) => (condition.type === "Serving" ? { ...condition, status: "False" } : condition));
    await cluster.client.patch(catalog, { status: { conditions: silent } }, { type: "merge", subresource: "status" });
    await world.until("tune", (tune) => expect(problemText(tune.status)).toContain(`catalog "d" is not being served`));
    const edit = { spec: { drift: { policy: "Correct" } } };
    const { metadata } = await cluster.client.patch({ ...(await world.get("song")), name: "song" }, edit, { type: "merge" });
    await world.until("song", (song) => {
      expect(song.status?.conditions?.every(({ observedGeneration }) => observedGeneration === metadata.generation)).toBe(true);
      expect(song.status?.dependencyPlan?.digest).toBe(digest);
    });
    await cluster.client.patch(catalog, { status: { conditions: status?.conditions ?? [] } }, { type: "merge", subresource: "status" });
    end();
    for (const name of ["song", "tune"]) await world.conditions(name, DONE);
    await world.remove("song");
    await cluster.client.delete(catalog);
  });

  test("two plans at the same time install one provider of an API", async () => {
    await serve({
      fork: { bundles: [{ name: "fork.v1.0.0", requires: ["API Meal", "table 1.0.0"] }] },
      knife: { bundles: [{ name: "knife.v1.0.0", requires: ["API Meal"] }] },
      soup: { bundles: [{ name: "soup.v2.0.0", provides: ["Meal"] }] },
      stew: { bundles: [{ name: "stew.v1.0.0", provides: ["Meal"] }] },
      table: { bundles: [{ name: "table.v1.0.0", requires: ["stew 1.0.0"] }] },
    });
    await Promise.all([world.extension("fork", buildSpec("fork")), world.extension("knife", buildSpec("knife"))]);
    // Whichever plan is made first decides. If it is that of knife, fork can only be installed after soup has been removed.
    await world.conditions("knife", DONE);
    const names = (await cluster.client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION })).items;
    const providers = names.map(({ metadata }) => metadata.name).filter((name) => ["soup", "stew"].includes(name));
    expect(providers).toHaveLength(1);
    await world.remove("knife");
    await world.remove("fork");
  });

  test("a plan is replaced when a planned bundle disappears", async () => {
    await serve({
      tea: { bundles: [{ name: "tea.v1.0.0", requires: ["API Cup"] }] },
      glass: { bundles: [{ name: "glass.v2.0.0", provides: ["Cup"] }] },
      mug: { bundles: [{ name: "mug.v1.0.0", provides: ["Cup"] }] },
    });
    const end = world.fail("glass.v2.0.0", new Error("manifest unknown"));
    await world.extension("tea", buildSpec("tea"));
    await world.until("glass", ({ status }) => expect(problemText(status)).toContain("manifest unknown"));
    await serve({ glass: { bundles: [{ name: "glass.v0.1.0" }] } });
    await world.conditions("tea", DONE);
    await world.conditions("mug", DONE);
    await world.gone("glass");
    end();
    await eventually(async () =>
      expect((await world.events("tea")).join("\n")).toMatch(
        /DependencyPlanned: bundle "tea\.v1\.0\.0" is installed with "mug\.v1\.0\.0", because the earlier plan is no longer possible: .*glass\.v2\.0\.0/,
      ),
    );
    await world.remove("tea");
  });

  test("a plan is rolled back as a unit when one of its bundles does not become healthy in time", async () => {
    await serve(
      {
        choir: { bundles: [{ name: "choir.v1.0.0", requires: ["tenor 1.0.0"] }] },
        tenor: { bundles: [{ name: "tenor.v1.0.0", requires: ["choir 1.0.0"] }] },
      },
      {},
      { podOutcomes: { "tenor.v1.0.0": "NotReady" } },
    );
    await world.extension("choir", buildSpec("choir", { progressDeadlineMinutes: 10, install: { onFailure: "Rollback" } }));
    const problem = await world.expectProblem("choir", "RolledBack");
    expect(problem.message).toMatch(
      /^the plan to install bundle "choir\.v1\.0\.0" was rolled back because ClusterExtension "tenor" failed: .*; the controller retries after .*/,
    );
    await world.gone("tenor");
    await world.conditions("choir", { Installed: "False/Failed" });
    expect(
      await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace: "choir-system", name: "choir" }),
    ).toBeUndefined();
    await world.remove("choir");
  });

  test("a failed plan is rolled back when its version is excluded before the rollback ends", async () => {
    const config = (name: string): KubeObject => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, finalizers: ["example.com/wait"] },
    });
    await serve(
      {
        band: { bundles: [{ name: "band.v1.0.0", requires: ["drum 1.0.0"] }] },
        drum: { bundles: [{ name: "drum.v1.0.0", requires: ["band 1.0.0"] }] },
      },
      { "band.v1.0.0": [config("band")] },
      { podOutcomes: { "drum.v1.0.0": "NotReady" } },
    );
    const spec = buildSpec("band", { progressDeadlineMinutes: 10, install: { onFailure: "Rollback" } });
    const band = await world.extension("band", spec);
    const ref = { apiVersion: "v1", kind: "ConfigMap", namespace: "band-system", name: "band" };
    await eventually(async () => expect((await cluster.client.get(ref))?.metadata.deletionTimestamp).toBeDefined());
    const source = { sourceType: "Catalog", catalog: { packageName: "band", version: ">1.0.0" } };
    await cluster.client.patch({ ...band, name: "band" }, { spec: { source } }, { type: "merge" });
    await world.until("band", ({ metadata, status }) =>
      expect(status?.conditions?.find(({ type }) => type === "Progressing")?.observedGeneration).toBe(metadata.generation),
    );
    await cluster.client.patch(ref, { metadata: { finalizers: null } }, { type: "merge" });
    await world.gone("drum");
    await eventually(async () => expect(await cluster.client.get(ref)).toBeUndefined());
    await world.expectProblem("band", "BundleNotFound");
    await world.until("band", ({ status }) => expect(status?.dependencyPlan).toBeUndefined());
    await world.remove("band");
  });

  test("a plan is rolled back when the API server rejects an object of a wave, and retried after a change of the spec", async () => {
    const bundles = [{ name: "bow.v1.0.0", provides: ["Bow"], requires: ["arrow 1.0.0"] }];
    await serve(
      { bow: { bundles }, arrow: { bundles: [{ name: "arrow.v1.0.0", requires: ["API Bow"] }] } },
      { "bow.v1.0.0": [crd("Quiver")] },
    );
    // An earlier extension with the name left a custom resource, which the rollback must not delete.
    const labels = { [LABEL_OWNER_KIND]: CLUSTER_EXTENSION, [LABEL_OWNER_NAME]: "bow" };
    const quivers = crd("Quiver");
    await cluster.client.create({ ...quivers, metadata: { ...quivers.metadata, labels } });
    const quiver: KubeObject = { apiVersion: "example.com/v1", kind: "Quiver", metadata: { name: "mine" } };
    const { uid } = (await eventually(() => cluster.client.create(quiver))).metadata;
    const policy = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingAdmissionPolicy", metadata: { name: "no-arrows" } };
    const rules = [{ apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"], operations: ["CREATE"] }];
    const validations = [{ expression: "request.dryRun || object.metadata.name != 'arrow'", message: "arrows are forbidden" }];
    await cluster.client.create({ ...policy, spec: { matchConstraints: { resourceRules: rules }, validations } });
    const binding = { ...policy, kind: "ValidatingAdmissionPolicyBinding" };
    await cluster.client.create({ ...binding, spec: { policyName: "no-arrows", validationActions: ["Deny"] } });
    const probe = { apiVersion: "apps/v1", kind: "Deployment", namespace: "default", name: "arrow" };
    const app = { app: "arrow" };
    const template = { metadata: { labels: app }, spec: { containers: [{ name: "manager", image: "registry.example.com/arrow:1" }] } };
    const create = async (): Promise<KubeObject> => {
      await cluster.client.delete(probe).catch(() => undefined);
      const object = { apiVersion: "apps/v1", kind: "Deployment", metadata: { namespace: "default", name: "arrow" } };
      return cluster.client.create({ ...object, spec: { selector: { matchLabels: app }, template } });
    };
    await eventually(async () => expect(create()).rejects.toThrow("forbidden"));
    const bow = await world.extension("bow", buildSpec("bow", { uninstall: { crdPolicy: "Delete", backup: "Required" } }));
    const problem = await world.expectProblem("bow", "RolledBack");
    expect(problem.message).toMatch(
      /because ClusterExtension "arrow" failed: install of bundle "arrow\.v1\.0\.0" failed|arrows are forbidden/,
    );
    await world.gone("arrow");
    await eventually(async () => {
      expect(await cluster.client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace: "bow-system", name: "bow" })).toBeUndefined();
      const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: "bows.example.com" };
      expect(await cluster.client.get(definition)).toBeUndefined();
    });
    const left = await cluster.client.get(toObjectRef(quiver));
    expect(left?.metadata).toMatchObject({ uid });
    expect(left?.metadata.deletionTimestamp).toBeUndefined();
    for (const { apiVersion, kind, metadata } of [binding, policy]) await cluster.client.delete({ apiVersion, kind, name: metadata.name });
    await eventually(create);
    await cluster.client.patch({ ...bow, name: "bow" }, { spec: { uninstall: { backup: "Optional" } } }, { type: "merge" });
    for (const name of ["bow", "arrow"]) await world.conditions(name, DONE);
    await world.until("bow", ({ status }) => expect(status?.dependencyPlan).toBeUndefined());
    expect((await cluster.client.get(toObjectRef(quiver)))?.metadata.uid).toBe(uid);
    await world.remove("bow");
    await eventually(async () => expect(await cluster.client.get(toObjectRef(quivers))).toBeUndefined());
  });

  test("dependencies that an upgrade no longer needs are uninstalled with unneeded Remove", async () => {
    const boat = { channels: { stable: ["boat.v1.0.0", { name: "boat.v2.0.0", replaces: "boat.v1.0.0" }] } };
    const bundles = [{ name: "boat.v1.0.0", requires: ["oar 1.0.0"] }];
    await serve({ boat: { ...boat, bundles }, oar: { bundles: ["oar.v1.0.0"] } });
    await world.extension("boat", buildSpec("boat", { dependencies: { policy: "Install", unneeded: "Remove" } }));
    for (const name of ["boat", "oar"]) await world.conditions(name, DONE);
    await serve({ boat: { ...boat, bundles: [...bundles, { name: "boat.v2.0.0" }] } });
    await world.until("boat", ({ status }) => expect(status?.install?.bundle.version).toBe("2.0.0"));
    await world.gone("oar");
    await world.remove("boat");
  });

  test("a dependency with unneeded Remove is uninstalled when an upgrade of another extension ends the last need for it", async () => {
    const upgrade = (name: string) => ({
      channels: { stable: [`${name}.v1.0.0`, { name: `${name}.v2.0.0`, replaces: `${name}.v1.0.0` }] },
    });
    const first = (name: string) => ({ ...upgrade(name), bundles: [{ name: `${name}.v1.0.0`, requires: ["sail 1.0.0"] }] });
    const both = (name: string) => ({ ...upgrade(name), bundles: [...first(name).bundles, { name: `${name}.v2.0.0` }] });
    await serve({ yacht: first("yacht"), raft: first("raft"), sail: { bundles: ["sail.v1.0.0"] } });
    await world.extension("yacht", buildSpec("yacht", { dependencies: { policy: "Install", unneeded: "Remove" } }));
    for (const name of ["yacht", "sail"]) await world.conditions(name, DONE);
    await world.extension("raft", buildSpec("raft", { dependencies: { policy: "Require" } }));
    await world.conditions("raft", DONE);
    await serve({ yacht: both("yacht") });
    await world.until("yacht", ({ status }) => expect(status?.install?.bundle.version).toBe("2.0.0"));
    await world.conditions("yacht", { ...DONE, Available: "True/Healthy" });
    expect((await world.get("sail")).metadata.deletionTimestamp).toBeUndefined();
    await serve({ raft: both("raft") });
    await world.gone("sail");
    for (const name of ["yacht", "raft"]) await world.remove(name);
  });
});

describeWithPrivateCluster("dependency plans with managed permissions", (cluster) => {
  test("bundles that need each other are installed with permissions of their own", async () => {
    await using world = await OperatorWorld.start(cluster, { permissionManager: cluster.client, recheckIntervalMs: 1_000 });
    for (const [name, other] of [
      ["yin", "yang"],
      ["yang", "yin"],
    ] as const) {
      world.bundle(`${name}.v1.0.0`, tinyBundle("1.0.0", { name }));
      await world.servePackage(packageFrom({ bundles: [{ name: `${name}.v1.0.0`, requires: [`${other} 1.0.0`] }] }, name), name);
    }
    const { metadata, apiVersion, kind, spec } = createExtension("yin", { packageName: "yin" });
    const { namespace: _namespace, serviceAccount: _account, ...managed } = spec;
    await cluster.client.create({ apiVersion, kind, metadata, spec: { ...managed, dependencies: { policy: "Install" } } });
    for (const name of ["yin", "yang"]) await world.conditions(name, DONE);
    await world.remove("yin");
    await world.gone("yang");
  });
});
