import { expect } from "vitest";
import { type CatalogSource, type ClusterExtension, getNamespace } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION } from "../../pkg/api/constants.ts";
import type { KubeObject, ObjectRef } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import type { ServerName } from "../../pkg/devcluster/installation.ts";
import { buildSampleBundles, buildSampleImages, SAMPLE_CATALOG_REPOSITORY, SAMPLE_PACKAGE } from "../../pkg/devcluster/sample/sample.ts";
import { pushImage } from "../../pkg/oci/publish/push.ts";
import { describeObject } from "../../pkg/release/identity.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { AdmissionGate } from "./admissionGate.ts";
import { eventTexts, ownObjects, releaseStates } from "./audit.ts";
import { eventually } from "./eventually.ts";
import { createExtension } from "./extensions.ts";
import { grantInstaller } from "./serviceAccounts.ts";
import { World, type WorldCluster } from "./world.ts";

/** Reference of the sample catalog. */
export const SAMPLE_CATALOG_REF = `quay.io/${SAMPLE_CATALOG_REPOSITORY}:latest`;

/** A world that serves the sample operator as catalog "sample", and corrects drift every second. */
export class SampleWorld {
  readonly world: World;
  readonly #cluster: WorldCluster;

  private constructor(cluster: WorldCluster, world: World) {
    this.#cluster = cluster;
    this.world = world;
  }

  /** @param driftInterval how often unwatched objects are compared. @param more operator-controller flags. */
  static async start(cluster: WorldCluster, driftInterval = "1s", more: readonly string[] = []): Promise<SampleWorld> {
    const flags = ["--drift-interval", driftInterval, "--max-backoff", "2s", ...more];
    const world = await World.start(cluster, { extraArgs: { "operator-controller": flags } });
    for (const { repository, tag, files, labels } of buildSampleImages("quay.io"))
      await pushImage(cluster.registry, repository, tag, { files, labels });
    await world.serve("sample", SAMPLE_CATALOG_REF);
    return new SampleWorld(cluster, world);
  }

  /** Renders the objects of one version of the sample. */
  rendered(version: string, namespace: string): KubeObject[] {
    const bundle = buildSampleBundles().find((candidate) => candidate.version === version);
    return renderBundle(loadBundle(bundle?.files ?? new Map()), { installNamespace: namespace });
  }

  /** Returns the same objects in the format of `owned`. */
  wanted(version: string, extension: ClusterExtension): string[] {
    return this.rendered(version, getNamespace(extension)).map(describeObject).sort();
  }

  /** Creates an extension of the sample, with an installer that can install every version; does not apply the extension. */
  async extension(name: string, catalog: Partial<CatalogSource> = {}): Promise<ClusterExtension> {
    const created = createExtension(name, { packageName: SAMPLE_PACKAGE, ...catalog });
    const namespace = getNamespace(created);
    const objects = buildSampleBundles().flatMap(({ version }) => this.rendered(version, namespace));
    await grantInstaller(this.#cluster.client, created, objects);
    return created;
  }

  /** Creates an extension pinned to a version, and waits until it is installed. */
  async installed(name: string, version: string): Promise<ClusterExtension> {
    const created = await this.extension(name, { version });
    await this.world.apply(created);
    await this.world.installed(name, version);
    return created;
  }

  /** Returns all objects on the cluster with an extension's owner label. */
  owned(name: string): Promise<string[]> {
    return ownObjects(this.#cluster.client, name);
  }

  /** Returns the releases with their states, such as "v1 superseded". */
  releases(name: string): Promise<string[]> {
    return releaseStates(this.#cluster.client, name);
  }

  /** Returns the Events about an extension, as "Reason: message". */
  events(name: string): Promise<string[]> {
    return eventTexts(this.#cluster.client, name);
  }

  /** Creates a gate for the Deployments of an extension. */
  gateFor(extension: ClusterExtension): Promise<AdmissionGate> {
    const namespace = getNamespace(extension);
    const deployment = this.rendered("1.0.0", namespace).find(({ kind }) => kind === "Deployment")!;
    const probe = { ...deployment, metadata: { name: "probe", namespace } };
    return AdmissionGate.start(this.#cluster.client, probe, { group: "apps", version: "v1", resource: "deployments" });
  }

  /** Deletes one object of an extension at version 1.0.0 and changes another, and waits until both are restored. */
  async damageIsRepaired(extension: ClusterExtension): Promise<void> {
    const namespace = getNamespace(extension);
    const { client } = this.#cluster;
    const phrases: ObjectRef = { apiVersion: "v1", kind: "ConfigMap", namespace, name: "hello-operator-phrases" };
    const service: ObjectRef = { apiVersion: "v1", kind: "Service", namespace, name: "hello-operator-metrics" };
    const before = await client.get(service);
    await client.delete(phrases);
    await client.patch(service, [{ op: "replace", path: "/spec/ports/0/name", value: "changed" }], { type: "json" });
    await eventually(async () => {
      expect((await client.get(phrases))?.["data"]).toEqual({ greeting: "Hello, %s!" });
      expect((await client.get(service))?.["spec"]).toEqual(before?.["spec"]);
    });
  }

  /** Sends a signal to a server and waits until it ends; the end counts as expected. @returns how it ended. */
  async end(name: ServerName, signal: NodeJS.Signals): Promise<string> {
    const server = this.world.installation.servers[name];
    process.kill(server.pid!, signal);
    await eventually(() => expect(server.ended).toBeDefined(), { intervalMs: 10 });
    return this.world.unexpectedEnds.pop() ?? "";
  }

  /** Removes every extension. */
  async clear(): Promise<void> {
    const { items } = await this.#cluster.client.list({ apiVersion: API_VERSION, kind: "ClusterExtension" });
    await Promise.all(items.map(({ metadata }) => this.world.removed("ClusterExtension", metadata.name)));
  }
}
