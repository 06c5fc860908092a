import { join } from "node:path";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import { Controller } from "../controller/controller.ts";
import { Informer, withoutBulk } from "../controller/informer.ts";
import { WorkQueue } from "../controller/workQueue.ts";
import type { Client } from "../kube/client.ts";
import { EventRecorder } from "../kube/events.ts";
import { catalogRoot } from "../oci/catalogRoot.ts";
import type { Puller } from "../oci/puller.ts";
import { controllerMetrics, queueMetrics } from "../telemetry/controllerMetrics.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { CatalogMetrics } from "./catalogMetrics.ts";
import { GarbageCollector, unpackFolder } from "./garbageCollector.ts";
import { CatalogMetadata } from "./metadata.ts";
import type { PollRecord } from "./polling.ts";
import { CatalogReconciler } from "./reconciler.ts";
import { ensureMetadata } from "./steps/ensureMetadata.ts";
import { resolveImage } from "./steps/resolveImage.ts";
import { storeContent } from "./steps/storeContent.ts";
import { type CatalogPuller, unpackImage } from "./steps/unpackImage.ts";
import { withdraw } from "./steps/withdraw.ts";
import type { CatalogStore } from "./store.ts";

/** Everything the controller is built from. */
export interface CatalogControllerOptions {
  client: Client;
  puller: Pick<Puller, "resolve" | "pull" | "remove">;
  store: CatalogStore;
  /** Folder in which the puller keeps unpacked images. */
  unpackDir: string;
  /** Scheme and host under which content is served, without a slash at the end. */
  externalUrl: string;
  gcIntervalMs: number;
  log: Logger;
  metrics: Metrics;
}

const CATALOG = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG } as const;
/** Name of the controller in logs and metrics. */
const NAME = "catalogd-clustercatalog-controller";
/** Catalogs worked on at once; their images are fetched side by side, their content is read one after another. */
const WORKERS = 4;

/** Watches ClusterCatalogs and keeps the store as they say. */
export class CatalogController {
  readonly #options: CatalogControllerOptions;
  readonly #catalogs: Informer<ClusterCatalog>;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  readonly #garbage: GarbageCollector;

  constructor(options: CatalogControllerOptions) {
    this.#options = options;
    const { client, store, unpackDir, gcIntervalMs, log, metrics } = options;
    this.#catalogs = new Informer<ClusterCatalog>(client, CATALOG, { transform: withoutBulk }, log);
    this.#queue = new WorkQueue({ metrics: queueMetrics(metrics, NAME) });
    const polls = new Map<string, PollRecord>();
    const reconciler = this.#reconciler(polls);
    const reported = new CatalogMetrics(metrics);
    this.#controller = new Controller({
      name: NAME,
      queue: this.#queue,
      workers: WORKERS,
      log,
      metrics: controllerMetrics(metrics, NAME),
      reconcile: async (name, context) => {
        const catalog = this.#catalogs.get(name);
        try {
          if (catalog) return await reconciler.reconcile({ ...catalog, ...CATALOG }, context.log, context.signal);
          polls.delete(name);
          for (const keeper of [store, options.puller]) await keeper.remove(name); // normally done already, before the finalizer was let go
          return undefined;
        } finally {
          reported.report(name, store.get(name), polls.get(name)?.at);
        }
      },
    });
    this.#catalogs.onEvent((event) => this.#queue.add(event.object.metadata.name));
    const names = async (signal: AbortSignal): Promise<string[]> =>
      (await client.list(CATALOG, { metadataOnly: true, signal })).items.map(({ metadata }) => metadata.name);
    this.#garbage = new GarbageCollector({ folders: [store, unpackFolder(unpackDir)], catalogs: names, intervalMs: gcIntervalMs, log });
  }

  /** Whether the informer has seen the cluster's state once. */
  get ready(): boolean {
    return this.#catalogs.hasSynced;
  }

  /** Runs until `signal` aborts; passes under way are finished or aborted first. */
  async run(signal: AbortSignal): Promise<void> {
    const work = async (): Promise<void> => {
      await this.#catalogs.synced;
      await Promise.all([this.#controller.run(signal), this.#garbage.run(signal)]);
    };
    await Promise.all([this.#catalogs.run(signal), work()]);
  }

  #reconciler(polls: Map<string, PollRecord>): CatalogReconciler {
    const { client, puller, store, externalUrl, log } = this.#options;
    const now = (): number => Date.now();
    const events = new EventRecorder(client, { component: "catalogd", log });
    const metadata = new CatalogMetadata(client);
    const images: CatalogPuller = { pull: (name, ref, signal) => puller.pull(name, ref, { signal, filter: catalogRoot }) };
    return new CatalogReconciler({
      client,
      events,
      metadata,
      contents: store,
      polls,
      baseOf: (name) => `${externalUrl}/catalogs/${name}`,
      now,
      random: Math.random,
      steps: [
        withdraw([store, puller]),
        ensureMetadata(metadata),
        resolveImage({ images: puller, contents: store, polls, now }),
        unpackImage(images),
        storeContent({ store, images: puller, events }),
      ],
    });
  }
}

/** Where below a cache folder unpacked images and stored content are. */
export function cacheFolders(cacheDir: string): { unpack: string; catalogs: string } {
  return { unpack: join(cacheDir, "unpack"), catalogs: join(cacheDir, "catalogs") };
}
