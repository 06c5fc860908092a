import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { StatusWriter } from "../controller/statusWriter.ts";
import { type StepResult, StepSequence } from "../controller/stepSequence.ts";
import type { Client } from "../kube/client.ts";
import { EventRecorder } from "../kube/events.ts";
import type { Logger } from "../telemetry/log.ts";
import { type CatalogImageSource, fetchImage, type PollRecord } from "./catalogImages.ts";
import type { CatalogMetrics, ReplicaMetrics } from "./catalogMetrics.ts";
import type { CatalogStore } from "./catalogStore.ts";
import { CatalogMetadata, ensureMetadata, withdraw } from "./finalizer.ts";
import type { Phase, Started } from "./phases.ts";
import { CatalogReconciler } from "./reconciler.ts";
import { computeCatalogEvents, getServedImage } from "./status.ts";
import { storeContent } from "./storeContent.ts";

/** Options of the leader. */
export interface CatalogLeaderInit {
  /** Rejects writes while this process is not the leader. */
  client: Client;
  images: CatalogImageSource;
  store: CatalogStore;
  /** Scheme and host of served content, without a trailing slash. */
  externalUrl: string;
  replica: ReplicaMetrics;
  reported: CatalogMetrics;
  log: Logger;
  /** Requeues a catalog after a terminal error, which is not retried otherwise. */
  requeueAfter: (name: string, afterMs: number) => void;
}

/**
 * Reconciles catalogs on the leader: resolves the image in the spec, serves its content, and writes
 * the status.
 */
export class CatalogLeader {
  readonly #init: CatalogLeaderInit;
  readonly #polls = new Map<string, PollRecord>();
  /** Times of the last successful lookups of catalogs with a poll interval. Unlike poll records, they survive failures. */
  readonly #polledAt = new Map<string, number>();
  readonly #reconciler: CatalogReconciler;

  constructor(init: CatalogLeaderInit) {
    const { client, images, store, externalUrl, reported, log, requeueAfter } = init;
    this.#init = init;
    const polls = this.#polls;
    const now = (): number => Date.now();
    const events = new EventRecorder(client, { component: "catalogd", log });
    const metadata = new CatalogMetadata(client);
    this.#reconciler = new CatalogReconciler({
      statuses: new StatusWriter({ client, events, describe: computeCatalogEvents }),
      metadata,
      contents: store,
      polls,
      baseOf: (name) => `${externalUrl}/catalogs/${name}`,
      now,
      random: Math.random,
      requeueAfter,
      steps: StepSequence.from<Started, Phase>()
        .step(withdraw([store, images]))
        .step(ensureMetadata(metadata))
        .step(fetchImage({ images, contents: store, polls, now }))
        .step(reported.timed(storeContent({ store, images, events }))),
    });
  }

  /**
   * Returns when the image of a catalog was last resolved successfully, in milliseconds since the
   * epoch. Undefined for a catalog that is not polled.
   */
  polledAt(name: string): number | undefined {
    return this.#polledAt.get(name);
  }

  /** Deletes all poll records, so that every reference is resolved again as after a restart. */
  forget(): void {
    this.#polls.clear();
    this.#polledAt.clear();
  }

  /** @param catalog undefined if it does not exist. @throws as CatalogReconciler. */
  async reconcile(name: string, catalog: Readonly<ClusterCatalog> | undefined, log: Logger, signal: AbortSignal): Promise<StepResult> {
    const { store, images, replica } = this.#init;
    try {
      if (catalog) return await this.#reconciler.reconcile(catalog, log, signal);
      this.#polls.delete(name);
      for (const keeper of [store, images]) await keeper.remove(name); // normally already done, before the finalizer was removed
      return undefined;
    } finally {
      replica.setOutdated(name, getServedImage(catalog) ? !store.get(name) : undefined);
      this.#recordPoll(name, catalog);
    }
  }

  #recordPoll(name: string, catalog: Readonly<ClusterCatalog> | undefined): void {
    const at = this.#polls.get(name)?.at;
    if (!isPolled(catalog)) this.#polledAt.delete(name);
    else if (at !== undefined) this.#polledAt.set(name, at);
  }
}

/** Returns whether catalogd looks the image of a catalog up periodically. */
function isPolled(catalog: Readonly<ClusterCatalog> | undefined): boolean {
  if (!catalog || catalog.metadata.deletionTimestamp !== undefined) return false;
  const { availabilityMode, source } = catalog.spec;
  return availabilityMode !== "Unavailable" && source.image?.pollIntervalMinutes !== undefined;
}
