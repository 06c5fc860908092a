import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import {
  ANNOTATION_RECONCILE_REQUESTED_AT,
  API_VERSION,
  CLUSTER_EXTENSION,
  FIELD_MANAGER,
  FINALIZER_UNINSTALL,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
} from "../../pkg/api/constants.ts";
import { type JsonObject, type KubeObject, type ObjectRef, toObjectRef } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { encodeCanonicalJson } from "../../pkg/golang/json.ts";
import { cleanObject } from "../../pkg/release/cleanObject.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { withoutOwner } from "../../pkg/release/labels.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { type BundleParts, GoInstallation } from "../support/goInstallation.ts";
import { SampleWorld } from "../support/sampleWorld.ts";
import { grantInstaller } from "../support/serviceAccounts.ts";
import { describeWithData } from "../support/sharedData.ts";
import { World } from "../support/world.ts";

const EXTENSION: ObjectRef = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "flux" };
const NAMESPACE = "flux-system";
const REPORTS = "fluxreports.fluxcd.controlplane.io";
const SETS = "resourcesets.fluxcd.controlplane.io";
const GENERATOR = "controller-gen.kubebuilder.io/version";

/** The next version removes a label of the Service and the environment of the manager. */
function nextVersion({ objects }: BundleParts): void {
  const service = objects.find(({ kind }) => kind === "Service");
  if (service?.metadata.labels) service.metadata.labels = { "app.kubernetes.io/part-of": "flux" };
  const deployment = objects.find(({ kind }) => kind === "Deployment");
  const { template } = deployment!["spec"] as { template: { spec: { containers: { env?: unknown[] }[] } } };
  for (const container of template.spec.containers) delete container.env;
}

