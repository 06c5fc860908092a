import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClusterExtension, type ClusterExtensionSpec, getNamespace } from "../../../pkg/api/clusterExtension.ts";
import {
  API_VERSION,
  CLUSTER_CATALOG,
  CLUSTER_EXTENSION,
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_REFERENCE,
  LABEL_BUNDLE_VERSION,
  LABEL_METADATA_NAME,
  LABEL_PACKAGE_NAME,
  SERVER_LEASES,
  SYSTEM_NAMESPACE,
} from "../../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../../pkg/api/k8s.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import { LEASE } from "../../../pkg/controller/lease.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { encodeRelease } from "../../../pkg/release/storage/encode.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { publishOperators } from "../consoleWorld/catalogs.ts";
import { OBJECT_STORAGE } from "../consoleWorld/healthyPackages.ts";
import { buildBundleFiles, nameBundle, type OperatorPackage } from "../consoleWorld/operatorPackage.ts";
import { GRAFANA, SECRETS_SYNC } from "../consoleWorld/platformPackages.ts";
import { eventually } from "../eventually.ts";
import { prepareObjectsFor } from "../loneExtension.ts";
import { formatRegistriesConf, pushBundleImage, pushCatalogImage } from "../pushedImages.ts";
import { releaseRecord } from "../releases.ts";
import type { WorldCluster } from "../world.ts";
import { type GoVersion, installGoDefinitions } from "./goDefinitions.ts";
import { buildGoStatus, type GoBundle } from "./goStatus.ts";

/** Names of the extensions of a world. */
export const GO_EXTENSIONS = {
  /** Installed, and upgraded once. */
  healthy: "object-storage",
  /** Its ServiceAccount lacks a permission, so nothing is installed. */
  denied: "secrets-sync",
  /** Requests a version that does not exist, so the installed one stays. */
  unresolved: "object-storage-next",
} as const;

/** Without webhooks, for which the Go implementation needs cert-manager. */
const STORAGE: OperatorPackage = {
  ...OBJECT_STORAGE,
  versions: OBJECT_STORAGE.versions.map(({ webhooks: _webhooks, ...version }) => version),
};
const CATALOG = "community-operators";
const DENIED =
  'error for resolved bundle "secrets-sync-operator.v2.3.0" with version "2.3.0": customresourcedefinitions.apiextensions.k8s.io "syncedsecrets.secrets.example.com" is forbidden: User "system:serviceaccount:secrets-sync:secrets-sync-installer" cannot get resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the cluster scope';
const IMAGE = "quay.io/operator-framework/operator-controller:v1.5.0";

/**
 * The cluster that the Go implementation of OLM v1 leaves: its CustomResourceDefinitions, servers, statuses, release Secrets and objects. Neither it nor
 * olmv1 reconciles anything.
 */
export class GoWorld implements AsyncDisposable {
  readonly cluster: WorldCluster;
  readonly version: GoVersion;
  readonly #folder: string;

  private constructor(cluster: WorldCluster, version: GoVersion, folder: string) {
    this.cluster = cluster;
    this.version = version;
    this.#folder = folder;
  }

  static async start(cluster: WorldCluster, version: GoVersion): Promise<GoWorld> {
    const world = new GoWorld(cluster, version, await mkdtemp(join(tmpdir(), "olmv1-go-")));
    await writeFile(world.registriesConf, formatRegistriesConf(cluster.registry.host));
    await installGoDefinitions(cluster.client, version);
    await world.#apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM_NAMESPACE } });
    await Promise.all([world.#startServers(), world.#publish()]);
    await Promise.all([world.#createHealthy(), world.#createDenied()]);
    return world;
  }

  /** Path of the registries.conf that maps quay.io to the registry of the cluster. */
  get registriesConf(): string {
    return join(this.#folder, "registries.conf");
  }

  get kubeconfig(): string {
    return this.cluster.kubeconfig;
  }

  get #client(): Client {
    return this.cluster.client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  #apply(object: KubeObject): Promise<KubeObject> {
    return this.#client.apply(object, { fieldManager: "operator-controller", force: true });
  }

  async #setStatus(object: KubeObject, status: object): Promise<void> {
    await this.#client.patch(toObjectRef(object), { status }, { type: "merge", subresource: "status" });
  }

  async #startServers(): Promise<void> {
    for (const program of ["catalogd", "operator-controller"] as const) {
      const name = `${program}-controller-manager`;
      const labels = { "control-plane": name };
      const container = { name: "manager", image: IMAGE, args: ["--leader-elect", "--tls-cert=/var/certs/tls.crt"] };
      await this.#apply({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name, namespace: SYSTEM_NAMESPACE },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [container] } } },
      });
      const spec = { holderIdentity: `${name}-0`, leaseDurationSeconds: 3_600, renewTime: `${new Date().toISOString().slice(0, -1)}000Z` };
      await this.#apply({ ...LEASE, metadata: { name: SERVER_LEASES[program], namespace: SYSTEM_NAMESPACE }, spec });
    }
  }

