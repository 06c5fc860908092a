import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import {
  ANNOTATION_ROLLBACK_TO,
  API_VERSION,
  CLUSTER_CATALOG,
  CLUSTER_EXTENSION,
  ConditionType,
  EXTENSION_PERMISSIONS,
  Reason,
} from "../api/constants.ts";
import type { ExtensionPermissions } from "../api/extensionPermissions.ts";
import { systemClock } from "../async/clock.ts";
import { Controller, type ReconcileContext, type ReconcileOutcome } from "../controller/controller.ts";
import { Informer, withoutBulk } from "../controller/informer.ts";
import { KeyedTimers, WorkQueue } from "../controller/workQueue.ts";
import { isRetryable } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { EventRecorder } from "../kube/events.ts";
import { ServiceAccountTokens } from "../kube/tokens.ts";
import { registerPullMetrics } from "../oci/pull/pullPool.ts";
import { findLastManager } from "../release/managedFields.ts";
import type { ResolutionRecord } from "../resolve/resolutionRecord.ts";
import { registerControllerMetrics, registerQueueMetrics } from "../telemetry/metrics.ts";
import { FULL_EVERY } from "./apply/drift.ts";
import { Handovers } from "./apply/handovers.ts";
import { BundleImages } from "./bundles/bundleImages.ts";
import { CatalogPackages } from "./catalogs/catalogPackages.ts";
import { ObjectChecker } from "./crds/existingObjects.ts";
import { StorageMigrator } from "./crds/storageMigrator.ts";
import { ClusterApis } from "./dependencies/clusterApis.ts";
import { Dependencies } from "./dependencies/dependencies.ts";
import { describeRemedy, replayResolution } from "./dryResolution.ts";
import { enqueueOnChanges } from "./eventHandlers.ts";
import { newExtensionReconciler } from "./extensionReconciler.ts";
import { ClusterUpgradeGate } from "./openshift/clusterUpgradeGate.ts";
import type { OperatorControllerOptions } from "./operatorControllerOptions.ts";
import { getControllerWatchIdentity, Identities } from "./permissions/identity.ts";
import { ManagedPermissions } from "./permissions/managedPermissions.ts";
import type { Reconciler } from "./reconcile/reconciler.ts";
import { InstalledBundles, InstalledReleases } from "./releases/installedReleases.ts";
import { ObjectSetImport } from "./releases/objectSetImport.ts";
import { ObjectSets } from "./releases/objectSets.ts";
import { InstalledSummaryCache } from "./releases/releaseReader.ts";
import { ReleaseStore, StreamingCodec } from "./releases/releaseStore.ts";
import { ConditionPoller, findWaitingError } from "./state/conditionPoller.ts";
import { ExtensionCache } from "./state/extensionCache.ts";
import { ExtensionMetrics } from "./state/extensionMetrics.ts";
import { createHidingEvents } from "./state/hiddenValues.ts";
import { ObjectWatches } from "./watches/objectWatches.ts";
import { OperatorConditions } from "./watches/operatorConditions.ts";
import { SourceWatches } from "./watches/sourceWatches.ts";
import { registerWatchMetrics } from "./watches/streamPool.ts";

const EXTENSION = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;
const CATALOG = { apiVersion: API_VERSION, kind: CLUSTER_CATALOG } as const;
/** Name of the controller in logs and metrics, the same as in the Go implementation. */
const NAME = "controller-operator-cluster-extension-controller";
/** Several changes of an extension's objects within this time cause only one health check, in milliseconds. */
const HEALTH_CHANGED_MS = 250;
/** Maximum time to wait for pending Events when the controller stops, in milliseconds. */
const FLUSH_MS = 1_000;

/** Watches ClusterExtensions and ClusterCatalogs, and reconciles every ClusterExtension. */
export class OperatorController {
  readonly #options: OperatorControllerOptions;
  readonly #extensions: Informer<ClusterExtension>;
  readonly #catalogs: Informer<ClusterCatalog>;
  readonly #contents: CatalogPackages;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  readonly #events: EventRecorder;
  readonly #managed: ManagedPermissions;
  /** Reports decisions of permission-manager; undefined if it does not run. */
  readonly #permissions: Informer<ExtensionPermissions> | undefined;
  readonly #identities: Identities;
  readonly #memory = new ExtensionCache();
  readonly #handovers = new Handovers(() => this.#extensions.list());
  readonly #metrics: ExtensionMetrics;
  readonly #releases: ReleaseStore;
  readonly #watches: ObjectWatches;
  readonly #sources: SourceWatches;
  /** Timers that enqueue extensions after watch events. */
  readonly #watchTimers: KeyedTimers;
  /** Timers that enqueue extensions to check their certificates. */
  readonly #certificateTimers: KeyedTimers;
  readonly #rechecks: ConditionPoller;
  readonly #reconciler: Reconciler;
  readonly #objectSets: ObjectSets;
  readonly #operatorConditions: OperatorConditions;
  readonly #installedReleases: InstalledReleases;
  readonly #installed: InstalledBundles;
  readonly #apis: ClusterApis;
  readonly #dependencies: Dependencies;
  readonly #gate: ClusterUpgradeGate;
  readonly #images: BundleImages;
  readonly #storageMigrator = new StorageMigrator();
  readonly #objectChecker = new ObjectChecker(systemClock);

