import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION } from "../api/constants.ts";
import { Controller } from "../controller/controller.ts";
import { Informer, withoutBulk } from "../controller/informer.ts";
import { WorkQueue } from "../controller/workQueue.ts";
import type { Client } from "../kube/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { ServiceAccountTokens } from "../kube/tokens.ts";
import type { ExtensionExists } from "../release/ownership.ts";
import { controllerMetrics, queueMetrics } from "../telemetry/controllerMetrics.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { CatalogContents, type PackageReader } from "./catalogContents.ts";
import { Identities, type ServiceAccountFallback } from "./identity.ts";
import { Reconciler, requireSpec } from "./reconciler.ts";
import { ReleaseStore } from "./releaseStore.ts";
import { applyBundle } from "./steps/applyBundle.ts";
import { handleDeletion } from "./steps/handleDeletion.ts";
import { resolveBundle } from "./steps/resolveBundle.ts";
import { retrieveReleases } from "./steps/retrieveReleases.ts";
import { type BundlePuller, unpackBundle } from "./steps/unpackBundle.ts";
import { validate } from "./steps/validate.ts";
import { extensionsToResolve, needsPass } from "./triggers.ts";

/** Everything the controller is built from. */
export interface OperatorControllerOptions {
  client: Client;
  puller: BundlePuller & { remove(owner: string): Promise<void> };
  packages: PackageReader;
  systemNamespace: string;
  serviceAccountFallback: ServiceAccountFallback;
  /** Extensions worked on at once. */
  workers: number;
  /** Objects of an unchanged release are compared with the cluster this often, with a tenth of jitter. */
  driftIntervalMs: number;
  /** Longest wait between two tries of a failing extension. */
  maxBackoffMs: number;
  log: Logger;
  metrics: Metrics;
}

const EXTENSION = { apiVersion: API_VERSION, kind: "ClusterExtension" } as const;
/** Name of the controller in logs and metrics. */
const NAME = "clusterextension";
const CATALOG = { apiVersion: API_VERSION, kind: "ClusterCatalog" } as const;

/** Watches extensions and catalogs and brings every extension to what its spec says. */
export class OperatorController {
  readonly #options: OperatorControllerOptions;
  readonly #extensions: Informer<ClusterExtension>;
  readonly #catalogs: Informer<ClusterCatalog>;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;

  constructor(options: OperatorControllerOptions) {
    this.#options = options;
    const { client, log, metrics, workers, maxBackoffMs } = options;
    this.#extensions = new Informer<ClusterExtension>(client, EXTENSION, { transform: withoutBulk }, log);
    this.#catalogs = new Informer<ClusterCatalog>(client, CATALOG, { transform: withoutBulk }, log);
    this.#queue = new WorkQueue({ maxDelayMs: maxBackoffMs, metrics: queueMetrics(metrics, NAME) });
    const contents = new CatalogContents(options.packages);
    const reconciler = this.#reconciler(contents);
    this.#controller = new Controller({
      name: NAME,
      queue: this.#queue,
      workers,
      log,
      metrics: controllerMetrics(metrics, NAME),
      reconcile: async (name, context) => {
        const extension = this.#extensions.get(name);
        return extension ? reconciler.reconcile({ ...extension, ...EXTENSION }, context.log, context.signal) : undefined;
      },
    });
    this.#wire(contents);
  }

  /** Whether both informers have seen the cluster's state once. */
  get ready(): boolean {
    return this.#extensions.hasSynced && this.#catalogs.hasSynced;
  }

  /** Runs until `signal` aborts; passes under way are finished or aborted first. */
  async run(signal: AbortSignal): Promise<void> {
    const informers = [this.#extensions, this.#catalogs];
    const work = async (): Promise<void> => {
      await Promise.all(informers.map((informer) => informer.synced));
      await this.#controller.run(signal);
    };
    await Promise.all([...informers.map((informer) => informer.run(signal)), work()]);
  }

  #reconciler(contents: CatalogContents): Reconciler {
    const { client, puller, systemNamespace, serviceAccountFallback, driftIntervalMs, log } = this.#options;
    const now = (): number => Date.now();
    const events = new EventRecorder(client, { component: "operator-controller", log });
    const releases = new ReleaseStore(client, systemNamespace);
    const identities = new Identities(client, new ServiceAccountTokens(client), serviceAccountFallback);
    const extensionExists: ExtensionExists = (name, uid) => {
      const found = this.#extensions.get(name);
      return found !== undefined && (uid === undefined || uid === found.metadata.uid);
    };
    const lastChecked = new Map<string, number>();
    const forget = async (extension: Readonly<ClusterExtension>): Promise<void> => {
      lastChecked.delete(extension.metadata.uid ?? "");
      await puller.remove(extension.metadata.name);
    };
    return new Reconciler({
      client,
      events,
      now,
      resyncMs: () => driftIntervalMs * (1 + Math.random() / 10),
      steps: [
        requireSpec,
        handleDeletion({ client, identities, releases, events, forget }),
        retrieveReleases(releases),
        validate(identities),
        resolveBundle(this.#catalogs, contents),
        unpackBundle(puller),
        applyBundle({ client, releases, events, now, driftIntervalMs, extensionExists, lastChecked }),
      ],
    });
  }

  #wire(contents: CatalogContents): void {
    this.#extensions.onEvent((event) => {
      if (event.type === "delete" || needsPass(event.object, event.old)) this.#queue.add(event.object.metadata.name);
    });
    this.#catalogs.onEvent((event) => {
      if (event.type === "delete") contents.forget(event.object.metadata.name);
      const after = event.type === "delete" ? undefined : event.object;
      const before = event.type === "delete" ? event.object : event.old;
      for (const name of extensionsToResolve(this.#extensions.list(), after, before)) this.#queue.add(name);
    });
  }
}
