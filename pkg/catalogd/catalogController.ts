import { join } from "node:path";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG } from "../api/constants.ts";
import { systemClock } from "../async/clock.ts";
import { waitForAbort } from "../async/concurrency.ts";
import { Controller, type ReconcileContext, type ReconcileOutcome } from "../controller/controller.ts";
import { Informer, withoutBulk } from "../controller/informer.ts";
import { LeadershipLost } from "../controller/leaderElection.ts";
import type { StepResult } from "../controller/stepSequence.ts";
import { KeyedTimers, WorkQueue } from "../controller/workQueue.ts";
import { getErrorMessage, isRetryable } from "../errors/errors.ts";
import type { Client } from "../kube/client.ts";
import { findCatalogRoot } from "../oci/pull/imageFilter.ts";
import type { Puller } from "../oci/pull/puller.ts";
import { registerPullMetrics } from "../oci/pull/pullPool.ts";
import type { Logger } from "../telemetry/log.ts";
import { type Metrics, registerControllerMetrics, registerQueueMetrics } from "../telemetry/metrics.ts";
import { CatalogFollower, ContentRecovery } from "./catalogFollower.ts";
import { CatalogImages } from "./catalogImages.ts";
import { CatalogLeader } from "./catalogLeader.ts";
import { CatalogMetrics, registerReplicaMetrics } from "./catalogMetrics.ts";
import { type CatalogStore, Scrubber } from "./catalogStore.ts";
import { GarbageCollector, unpackFolder } from "./garbageCollector.ts";
import { getServedImage } from "./status.ts";

/** Options of the controller. */
export interface CatalogControllerOptions {
  client: Client;
  /** Client for writes by the leader; rejects writes while this process is not the leader. */
  leaderClient: Client;
  /** Yields leadership to another replica that has all content, if any. */
  stepDown: (why: string) => void;
  puller: Pick<Puller, "resolve" | "pull" | "remove">;
  store: CatalogStore;
  /** Folder in which the puller unpacks images. */
  unpackDir: string;
  /** Scheme and host of served content, without a trailing slash. */
  externalUrl: string;
  gcIntervalMs: number;
  log: Logger;
  metrics: Metrics;
}

const CATALOG = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG } as const;
/** Name of the controller in logs and metrics. */
const NAME = "catalogd-clustercatalog-controller";
/**
 * Maximum number of concurrent catalog reconciles. Images are pulled outside of reconciles, and
 * content is read one catalog at a time.
 */
const WORKERS = 16;

/** Delay after a reconcile that could not write because leadership was lost, to avoid a busy loop. */
const LOST_MS = 1_000;

/**
 * Reconciles ClusterCatalogs. The leader serves the catalogs in the spec and writes the status.
 * Other replicas serve the content that the status reports. Both roles share one queue, so that two
 * reconciles never work on the same catalog.
 */
export class CatalogController {
  readonly #catalogs: Informer<ClusterCatalog>;
  readonly #queue: WorkQueue;
  /** Requeues catalogs for their next poll after a terminal error. */
  readonly #timers: KeyedTimers;
  readonly #controller: Controller;
  readonly #garbage: GarbageCollector;
  readonly #scrubber: Scrubber;
  /** Catalogs whose last reconcile failed with a retryable error. */
  readonly #failing = new Set<string>();
  readonly #images: CatalogImages;
  readonly #leader: CatalogLeader;
  readonly #follower: CatalogFollower;
  readonly #lost: ContentRecovery;
  /** Leader reconciles in progress. */
  readonly #leading = new Set<Promise<unknown>>();
  /** Aborts when this process loses leadership; undefined while it does not lead. */
  #term: AbortSignal | undefined;

