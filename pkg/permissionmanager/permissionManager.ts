import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import {
  ANNOTATION_APPROVE,
  API_VERSION,
  CLUSTER_CATALOG,
  CLUSTER_EXTENSION,
  EXTENSION_PERMISSIONS,
  LABEL_PERMISSIONS_FOR,
  PERMISSION_POLICY,
} from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import type { WebhookCertProvider } from "../api/flagValues.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { PermissionPolicy, PolicyGrant } from "../api/permissionPolicy.ts";
import { systemClock } from "../async/clock.ts";
import { Controller } from "../controller/controller.ts";
import { Informer, withoutBulk } from "../controller/informer.ts";
import { StatusWriter } from "../controller/statusWriter.ts";
import { WorkQueue } from "../controller/workQueue.ts";
import type { Client } from "../kube/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { registerPullMetrics } from "../oci/pull/pullPool.ts";
import { CertificateProviders } from "../operatorcontroller/apply/certificateProviders.ts";
import { BundleCache } from "../operatorcontroller/bundles/bundleCache.ts";
import { BundleImages, type BundlePuller } from "../operatorcontroller/bundles/bundleImages.ts";
import { CatalogPackages, type PackageReader } from "../operatorcontroller/catalogs/catalogPackages.ts";
import { getControllerSubject } from "../rbac/installerManifests.ts";
import type { Logger } from "../telemetry/log.ts";
import { type Metrics, registerControllerMetrics, registerQueueMetrics } from "../telemetry/metrics.ts";
import type { AdmissionGuard } from "./admissionGuard.ts";
import { CreatedNamespaces } from "./createdNamespaces.ts";
import { GRANT_KINDS, GrantWriter } from "./grantWriter.ts";
import { PermissionMetrics } from "./permissionMetrics.ts";
import { PermissionReconciler } from "./permissionReconciler.ts";
import { computePermissionEvents } from "./permissionStatus.ts";

const NAME = "permission-manager";
const EXTENSION = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;
const CATALOG = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG } as const;
/** Longest wait for pending Events when the controller stops, in milliseconds. */
const FLUSH_MS = 1_000;
const BY_EXTENSION = "extension";

/** Dependencies and options of permission-manager. */
export interface PermissionManagerOptions {
  /** Rejects writes while this process does not lead. */
  readonly client: Client;
  readonly puller: BundlePuller;
  readonly packages: PackageReader;
  readonly systemNamespace: string;
  readonly webhookCertProvider: WebhookCertProvider;
  /** Checks that admission policies limit `client`. */
  readonly admission: Pick<AdmissionGuard, "check">;
  /** The grant of policy `default` if it does not exist. */
  readonly defaultGrant: PolicyGrant;
  /** Whether extensions that name a ServiceAccount get permissions too. Default: false. */
  readonly ignoresServiceAccounts?: boolean;
  readonly workers: number;
  readonly maxBackoffMs: number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Watches ExtensionPermissions, extensions, policies and catalogs, and reconciles the permissions of every extension. */
export class PermissionManager {
  readonly #permissions: Informer<ExtensionPermissions>;
  readonly #extensions: Informer<ClusterExtension>;
  readonly #policies: Informer<PermissionPolicy>;
  readonly #catalogs: Informer<ClusterCatalog>;
  /** Report deleted roles, bindings and ServiceAccounts, which the next reconcile creates again, and those without request, which it deletes. */
  readonly #grants: readonly Informer[];
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  readonly #contents: CatalogPackages;
  readonly #images: BundleImages;
  readonly #events: EventRecorder;