  constructor(options: OperatorControllerOptions) {
    this.#options = options;
    const { client, log, metrics, maxBackoffMs, recheckIntervalMs } = options;
    this.#extensions = new Informer<ClusterExtension>(client, EXTENSION, { transform: withoutBulk }, log);
    this.#catalogs = new Informer<ClusterCatalog>(client, CATALOG, { transform: withoutBulk }, log);
    this.#contents = new CatalogPackages(options.packages);
    this.#queue = new WorkQueue({ maxDelayMs: maxBackoffMs, metrics: registerQueueMetrics(metrics, NAME) });
    this.#rechecks = new ConditionPoller({ intervalMs: recheckIntervalMs, onOver: (name) => this.#queue.add(name) });
    this.#events = new EventRecorder(client, { component: "operator-controller", log });
    this.#managed = new ManagedPermissions({
      client,
      mode: options.managedPermissions,
      find: (name) => this.#permissions?.get(name),
    });
    if (options.managedPermissions !== "off") {
      this.#permissions = new Informer<ExtensionPermissions>(client, EXTENSION_PERMISSIONS, { transform: withoutBulk }, log);
      this.#permissions.onEvent(({ type, object }) => {
        // A new request without status is the controller's own.
        // After the start, the event of the extension itself decides the priority.
        if (type !== "add") this.#queue.add(object.metadata.name);
        else if (object.status !== undefined) this.#queue.add(object.metadata.name, "low");
      });
    }
    this.#identities = new Identities(client, new ServiceAccountTokens(client), this.#managed);
    this.#metrics = new ExtensionMetrics(metrics);
    const summaries = new InstalledSummaryCache();
    this.#releases = new ReleaseStore(client, options.systemNamespace, summaries, new StreamingCodec());
    this.#watchTimers = new KeyedTimers(systemClock, (name) => this.#queue.add(name));
    this.#certificateTimers = new KeyedTimers(systemClock, (name) => this.#queue.add(name));
    const requeueAfter = (name: string, inMs: number): void => this.#watchTimers.set(name, inMs);
    const shared = options.sharedWatches ? getControllerWatchIdentity(client) : undefined;
    this.#watches = new ObjectWatches({ log, requeueAfter, retryRefusedMs: options.driftIntervalMs, shared });
    this.#sources = new SourceWatches({ log, requeueAfter, retryRefusedMs: options.driftIntervalMs });
    registerWatchMetrics(metrics, () => [this.#watches.states, this.#sources.states]);
    this.#apis = new ClusterApis({ client, extensions: this.#extensions, log });
    this.#objectSets = new ObjectSets({ client, log });
    this.#operatorConditions = new OperatorConditions({ client, log });
    this.#installedReleases = new InstalledReleases({
      client,
      objectSets: this.#objectSets,
      store: this.#releases,
      cache: summaries,
      systemNamespace: options.systemNamespace,
      log,
    });
    this.#installedReleases.onSecret((name) => {
      if (this.#memory.awaitsReleases(name)) this.#queue.add(name);
    });
    this.#installed = new InstalledBundles({ extensions: this.#extensions, releases: this.#installedReleases });
    this.#dependencies = new Dependencies({
      client,
      events: this.#events,
      extensions: this.#extensions,
      memory: this.#memory,
      installed: this.#installed,
      apis: this.#apis,
      contents: this.#contents,
      catalogs: this.#catalogs,
      reader: options.packages,
      enqueue: (name) => this.#queue.add(name),
    });
    this.#images = new BundleImages(options.puller, (name) => this.#queue.add(name));
    registerPullMetrics(metrics, () => this.#images.pulls);
    this.#reconciler = this.#newReconciler();
    this.#gate = this.#newGate();
    this.#controller = this.#newController();
    enqueueOnChanges({
      clusterVersion: options.clusterVersion,
      clusterProxy: options.clusterProxy,
      operatorConditions: this.#operatorConditions,
      extensions: this.#extensions,
      catalogs: this.#catalogs,
      contents: this.#contents,
      dependencies: this.#dependencies,
      watches: this.#watches,
      memory: this.#memory,
      gate: this.#gate,
      certificateTimers: this.#certificateTimers,
      enqueue: (name, priority) => this.#queue.add(name, priority),
      healthChanged: (name) => this.healthChanged(name),
    });
  }

  /** Whether both informers have read the cluster's state once. */
  get ready(): boolean {
    return this.#extensions.hasSynced && this.#catalogs.hasSynced;
  }

  /** Schedules a health check of an extension after one of its objects has changed. */
  healthChanged(extension: string): void {
    this.#queue.addAfter(extension, Math.max(this.#memory.healthChanged(extension, Date.now()), HEALTH_CHANGED_MS));
  }

  /**
   * Repeats the resolution of an extension with cached data and returns its record; undefined if the extension does not exist.
   * @throws the errors of `replayResolution`.
   */
  async resolutionOf(name: string, signal: AbortSignal): Promise<ResolutionRecord | undefined> {
    const extension = this.#extensions.get(name);
    const now = this.#options.now ?? Date.now;
    const sources = { catalogs: this.#catalogs, contents: this.#contents, choice: this.#dependencies.choice.copy(), now };
    return extension && (await replayResolution(extension, sources, this.#options.clusterVersion.current(), signal));
  }

  /** Retries all failing extensions immediately, after a change such as new credentials. */
  retryFailing(): void {
    this.#images.renew();
    for (const { metadata, status } of this.#extensions.list())
      if (findCondition(status?.conditions, ConditionType.Progressing)?.reason === Reason.Retrying) this.#queue.add(metadata.name);
  }

  /** Runs until `signal` aborts and the running reconciles have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const informers = [this.#extensions, this.#catalogs];
    const work = async (): Promise<void> => {
      const { clusterVersion, clusterProxy } = this.#options;
      const settings = [clusterVersion.synced, clusterProxy?.synced, this.#operatorConditions.synced, this.#objectSets.synced];
      await Promise.all([...informers.map((informer) => informer.synced), ...settings]);
      await this.#controller.run(signal);
      await Promise.all([this.#storageMigrator.end(), this.#objectChecker.end()]);
      this.#rechecks.endAll();
      await this.#images.close();
    };
    const followers = [
      ...informers,
      ...(this.#permissions ? [this.#permissions] : []),
      this.#objectSets,
      this.#operatorConditions,
      this.#installedReleases,
      this.#apis,
      this.#gate,
    ];
    await Promise.all([...followers.map((follower) => follower.run(signal)), work()]);
    this.#watches.close();
    this.#sources.close();
    this.#dependencies.close();
    this.#contents.close();
    this.#watchTimers.clear();
    this.#certificateTimers.clear();
    await Promise.race([this.#events.flush(), sleep(FLUSH_MS, undefined, { ref: false })]);
  }

  /**
   * Reconciles one extension. Reads it from the API server, because the informer's copy may be older than the last write of the controller. After a
   * terminal error, and while it waits for a change in the cluster, the extension is still reconciled at each interval to correct drift.
   */
  async #reconcile(name: string, { log, signal }: ReconcileContext): Promise<ReconcileOutcome> {
    this.#rechecks.end(name);
    const extension = await this.#options.client.get<ClusterExtension>({ ...EXTENSION, name }, { signal });
    if (!extension) {
      await this.#forget(name);
      return undefined;
    }
    const isDeleted = extension.metadata.deletionTimestamp !== undefined;
    if (isDeleted) for (const watches of [this.#watches, this.#sources]) watches.forget(name);
    if (isDeleted || extension.spec?.suspend) await this.#images.cancel(name);
    // Must be read here, because the reconcile gets the extension without managedFields.
    this.#memory.of(extension).changedBy = findLastChange(extension);
    this.#reportIgnoredAccount(extension);
    try {
      const outcome = await this.#reconciler.reconcile(this.#managed.complete(withoutBulk(extension)), log, signal);
      if (outcome?.awaits && !signal.aborted) this.#rechecks.begin(name, outcome.awaits);
      return outcome;
    } catch (err) {
      await this.#images.cancelOutdated(extension);
      const waiting = findWaitingError(err);
      if (waiting && !signal.aborted) {
        log.info({ reason: waiting.reason }, "waiting for a change in the cluster");
        this.#rechecks.begin(name, waiting.isOver, waiting.everyMs);
        return { requeueAfterMs: this.#resyncMs() };
      }
      const isBlind = this.#sources.unwatched(name).length > 0;
      if (!isRetryable(err) && (extension.status?.install || isBlind)) this.#queue.addAfter(name, this.#resyncMs());
      throw err;
    }
  }

  /** Records an Event once for each generation of an extension whose ServiceAccount has no effect. */
  #reportIgnoredAccount(extension: Readonly<ClusterExtension>): void {
    const entry = this.#memory.of(extension);
    const { generation = 0 } = extension.metadata;
    if (!this.#managed.ignoresAccount(extension) || entry.reported.accountAt === generation) return;
    entry.reported.accountAt = generation;
    const message = `spec.serviceAccount ${goQuote(extension.spec.serviceAccount?.name ?? "")} has no effect: permission-manager grants the permissions of all extensions`;
    this.#events.record(extension, "Warning", "ServiceAccountIgnored", message);
  }

  async #findRemedy(name: string, bundles: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    const extension = this.#extensions.get(name);
    const sources = { catalogs: this.#catalogs, contents: this.#contents, now: this.#options.now ?? Date.now };
    return extension && describeRemedy(extension, sources, this.#options.clusterVersion.current(), signal, bundles);
  }

  /** Whether an extension needs a reconcile at each drift interval, because no event reports a change of something that it depends on. */
  #needsFrequentReconcile(extension: Readonly<ClusterExtension>): boolean {
    const { permissions, hasUnavailableCatalogs = false } = this.#memory.of(extension);
    return (
      permissions !== undefined ||
      hasUnavailableCatalogs ||
      !this.#watches.covers(extension.metadata.name) ||
      this.#sources.unwatched(extension.metadata.name).length > 0
    );
  }

  #resyncMs(intervals = 1): number {
    return this.#options.driftIntervalMs * intervals * (1 + Math.random() / 10);
  }

  async #forget(name: string): Promise<void> {
    this.#memory.forget(name);
    this.#handovers.forget(name);
    this.#watches.forget(name);
    this.#sources.forget(name);
    this.#identities.forget(name);
    this.#metrics.forget(name);
    await this.#images.forget(name);
  }

  #newReconciler(): Reconciler {
    return newExtensionReconciler(this.#options, {
      awaitBlock: (release, signal) => this.#gate.awaitBlock(release, signal),
      extensions: this.#extensions,
      catalogs: this.#catalogs,
      contents: this.#contents,
      events: createHidingEvents(this.#events, this.#memory),
      images: this.#images,
      identities: this.#identities,
      managed: this.#managed,
      memory: this.#memory,
      handovers: this.#handovers,
      metrics: this.#metrics,
      releases: this.#releases,
      objectSets: new ObjectSetImport({
        client: this.#options.client,
        sets: this.#objectSets,
        store: this.#releases,
        events: this.#events,
        systemNamespace: this.#options.systemNamespace,
      }),
      watches: this.#watches,
      sources: this.#sources,
      storageMigrator: this.#storageMigrator,
      objectChecker: this.#objectChecker,
      apis: this.#apis,
      operatorConditions: this.#operatorConditions,
      choice: this.#dependencies.choice,
      created: this.#dependencies.created,
      plans: this.#dependencies.plans,
      dependents: this.#dependencies.dependents,
      requeueAfter: (name, afterMs) => this.#queue.addAfter(name, afterMs),
      enqueueForCertificates: (name, inMs) => this.#certificateTimers.set(name, inMs),
      resyncMs: (extension) => this.#resyncMs(this.#needsFrequentReconcile(extension) ? 1 : FULL_EVERY),
      forget: (name) => this.#forget(name),
    });
  }

  #newGate(): ClusterUpgradeGate {
    const { client, clusterUpgrade, systemNamespace, clusterVersion, log, metrics } = this.#options;
    return new ClusterUpgradeGate({
      client,
      settings: clusterUpgrade,
      systemNamespace,
      extensions: this.#extensions,
      clusterVersion,
      releases: this.#installedReleases,
      findRemedy: (name, bundles, signal) => this.#findRemedy(name, bundles, signal),
      operatorConditions: this.#operatorConditions,
      events: this.#events,
      log,
      metrics,
    });
  }

  #newController(): Controller {
    const { workers, slowReconcileMs, log, metrics } = this.#options;
    return new Controller({
      name: NAME,
      queue: this.#queue,
      workers,
      ...(slowReconcileMs === undefined ? {} : { slowAfterMs: slowReconcileMs }),
      log,
      metrics: registerControllerMetrics(metrics, NAME),
      reconcile: (name, context) => this.#reconcile(name, context),
    });
  }
}

/** Returns the field manager that last changed the extension's spec or, if it is pinned to a revision, the pin. */
function findLastChange({ metadata }: Readonly<ClusterExtension>): string | undefined {
  const { managedFields = [], annotations = {} } = metadata;
  const isPinned = annotations[ANNOTATION_ROLLBACK_TO] !== undefined;
  return findLastManager(managedFields, isPinned ? ["f:metadata", "f:annotations", `f:${ANNOTATION_ROLLBACK_TO}`] : ["f:spec"]);
}