  constructor(options: CatalogControllerOptions) {
    const { client, store, unpackDir, gcIntervalMs, log, metrics } = options;
    this.#catalogs = new Informer<ClusterCatalog>(client, CATALOG, { transform: withoutBulk }, log);
    this.#queue = new WorkQueue({ metrics: registerQueueMetrics(metrics, NAME) });
    this.#timers = new KeyedTimers(systemClock, (name) => this.#queue.add(name));
    const { leaderClient, puller, externalUrl } = options;
    const replica = registerReplicaMetrics(metrics);
    const source = {
      resolve: (ref: string, signal: AbortSignal, isStored: (canonical: string) => boolean) => puller.resolve(ref, signal, isStored),
      pull: (name: string, ref: string, signal: AbortSignal, identity?: string) =>
        puller.pull(name, ref, { signal, filter: findCatalogRoot, identity }),
      remove: (name: string) => puller.remove(name),
    };
    const images = new CatalogImages(source, (name) => this.#queue.add(name));
    this.#images = images;
    registerPullMetrics(metrics, () => images.pulls);
    const reported = new CatalogMetrics(metrics);
    this.#leader = new CatalogLeader({
      client: leaderClient,
      images,
      store,
      externalUrl,
      replica,
      reported,
      log,
      requeueAfter: (name, afterMs) => this.#timers.set(name, afterMs),
    });
    this.#follower = new CatalogFollower({ store, images, metrics: replica, random: Math.random });
    this.#controller = new Controller({
      name: NAME,
      queue: this.#queue,
      workers: WORKERS,
      log,
      metrics: registerControllerMetrics(metrics, NAME),
      reconcile: async (name, context) => {
        try {
          const outcome = await this.#reconcile(name, context);
          if (!outcome?.isPending) this.#failing.delete(name);
          if (!this.#catalogs.get(name)) reported.forget(name);
          return outcome;
        } catch (err) {
          if (!context.signal.aborted) reported.failed(name, err);
          if (isRetryable(err)) this.#failing.add(name);
          else this.#failing.delete(name);
          throw err;
        } finally {
          reported.report(name, store.get(name), this.#leader.polledAt(name));
        }
      },
    });
    this.#lost = new ContentRecovery({ contents: store, follower: this.#follower, stepDown: options.stepDown });
    store.onLost((name) => {
      reported.lost(name);
      this.#lost.add(name);
      this.#queue.add(name);
    });
    this.#catalogs.onEvent((event) => this.#queue.add(event.object.metadata.name));
    const names = async (signal: AbortSignal): Promise<string[]> =>
      (await client.list(CATALOG, { metadataOnly: true, signal })).items.map(({ metadata }) => metadata.name);
    this.#garbage = new GarbageCollector({ folders: [store, unpackFolder(unpackDir)], catalogs: names, intervalMs: gcIntervalMs, log });
    this.#scrubber = new Scrubber({ store, intervalMs: gcIntervalMs, log });
  }

  /** Returns all known catalogs; undefined until the first list has arrived. */
  catalogs(): ClusterCatalog[] | undefined {
    return this.#catalogs.hasSynced ? this.#catalogs.list() : undefined;
  }

  /**
   * Returns whether this replica should store content of the catalog according to the catalog
   * status; also true until the catalogs are listed.
   */
  expects(name: string): boolean {
    return !this.#catalogs.hasSynced || getServedImage(this.#catalogs.get(name)) !== undefined;
  }

  /**
   * Returns the names of the known catalogs whose content this replica should store according to
   * their status.
   */
  expected(): string[] {
    return this.#catalogs
      .list()
      .filter((catalog) => getServedImage(catalog))
      .map(({ metadata }) => metadata.name);
  }

  /** Immediately retries failing catalogs, for example after a change of credentials. */
  retryFailing(): void {
    this.#images.renew();
    for (const name of [...this.#failing, ...this.#follower.failing]) this.#queue.add(name);
  }

  /** Runs until `signal` aborts. Finishes or aborts reconciles in progress before it returns. */
  async run(signal: AbortSignal): Promise<void> {
    const work = async (): Promise<void> => {
      await this.#catalogs.synced;
      await Promise.all([this.#controller.run(signal), this.#garbage.run(signal), this.#scrubber.run(signal)]);
    };
    await Promise.all([this.#catalogs.run(signal), work()]);
    await this.#images.close();
    this.#timers.clear();
  }

  /**
   * Runs the leader tasks until `term` aborts, in addition to `run`. Does not fetch stored content
   * again. Returns when all leader reconciles have ended.
   */
  async lead(term: AbortSignal): Promise<void> {
    this.#leader.forget();
    this.#term = term;
    this.#enqueueAll();
    await waitForAbort(term);
    await Promise.allSettled(this.#leading);
    await this.#images.clear();
    this.#leader.forget();
    this.#term = undefined;
    this.#enqueueAll();
  }

  #enqueueAll(): void {
    for (const { metadata } of this.#catalogs.list()) this.#queue.add(metadata.name);
  }

  async #reconcile(name: string, { log, signal }: ReconcileContext): Promise<ReconcileOutcome> {
    const known = this.#catalogs.get(name);
    const catalog = known && { ...known, ...CATALOG };
    const term = this.#term;
    if (!term || term.aborted) return this.#follower.follow(name, catalog, log, signal);
    const reconcile = this.#lead(name, catalog, log, AbortSignal.any([signal, term]));
    this.#leading.add(reconcile);
    try {
      return await reconcile;
    } catch (err) {
      if (signal.aborted || !(term.aborted || isLost(err))) throw err;
      log.debug({ reason: getErrorMessage(err) }, "reconcile aborted: this process lost leadership");
      return { requeueAfterMs: LOST_MS };
    } finally {
      this.#leading.delete(reconcile);
    }
  }

  async #lead(name: string, catalog: Readonly<ClusterCatalog> | undefined, log: Logger, signal: AbortSignal): Promise<StepResult> {
    const lost = catalog && (await this.#lost.replace(name, catalog, log, signal));
    if (lost === "leadership yielded") return { requeueAfterMs: LOST_MS };
    if (lost === "pending") return { isPending: true };
    return this.#leader.reconcile(name, catalog, log, signal);
  }
}

function isLost(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause) if (e instanceof LeadershipLost) return true;
  return false;
}

/** Returns the folders for unpacked images and for stored content inside a cache folder. */
export function getCacheFolders(cacheDir: string): { unpack: string; catalogs: string } {
  return { unpack: join(cacheDir, "unpack"), catalogs: join(cacheDir, "catalogs") };
}