// Source: O-04 (adoption from Go); the data are a real installation by the Go operator-controller.
describeWithData("real data", (data) =>
  describeWithPrivateCluster("an extension that the Go operator-controller installed", (cluster) => {
    const go = new GoInstallation(join(data, "go-release"));
    const installed = go.bundle("0.38.1");
    const next = go.bundle("0.39.0", nextVersion);
    const renderObjects = (files: Map<string, Uint8Array>): KubeObject[] =>
      renderBundle(loadBundle(files), { installNamespace: NAMESPACE });
    let world: World;

    const live = async (): Promise<Map<string, KubeObject>> => {
      const found = await Promise.all(go.deployed.objects.map((object) => cluster.client.get(toObjectRef(object))));
      return new Map(found.flatMap((object) => (object ? [[describeObject(object), object] as const] : [])));
    };
    const workloads = async (): Promise<string[]> => {
      const names: string[] = [];
      for (const gvk of [
        { apiVersion: "apps/v1", kind: "ReplicaSet" },
        { apiVersion: "v1", kind: "Pod" },
      ]) {
        const { items } = await cluster.client.list(gvk, { namespace: NAMESPACE });
        names.push(...items.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.uid}`));
      }
      return names.sort();
    };
    const definition = (name: string): ObjectRef => ({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name });
    const edit = (name: string, fieldManager: string): Promise<KubeObject> =>
      cluster.client.patch(definition(name), { metadata: { annotations: { [GENERATOR]: "edited" } } }, { type: "merge", fieldManager });
    /** Returns the generator in the annotation of each definition. */
    const generators = async (): Promise<unknown[]> =>
      Promise.all([REPORTS, SETS].map(async (name) => (await cluster.client.get(definition(name)))?.metadata.annotations?.[GENERATOR]));
    const finalizers = async (): Promise<string[]> => (await cluster.client.get(EXTENSION))?.metadata.finalizers ?? [];

    beforeAll(async () => {
      await cluster.installCrds();
      await cluster.client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "olmv1-system" } }, { fieldManager: "test" });
      await go.restore(cluster.client);
      await eventually(async () => {
        const deployment = await cluster.client.get({
          apiVersion: "apps/v1",
          kind: "Deployment",
          namespace: NAMESPACE,
          name: "flux-operator",
        });
        expect(deployment?.["status"]).toMatchObject({ observedGeneration: deployment?.metadata.generation, readyReplicas: 1 });
      });
      world = await World.start(cluster);
      await world.pushBundle("bundles/flux-operator", "v0.38.1", "flux-operator", installed);
      await world.pushBundle("bundles/flux-operator", "v0.39.0", "flux-operator", next);
      const metas = [
        { schema: "olm.package", name: "flux-operator", defaultChannel: "stable" },
        {
          schema: "olm.channel",
          package: "flux-operator",
          name: "stable",
          entries: [{ name: "flux-operator.v0.38.1" }, { name: "flux-operator.v0.39.0", replaces: "flux-operator.v0.38.1" }],
        },
        ...["0.38.1", "0.39.0"].map((version) => ({
          schema: "olm.bundle",
          package: "flux-operator",
          name: `flux-operator.v${version}`,
          image: `quay.io/bundles/flux-operator:v${version}`,
          properties: [{ type: "olm.package", value: { packageName: "flux-operator", version } }],
        })),
      ];
      const catalog = new TextEncoder().encode(metas.map((meta) => JSON.stringify(meta)).join("\n"));
      await world.pushCatalog("catalogs/flux", "latest", new Map([["catalog.json", catalog]]));
      await world.serve("flux", "quay.io/catalogs/flux:latest");
    });

    afterAll(async () => {
      await world?.stop();
    });

    test("the bundle of a Go installation renders to the objects that Go released", () => {
      const texts = (objects: readonly KubeObject[]): string[] =>
        objects.map((object) => encodeCanonicalJson(cleanObject(withoutOwner(object)))).sort();
      expect(texts(renderObjects(installed))).toEqual(texts(go.deployed.objects));
    });

    test("status reports the bundle of a Go installation as installed, and nothing is written while its permissions wait for approval", async () => {
      const before = await live();
      const seen = await world.condition(
        "ClusterExtension",
        "flux",
        (c) => c("Progressing")?.message.endsWith("must be approved") ?? false,
      );
      expect(seen["status"]).toMatchObject({ install: { bundle: { name: "flux-operator.v0.38.1", version: "0.38.1" } } });
      const versions = (objects: Map<string, KubeObject>): unknown[] =>
        [...objects.values()].map(({ metadata }) => metadata.resourceVersion);
      expect(versions(await live())).toEqual(versions(before));
    });

    test("an extension of a Go installation is adopted when spec gets a ServiceAccount, and no generation, ReplicaSet or Pod changes", async () => {
      const extension = (await cluster.client.get<ClusterExtension>(EXTENSION))!;
      const serviceAccount = { name: "flux-installer" };
      const named = { ...extension, spec: { ...extension.spec, serviceAccount } };
      await grantInstaller(cluster.client, named, [...renderObjects(installed), ...renderObjects(next)]);
      await edit(REPORTS, "kubectl-edit");
      const [before, running] = [await live(), await workloads()];
      await cluster.client.patch(EXTENSION, { spec: { serviceAccount } }, { type: "merge" });
      await world.installed("flux", "0.38.1");

      const after = await live();
      expect([...after].map(([name, { metadata }]) => [name, metadata.uid])).toEqual(
        [...before].map(([name, { metadata }]) => [name, metadata.uid]),
      );
      const changed = [...after.keys()].filter((name) => after.get(name)?.metadata.generation !== before.get(name)?.metadata.generation);
      // Compares whole objects, so that a failure shows the difference.
      expect(changed.map((name) => after.get(name))).toEqual(changed.map((name) => before.get(name)));
      expect(await workloads()).toEqual(running);
      for (const [name, { metadata, kind }] of after) {
        const managers = (metadata.managedFields ?? []).flatMap(({ manager, operation }) => `${String(manager)} ${String(operation)}`);
        expect([name, managers.filter((text) => text === "operator-controller Update")]).toEqual([name, []]);
        expect([name, managers.includes(`${FIELD_MANAGER} Apply`)]).toEqual([name, true]);
        if (kind === "CustomResourceDefinition") expect([name, metadata.ownerReferences]).toEqual([name, undefined]);
        expect([name, metadata.labels]).toMatchObject([name, { [LABEL_PACKAGE_NAME]: "flux-operator", [LABEL_BUNDLE_VERSION]: "0.38.1" }]);
      }
      expect(await finalizers()).toEqual([FINALIZER_UNINSTALL]);
    });

    // Source: O-16 (spec.drift.policy).
    test("drift before and after the adoption is reported and not corrected, even after a restart", async () => {
      const formatDrift = (name: string, manager: string): string =>
        `CustomResourceDefinition ${name} was changed: metadata.annotations["${GENERATOR}"] by "${manager}"`;
      const why =
        "drift is not corrected until the first upgrade because another operator-controller installed the extension (to correct drift now, set spec.drift.policy to Correct)";
      await edit(SETS, "kubectl-annotate");
      const expectReported = async (): Promise<void> => {
        const texts = [`${why}: `, formatDrift(REPORTS, "kubectl-edit"), formatDrift(SETS, "kubectl-annotate")];
        await world.problems("flux", (problems) => texts.every((text) => problems.includes(text)));
      };
      await expectReported();
      await eventually(async () => {
        const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Event" }, { fieldSelector: "involvedObject.name=flux" });
        const events = items.map((event) => `${String(event["reason"])} ${String(event["message"])}`);
        expect(events).toContain(
          `Drifted objects of bundle "flux-operator.v0.38.1" drifted: ${formatDrift(REPORTS, "kubectl-edit")}; ${why}`,
        );
        expect(events.filter((text) => text.startsWith("TakenOver"))).toHaveLength(1);
        expect(events.filter((text) => /^(DriftCorrected|Upgraded)/.test(text))).toEqual([]);
      });
      await world.installation.restart("operator-controller");
      const annotations = { [ANNOTATION_RECONCILE_REQUESTED_AT]: "after the restart" };
      await cluster.client.patch(EXTENSION, { metadata: { annotations } }, { type: "merge" });
      await eventually(async () => expect((await world.extension("flux"))?.status?.lastHandledReconcileAt).toBe("after the restart"));
      await expectReported();
      expect(await generators()).toEqual(["edited", "edited"]);
    });

    test("an upgrade of an adopted extension removes fields that the next version does not set", async () => {
      const source = { catalog: { version: "0.39.0" } };
      await cluster.client.patch(EXTENSION, { spec: { source } }, { type: "merge" });
      await world.installed("flux", "0.39.0");
      const service = await cluster.client.get({ apiVersion: "v1", kind: "Service", namespace: NAMESPACE, name: "flux-operator" });
      expect(service?.metadata.labels).toMatchObject({ "app.kubernetes.io/part-of": "flux" });
      expect(service?.metadata.labels).not.toHaveProperty("app.kubernetes.io/name");
      const deployment = await cluster.client.get({
        apiVersion: "apps/v1",
        kind: "Deployment",
        namespace: NAMESPACE,
        name: "flux-operator",
      });
      const { template } = deployment!["spec"] as { template: { spec: { containers: { env?: unknown }[] } } };
      expect(template.spec.containers.map(({ env }) => env)).toEqual([undefined]);
      const original = go.deployed.objects.find(({ metadata }) => metadata.name === SETS)?.metadata.annotations?.[GENERATOR];
      expect(await generators()).toEqual([original, original]);
      await edit(SETS, "kubectl-annotate");
      await eventually(async () => expect(await generators()).toEqual([original, original]));
    });

    test("an uninstall of an adopted extension keeps its custom resources", async () => {
      const crd = await cluster.client.get({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name: REPORTS });
      const { versions } = crd!["spec"] as { versions: { name: string }[] };
      const report = { apiVersion: `fluxcd.controlplane.io/${versions[0]?.name}`, kind: "FluxReport" };
      await cluster.client.create({
        ...report,
        metadata: { name: "flux", namespace: NAMESPACE },
        spec: { distribution: { entitlement: "none", status: "Installed" } },
      });
      await world.removed("ClusterExtension", "flux");
      expect([...(await live()).keys()]).toEqual([`CustomResourceDefinition ${REPORTS}`]);
      expect(await cluster.client.get({ ...report, name: "flux", namespace: NAMESPACE })).toBeDefined();
    });
  }),
);

/**
 * Selects the release Secrets of an extension with the labels that the Go operator-controller requests. @returns the decoded releases, with the
 * members that Go requires.
 */
function goReads(secrets: readonly KubeObject[], name: string): JsonObject[] {
  const selector: Record<string, string> = { name, owner: "operator-controller", status: "deployed", type: "index" };
  const found = secrets.filter(({ metadata }) => Object.entries(selector).every(([label, value]) => metadata.labels?.[label] === value));
  return found.map((secret) => {
    const { chunk = "", extraChunks = "" } = secret["data"] as Record<string, string>;
    expect(Buffer.from(extraChunks, "base64").toString()).toMatch(/^(\[\]|null)$/);
    return JSON.parse(gunzipSync(Buffer.from(chunk, "base64")).toString()) as JsonObject;
  });
}

// Source: O-04; the steps are those of docs/how-to/move-from-the-go-implementation.md.
describeWithPrivateCluster("an extension that is handed back to the Go operator-controller", (cluster) => {
  test("an extension whose finalizer is removed keeps its objects, and a release that the Go operator-controller can read", async () => {
    const sample = await SampleWorld.start(cluster);
    try {
      const extension = await sample.installed("handed-back", "1.0.0");
      const owned = await sample.owned("handed-back");
      await sample.end("operator-controller", "SIGTERM");
      const ref = toObjectRef(extension);
      await cluster.client.patch(ref, { metadata: { finalizers: null } }, { type: "merge" });

      const { items } = await cluster.client.list({ apiVersion: "v1", kind: "Secret" }, { namespace: "olmv1-system" });
      const [release, ...others] = goReads(items, "handed-back");
      expect(others).toEqual([]);
      expect(release).toMatchObject({ name: "handed-back", namespace: extension.spec.namespace, version: 1, info: { status: "deployed" } });
      const { files, metadata } = release!["chart"] as { files: { data: string }[]; metadata: { annotations: Record<string, string> } };
      const released = files.map(({ data }) => JSON.parse(Buffer.from(data, "base64").toString()) as KubeObject);
      expect(released.map(describeObject).sort()).toEqual(sample.wanted("1.0.0", extension));
      expect(metadata.annotations).toBeDefined();
      expect(release?.["labels"]).toMatchObject({
        "olm.operatorframework.io/bundle-name": "hello-operator.v1.0.0",
        "olm.operatorframework.io/bundle-version": "1.0.0",
        "olm.operatorframework.io/package-name": "hello-operator",
      });
      expect(await sample.owned("handed-back")).toEqual(owned);
      expect((await cluster.client.get(ref))?.metadata.finalizers).toBeUndefined();
    } finally {
      await sample.world.stop();
    }
  });
});
