import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { type JsonObject, type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { ArgoCustomizations } from "../support/argoCustomizations.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { findDifferences, REPOSITORY, removeObjects, startGitopsWorld } from "../support/gitopsWorld.ts";
import { computeKstatus, expectKstatus } from "../support/kstatus.ts";
import { renderChart, renderKustomization, runTool } from "../support/manifests.ts";
import { listPolicyCases, TOOL_LABEL, TOOLS, type Tool, toAdmissionPolicies } from "../support/samplePolicies.ts";
import type { World } from "../support/world.ts";

const CHART = join(import.meta.dirname, "../../config/samples/helm/grafana");
/** Kinds without a health check in Argo CD: it does not wait for them. */
const WITHOUT_HEALTH = ["Namespace", "PermissionPolicy"];

/** The members of an Application of Argo CD or a Kustomization of Flux that decide the order. */
interface Sync {
  path: string;
  source?: { path: string };
  dependsOn?: { name: string }[];
  wait?: boolean;
}

/** Returns the folders of the repository in the order of Argo CD's sync waves. */
async function listWaves(): Promise<string[]> {
  const wave = ({ metadata }: KubeObject): number => Number(metadata.annotations?.["argocd.argoproj.io/sync-wave"]);
  const applications = (await renderKustomization(`${REPOSITORY}/argocd/apps`)).sort((a, b) => wave(a) - wave(b));
  expect(new Set(applications.map(wave)).size).toBe(applications.length);
  return applications.map(({ spec }) => (spec as Sync).source?.path ?? "");
}

/** Returns the folders of the repository in an order in which Flux reconciles them. */
async function listDependencies(): Promise<string[]> {
  const open = (await renderKustomization(`${REPOSITORY}/flux`)).filter(({ kind }) => kind === "Kustomization");
  expect(open.every(({ spec }) => (spec as Sync).wait)).toBe(true);
  const done: KubeObject[] = [];
  while (open.length > 0) {
    const next = open.findIndex(({ spec }) =>
      ((spec as Sync).dependsOn ?? []).every(({ name }) => done.some(({ metadata }) => metadata.name === name)),
    );
    if (next < 0) throw new Error("dependsOn has a cycle");
    done.push(...open.splice(next, 1));
  }
  return done.map(({ spec }) => (spec as Sync).path.replace("./", ""));
}

describeWithPrivateCluster("GitOps", (cluster) => {
  const argo = new ArgoCustomizations();
  let world: World;
  const apply = (object: KubeObject): Promise<KubeObject> => cluster.client.apply(object, { fieldManager: "gitops", force: true });
  const read = async (ref: ObjectRef): Promise<KubeObject> => {
    const found = await cluster.client.get(ref);
    if (!found) throw new Error(`${ref.kind} ${ref.name} does not exist`);
    return found;
  };
  const readExtension = (name: string): Promise<KubeObject> => read({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name });

  /** Waits until an object is Current for kstatus, and Healthy for Argo CD. */
  const isReady = (object: KubeObject): Promise<KubeObject> =>
    eventually(
      async () => {
        const live = await read(toObjectRef(object));
        expect([computeKstatus(live).status, live["status"]]).toEqual(["Current", live["status"]]);
        if (!WITHOUT_HEALTH.includes(object.kind)) {
          expectKstatus(live);
          expect(await argo.computeHealth(live)).toMatchObject({ status: "Healthy" });
        }
        return live;
      },
      { timeoutMs: 120_000 },
    );

  beforeAll(async () => {
    world = await startGitopsWorld(cluster);
  });
  afterAll(() => world?.stop());

  test("new catalogs and extensions are not ready for kstatus and Argo CD before a controller has reconciled them", async () => {
    const spec = { source: { type: "Image", image: { ref: "quay.io/operatorhubio/catalog:latest" } } };
    const source = { sourceType: "Catalog", catalog: { packageName: "grafana-operator" } };
    for (const object of [
      { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, metadata: { name: "new" }, spec },
      { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: "new" }, spec: { source } },
    ]) {
      const created = await cluster.client.create(object, { dryRun: true });
      expect(computeKstatus(created).status, object.kind).toBe("InProgress");
      expect(await argo.computeHealth(created), object.kind).toMatchObject({ status: "Progressing" });
    }
  });

  describe("of the repository layout", () => {
    let folders: Map<string, KubeObject[]>;
    const removeAll = (): Promise<void> =>
      removeObjects(
        cluster,
        ["extensions", "policies", "catalogs"].flatMap((path) => folders.get(path) ?? []),
      );

    beforeAll(async () => {
      const paths = await listWaves();
      folders = new Map();
      for (const path of paths) folders.set(path, await renderKustomization(`${REPOSITORY}/${path}`));
    });

    test("Argo CD and Flux apply the folders in the same order", async () => {
      expect([await listWaves(), await listDependencies()]).toEqual([
        ["catalogs", "policies", "extensions"],
        ["catalogs", "policies", "extensions"],
      ]);
    });

    test("all objects become ready in the order of the waves, without a difference to Git", async () => {
      for (const path of await listWaves()) {
        for (const object of folders.get(path) ?? []) await apply(object);
        for (const object of folders.get(path) ?? []) {
          const live = await isReady(object);
          const ignored = WITHOUT_HEALTH.includes(object.kind) ? [] : argo.listIgnored(object);
          expect(findDifferences(object, live, ignored), object.metadata.name).toEqual([]);
        }
      }
    });

    test("the actions of Argo CD suspend, resume and compare an extension", async () => {
      const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "cockroachdb" };
      const run = async (action: string): Promise<KubeObject> => {
        const before = await readExtension(ref.name);
        expect(await argo.listActions(before)).toContainEqual({ name: action, disabled: false });
        const { metadata, spec } = await argo.runAction(before, action);
        const body = { metadata: { annotations: metadata.annotations ?? {} }, spec: spec as JsonObject };
        return cluster.client.patch(ref, body, { type: "merge", fieldManager: "argocd-server" });
      };
      const healthy = (status: string): Promise<void> =>
        eventually(async () => expect(await argo.computeHealth(await readExtension(ref.name))).toMatchObject({ status }));
      await run("suspend");
      await healthy("Suspended");
      expect(computeKstatus(await readExtension(ref.name)).status).toBe("InProgress");
      await run("resume");
      await healthy("Healthy");
      const { metadata } = await run("reconcile");
      await eventually(async () =>
        expect(((await readExtension(ref.name)) as ClusterExtension).status?.lastHandledReconcileAt).toBe(
          metadata.annotations?.["olm.operatorframework.io/reconcile-requested-at"],
        ),
      );
      await healthy("Healthy");
    });

    test("all objects become ready in the worst order: extensions before policies before catalogs", async () => {
      await removeAll();
      for (const path of ["extensions", "policies", "catalogs"]) {
        for (const object of folders.get(path) ?? []) {
          await apply(object);
          if (path === "extensions")
            await eventually(async () => {
              const { status } = computeKstatus(await read(toObjectRef(object)));
              expect(status).toBe("InProgress");
              expectKstatus(await read(toObjectRef(object)));
            });
        }
      }
      for (const object of [...folders.values()].flat()) await isReady(object);
    });
  });

  describe("with the sample policies", () => {
    const label = (object: KubeObject, tool: Tool): KubeObject => ({
      ...object,
      metadata: { ...object.metadata, labels: { ...object.metadata.labels, [TOOL_LABEL]: tool } },
    });

    beforeAll(async () => {
      for (const tool of TOOLS) for (const object of toAdmissionPolicies(tool)) await apply(object);
      const denied = listPolicyCases().filter((one) => one.denied !== undefined);
      for (const tool of TOOLS)
        for (const one of denied)
          await eventually(() =>
            expect(cluster.client.create(label(one.object, tool), { dryRun: true })).rejects.toThrow("denied request"),
          );
    });

    test.for(TOOLS.flatMap((tool) => listPolicyCases().map((one) => ({ ...one, tool }))))(
      "the rules for $tool decide about $title",
      async ({ tool, object, denied }) => {
        const created = cluster.client.create(label(JSON.parse(JSON.stringify(object)) as KubeObject, tool), { dryRun: true });
        if (denied === undefined) await created;
        else await expect(created).rejects.toThrow(denied);
      },
    );

    test.for(TOOLS)("the rules for %s allow the sample repository, and updates of other extensions that keep the spec", async (tool) => {
      for (const path of ["catalogs", "policies", "extensions"])
        for (const object of await renderKustomization(`${REPOSITORY}/${path}`))
          await cluster.client.apply(label(object, tool), { fieldManager: "test", force: true, dryRun: true });
      const other = listPolicyCases().find(({ denied }) => denied?.startsWith("package"));
      const created = await cluster.client.create({ ...other?.object, metadata: { name: `other-${tool}` } } as KubeObject);
      const edit = (body: JsonObject): Promise<KubeObject> =>
        cluster.client.patch(
          toObjectRef(created),
          { metadata: { labels: { [TOOL_LABEL]: tool } }, ...body },
          { type: "merge", dryRun: true },
        );
      await edit({});
      await expect(edit({ spec: { suspend: true } })).rejects.toThrow("is not allowed");
      await cluster.client.delete(toObjectRef(created));
    });
  });

  test("a chart with an extension installs, upgrades and removes it, and renders the same objects without a cluster", async () => {
    const helm = (...args: string[]): Promise<string> =>
      runTool("helm", [...args, "--namespace", "metrics", "--kubeconfig", cluster.kubeconfig]);
    for (const object of await renderKustomization(`${REPOSITORY}/catalogs`)) await isReady(await apply(object));
    const set = (version: string): string[] => ["--set", `version=${version},permissionPolicy=default`];
    const rendered = await renderChart([...set("5.16.0"), "--namespace", "metrics"], CHART);
    expect(rendered.map(({ kind }) => kind)).toEqual(["ClusterExtension"]);
    await helm("install", "metrics", CHART, "--create-namespace", ...set("5.16.0"));
    const extension = await readExtension("metrics");
    expect(findDifferences(rendered[0]?.["spec"], extension["spec"], [])).toEqual([]);
    await isReady(extension);
    await helm("upgrade", "metrics", CHART, ...set("5.17.0"));
    const upgraded = (await isReady(extension)) as ClusterExtension;
    expect(upgraded.status?.install?.bundle.version).toBe("5.17.0");
    await helm("uninstall", "metrics", "--wait");
    await eventually(async () => expect(await cluster.client.get(toObjectRef(extension))).toBeUndefined());
  });
});