  constructor(options: PermissionManagerOptions) {
    const { client, log, metrics, workers, maxBackoffMs, systemNamespace, puller } = options;
    this.#permissions = new Informer<ExtensionPermissions>(client, EXTENSION_PERMISSIONS, { transform: withoutBulk }, log);
    this.#extensions = new Informer<ClusterExtension>(client, EXTENSION, { transform: withoutBulk }, log);
    this.#policies = new Informer<PermissionPolicy>(client, PERMISSION_POLICY, { transform: withoutBulk }, log);
    this.#catalogs = new Informer<ClusterCatalog>(client, CATALOG, { transform: withoutBulk }, log);
    this.#events = new EventRecorder(client, { component: NAME, log });
    const queue = new WorkQueue({ maxDelayMs: maxBackoffMs, metrics: registerQueueMetrics(metrics, NAME) });
    this.#queue = queue;
    const contents = new CatalogPackages(options.packages);
    this.#contents = contents;
    const images = new BundleImages(puller, (extension) => queue.add(extension));
    this.#images = images;
    registerPullMetrics(metrics, () => images.pulls);
    const reconciler = new PermissionReconciler({
      client,
      api: client,
      known: {
        extensions: this.#extensions,
        policies: this.#policies,
        hasGrants: (extension) => this.#grants.some((informer) => informer.byIndex(BY_EXTENSION, extension).length > 0),
      },
      events: this.#events,
      metrics: new PermissionMetrics(metrics),
      catalogs: this.#catalogs,
      packages: contents,
      images,
      bundles: new BundleCache(systemClock),
      providers: new CertificateProviders(client, options.webhookCertProvider),
      systemNamespace,
      writer: new GrantWriter(client, getControllerSubject(systemNamespace)),
      statuses: new StatusWriter({ client, events: this.#events, describe: computePermissionEvents }),
      namespaces: new CreatedNamespaces(client, { extensions: this.#extensions, permissions: this.#permissions }),
      defaultGrant: options.defaultGrant,
      ignoresServiceAccounts: options.ignoresServiceAccounts ?? false,
      admission: options.admission,
      now: () => new Date(),
    });
    this.#permissions.onEvent(({ object, old }) => {
      if (!old || hasNewRequest(old, object)) queue.add(object.metadata.name);
    });
    this.#extensions.onEvent(({ object, old, type }) => {
      const { name } = object.metadata;
      if (type !== "update" || !old || hasNewRequest(old, object) || reconciler.awaitsHealth(name)) queue.add(name);
      if (type === "delete") void images.forget(name).catch((err: unknown) => log.warn({ err }, "images not removed"));
    });
    const enqueueAll = (): void => {
      for (const { metadata } of this.#permissions.list()) queue.add(metadata.name);
    };
    this.#policies.onEvent(enqueueAll);
    this.#catalogs.onEvent(({ object, old, type }) => {
      if (type === "delete") contents.forget(object.metadata.name);
      // A policy covers catalogs by their labels; other requests may wait for the content of the catalog.
      const isRelabeled = !old || !isDeepStrictEqual(old.metadata.labels, object.metadata.labels);
      for (const { metadata, status } of this.#permissions.list())
        if (status?.state !== "Granted" || (isRelabeled && status.bundle?.catalog === object.metadata.name)) queue.add(metadata.name);
    });
    this.#grants = GRANT_KINDS.map((gvk) => {
      const informer = new Informer(client, gvk, { labelSelector: LABEL_PERMISSIONS_FOR, metadataOnly: true, transform: withoutBulk }, log);
      informer.addIndex(BY_EXTENSION, (object) => [getExtension(object)]);
      informer.onEvent(({ type, object }) => {
        const name = getExtension(object);
        if (type === "delete" || !this.#permissions.get(name)) queue.add(name);
      });
      return informer;
    });
    this.#controller = new Controller({
      name: NAME,
      queue,
      workers,
      log,
      metrics: registerControllerMetrics(metrics, NAME),
      reconcile: (name, context) => reconciler.reconcile(name, context),
    });
  }

  /** Whether all informers have read the cluster's state once. */
  get ready(): boolean {
    return this.#informers.every((informer) => informer.hasSynced);
  }

  /** Immediately retries requests that are not granted, for example after a change of mirrors or credentials. */
  retryPending(): void {
    this.#images.renew();
    for (const { metadata, status } of this.#permissions.list()) if (status?.state !== "Granted") this.#queue.add(metadata.name);
  }

  /** Runs until `signal` aborts, and then until running reconciles have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const work = async (): Promise<void> => {
      await Promise.all(this.#informers.map((informer) => informer.synced));
      await this.#controller.run(signal);
    };
    await Promise.all([...this.#informers.map((informer) => informer.run(signal)), work()]);
    await this.#images.close();
    this.#contents.close();
    await Promise.race([this.#events.flush(), sleep(FLUSH_MS, undefined, { ref: false })]);
  }

  get #informers() {
    return [this.#permissions, this.#extensions, this.#policies, this.#catalogs, ...this.#grants] as const;
  }
}

/** Returns the name of the extension that a granted object belongs to. */
function getExtension({ metadata }: KubeObject): string {
  return metadata.labels?.[LABEL_PERMISSIONS_FOR] ?? "";
}

/** Reports whether anything except the status changed that decisions depend on. */
function hasNewRequest({ metadata: old }: KubeObject, { metadata }: KubeObject): boolean {
  return (
    old.uid !== metadata.uid ||
    old.generation !== metadata.generation ||
    old.deletionTimestamp !== metadata.deletionTimestamp ||
    old.annotations?.[ANNOTATION_APPROVE] !== metadata.annotations?.[ANNOTATION_APPROVE]
  );
}