  async #publish(): Promise<void> {
    const { registry } = this.cluster;
    let digest = "";
    await publishOperators(
      {
        pushBundle: (...args) => pushBundleImage(registry, ...args),
        pushCatalog: async (...args) => (digest = await pushCatalogImage(registry, ...args)),
        serve: (name, ref) => this.#serve(name, ref, digest),
      },
      CATALOG,
      [STORAGE, SECRETS_SYNC, GRAFANA],
    );
  }

  /** Creates a ClusterCatalog with the status that the Go catalogd writes. */
  async #serve(name: string, ref: string, resolved: string): Promise<void> {
    const catalog = await this.#apply({
      apiVersion: API_VERSION,
      kind: CLUSTER_CATALOG,
      metadata: { name, labels: { [LABEL_METADATA_NAME]: name } },
      spec: { source: { type: "Image", image: { ref } } },
    });
    const lastTransitionTime = new Date().toISOString();
    const seen = { status: "True", observedGeneration: catalog.metadata.generation ?? 1, lastTransitionTime };
    const condition = (type: string, reason: string, message: string) => ({ type, reason, message, ...seen });
    await this.#setStatus(catalog, {
      conditions: [
        condition("Progressing", "Succeeded", "Successfully unpacked and stored content from resolved source"),
        condition("Serving", "Available", "Serving desired content from resolved source"),
      ],
      lastUnpacked: lastTransitionTime,
      resolvedSource: { type: "Image", image: { ref: resolved } },
      urls: { base: `https://catalogd-service.${SYSTEM_NAMESPACE}.svc/catalogs/${name}` },
    });
  }

  async #createHealthy(): Promise<void> {
    const extension = await this.createExtension(GO_EXTENSIONS.healthy, STORAGE, { version: "1.1.x" });
    await this.install(extension, STORAGE, ["1.0.0", "1.1.0"]);
    for (const name of ["invoices", "exports"])
      await eventually(() =>
        this.#apply({
          apiVersion: "storage.example.com/v1",
          kind: "Bucket",
          metadata: { name, namespace: extension.spec.namespace ?? "" },
          spec: { storeName: "main" },
        }),
      );
    const next = await this.createExtension(GO_EXTENSIONS.unresolved, STORAGE, { version: "9.9.9" });
    const message = `no bundles found for package "${STORAGE.name}" matching version "9.9.9"`;
    await this.#setStatus(next, buildGoStatus(undefined, { reason: "Retrying", message }));
  }

  async #createDenied(): Promise<void> {
    const denied = await this.createExtension(GO_EXTENSIONS.denied, SECRETS_SYNC, {});
    await this.#setStatus(denied, buildGoStatus(undefined, { reason: "Retrying", message: DENIED }));
  }

  /** Creates an extension as a user would, with its namespace and ServiceAccount. */
  async createExtension(
    name: string,
    operator: OperatorPackage,
    source: Partial<NonNullable<ClusterExtensionSpec["source"]["catalog"]>>,
  ): Promise<ClusterExtension> {
    const account = `${name}-installer`;
    await this.#apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    await this.#apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace: name } });
    return (await this.#client.create<KubeObject>({
      apiVersion: API_VERSION,
      kind: CLUSTER_EXTENSION,
      metadata: { name, finalizers: ["olm.operatorframework.io/cleanup-contentmanager-cache"] },
      spec: {
        namespace: name,
        ...(this.version === "account" ? { serviceAccount: { name: account } } : {}),
        source: { sourceType: "Catalog", catalog: { packageName: operator.name, ...source } },
      },
    })) as ClusterExtension;
  }

  /** Does what the Go operator-controller does for an extension: applies the objects, stores releases, and writes the status. */
  async install(extension: ClusterExtension, operator: OperatorPackage, versions: readonly string[]): Promise<void> {
    const { name, uid = "" } = extension.metadata;
    const installNamespace = getNamespace(extension);
    let bundle: GoBundle | undefined;
    for (const [i, version] of versions.entries()) {
      const of = operator.versions.find((one) => one.version === version);
      if (!of) throw new Error(`${operator.name} has no version ${version}`);
      bundle = { name: nameBundle(operator.name, version), version, image: `quay.io/bundles/${operator.name}:v${version}` };
      const objects = prepareObjectsFor(extension, renderBundle(loadBundle(buildBundleFiles(operator, of)), { installNamespace }));
      const isLast = i === versions.length - 1;
      if (isLast) for (const object of objects) await this.#apply(object);
      const record = releaseRecord(i + 1, isLast ? "deployed" : "superseded", {
        name,
        namespace: installNamespace,
        description: i === 0 ? "Install complete" : "Upgrade complete",
        labels: {
          [LABEL_BUNDLE_NAME]: bundle.name,
          [LABEL_BUNDLE_REFERENCE]: bundle.image,
          [LABEL_BUNDLE_VERSION]: version,
          [LABEL_PACKAGE_NAME]: operator.name,
        },
        objects,
      });
      for (const secret of encodeRelease(record, { systemNamespace: SYSTEM_NAMESPACE, owner: { name, uid } })) await this.#apply(secret);
    }
    await this.#setStatus(extension, buildGoStatus(bundle));
  }
}
