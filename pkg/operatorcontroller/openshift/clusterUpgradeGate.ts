import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { EventSink } from "../../api/events.ts";
import { type Clock, Deadline, systemClock } from "../../async/clock.ts";
import { waitForAbort } from "../../async/concurrency.ts";
import { Controller, type ReconcileContext, type ReconcileOutcome } from "../../controller/controller.ts";
import type { Informer } from "../../controller/informer.ts";
import { OptionalObject } from "../../controller/optionalObject.ts";
import { WorkQueue } from "../../controller/workQueue.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import type { OperatorStatus } from "../../openshift/clusterOperatorStatus.ts";
import {
  type ActiveRelease,
  assessRelease,
  buildGateDegradedCondition,
  buildUpgradeableCondition,
  type ReleaseVerdict,
} from "../../openshift/upgradeable.ts";
import { buildVetoCondition, type OperatorVeto } from "../../openshift/vetoCondition.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type GaugeMetric, type Labels, type Metrics, registerControllerMetrics, registerQueueMetrics } from "../../telemetry/metrics.ts";
import { type ClusterVersion, formatMinorVersion } from "../../version/clusterVersion.ts";
import type { InstalledReleases, ReleasesQuery } from "../releases/installedReleases.ts";
import { BlockReports, isBlocking } from "./blockReports.ts";
import {
  buildOperatorStatus,
  CLUSTER_OPERATOR,
  type ClusterOperatorMode,
  ClusterOperatorWriter,
  ControllerDeployments,
  chooseGateMode,
  type GateMode,
  OLM,
  type OperatorSettings,
} from "./clusterOperator.ts";
import type { ClusterVersionReader } from "./clusterVersion.ts";

/** Reports as metrics whether extensions block cluster upgrades, including on clusters without ClusterOperator. */
export class GateMetrics {
  readonly #blocked: GaugeMetric;
  readonly #upgradeable: GaugeMetric;
  /** The reported labels. The key contains extension, bundle and maximum. */
  #shown = new Map<string, Labels>();

  constructor(metrics: Metrics) {
    this.#blocked = metrics.gauge({
      name: "cluster_upgrade_blocked",
      help: "Whether an installed bundle with a maximum OpenShift version blocks an upgrade of the cluster to its next minor version (1) or not (0); label max is unknown if the maximum cannot be read",
      labels: ["extension", "bundle", "max"],
    });
    this.#upgradeable = metrics.gauge({
      name: "cluster_upgradeable",
      help: "Whether the installed bundles allow an upgrade of the cluster to its next minor version (1) or not (0); absent if the cluster has no OpenShift version",
    });
    this.#upgradeable.remove({});
  }

  /** Updates the metrics. @param upgradeable undefined if unknown. */
  report(verdicts: readonly ReleaseVerdict[], cluster: ClusterVersion, upgradeable: boolean | undefined): void {
    const shown = new Map<string, Labels>();
    for (const verdict of verdicts) {
      if (verdict.kind === "unlimited") continue;
      const { extension, bundle } = verdict;
      const labels = { extension, bundle, max: verdict.kind === "error" ? "unknown" : formatMinorVersion(verdict.max) };
      shown.set(JSON.stringify(labels), labels);
      this.#blocked.set(isBlocking(verdict, cluster) ? 1 : 0, labels);
    }
    for (const [key, labels] of this.#shown) if (!shown.has(key)) this.#blocked.remove(labels);
    this.#shown = shown;
    if (upgradeable === undefined) this.#upgradeable.remove({});
    else this.#upgradeable.set(upgradeable ? 1 : 0);
  }
}

/**
 * Finds a remedy for bundles of an extension that block cluster upgrades, such as `version 1.1.0 of catalog "x" allows the cluster upgrade`; undefined if none
 * is known.
 */
export type RemedyFinder = (extension: string, bundles: readonly string[], signal: AbortSignal) => Promise<string | undefined>;

/** An installed bundle that blocks cluster upgrades. */
export interface BlockingBundle {
  readonly extension: string;
  readonly bundle: string;
}

interface Remedy {
  /** Sorted. */
  readonly bundles: readonly string[];
  text: string | undefined;
  /** Whether a catalog or extension has changed since the last search. */
  outdated: boolean;
}

const REMEDY_TIMEOUT_MS = 10_000;

/** Searches for remedies in the background, one after another. A blocked upgrade is reported without waiting for the search. */
export class Remedies {
  readonly #find: RemedyFinder;
  readonly #log: Logger;
  readonly #known = new Map<string, Remedy>();
  readonly #handlers: (() => void)[] = [];
  #working = false;

  constructor(find: RemedyFinder, log: Logger) {
    this.#find = find;
    this.#log = log;
  }

  /** Calls `handler` whenever the result of `get` may have changed. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** Returns the known remedies by extension, and starts the search for missing remedies. Drops the remedies of extensions that no longer block. */
  get(blocking: readonly BlockingBundle[], signal: AbortSignal): ReadonlyMap<string, string> {
    const desired = Map.groupBy(blocking, ({ extension }) => extension);
    for (const extension of this.#known.keys()) if (!desired.has(extension)) this.#known.delete(extension);
    for (const [extension, ofExtension] of desired) {
      const bundles = ofExtension.map(({ bundle }) => bundle).sort();
      if (this.#known.get(extension)?.bundles.join() !== bundles.join())
        this.#known.set(extension, { bundles, text: undefined, outdated: true });
    }
    void this.#work(signal);
    return new Map([...this.#known].flatMap(([extension, { text }]) => (text === undefined ? [] : [[extension, text]])));
  }

  /** Marks all remedies as outdated after a change of catalogs or extensions. The next call of `get` searches again. */
  outdate(): void {
    for (const remedy of this.#known.values()) remedy.outdated = true;
  }

  async #work(signal: AbortSignal): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let next = this.#next(); next && !signal.aborted; next = this.#next()) await this.#search(...next, signal);
    this.#working = false;
  }

  #next(): [extension: string, remedy: Remedy] | undefined {
    return [...this.#known].find(([, { outdated }]) => outdated);
  }

  async #search(extension: string, remedy: Remedy, signal: AbortSignal): Promise<void> {
    remedy.outdated = false;
    let text: string | undefined;
    try {
      using deadline = new Deadline(signal, REMEDY_TIMEOUT_MS);
      text = await this.#find(extension, remedy.bundles, deadline.signal);
    } catch (err) {
      this.#log.debug({ extension, reason: getErrorMessage(err) }, "cannot search for a remedy");
      return;
    }
    if (this.#known.get(extension) !== remedy || remedy.text === text) return;
    remedy.text = text;
    for (const handler of this.#handlers) handler();
  }
}

/** The settings for ClusterOperator `olm`. */
export interface ClusterUpgradeSettings extends OperatorSettings {
  mode: ClusterOperatorMode;
  /** Whether condition Upgradeable of an OperatorCondition blocks upgrades of the cluster too, not only of its operator. Default: false */
  includesVetoes?: boolean;
}

/** The vetoes of installed operators. */
interface VetoSource {
  /** Resolves when the vetoes are known, or after some seconds without a response. */
  readonly synced: Promise<void>;
  /** Why the vetoes are unknown; undefined if they are known. */
  readonly unknownReason: string | undefined;
  /** Returns the OperatorConditions that do not allow an upgrade, including those of OLM v0. */
  listVetoes(): OperatorVeto[];
  /** Calls `handler` whenever the result of `listVetoes` may have changed. */
  onChange(handler: () => void): void;
}

/** The options of a ClusterUpgradeGate. */
export interface ClusterUpgradeGateOptions {
  client: Pick<Client, "list" | "watch" | "resourceFor" | "get" | "apply" | "patch">;
  settings: ClusterUpgradeSettings;
  systemNamespace: string;
  extensions: Pick<Informer<ClusterExtension>, "list" | "onEvent" | "synced">;
  clusterVersion: ClusterVersionReader;
  releases: Pick<InstalledReleases, "listActive" | "onChange" | "synced">;
  findRemedy: RemedyFinder;
  operatorConditions: VetoSource;
  events: EventSink;
  log: Logger;
  metrics: Metrics;
  clock?: Clock;
}

/** Name of the controller in logs and metrics. */
const NAME = "controller-operator-cluster-upgrade-controller";
/** The only key of the queue. */
const KEY = CLUSTER_OPERATOR.name;
/** Of several changes, the first is handled immediately and the others together after this time, in milliseconds. */
const COALESCE_MS = 200;
const RESYNC_MS = 600_000;
const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 60_000;

/**
 * Reports whether the cluster may be upgraded to its next minor version, according to the maximum OpenShift versions of the installed bundles:
 * in ClusterOperator `olm` unless cluster-olm-operator writes it, and always in metrics.
 */
export class ClusterUpgradeGate {
  readonly #options: ClusterUpgradeGateOptions;
  readonly #clock: Clock;
  readonly #clusterOperator: OptionalObject;
  readonly #olm: OptionalObject;
  readonly #deployments: ControllerDeployments;
  readonly #releases: ClusterUpgradeGateOptions["releases"];
  readonly #remedies: Remedies;
  readonly #writer: ClusterOperatorWriter;
  readonly #reports: BlockReports;
  readonly #metrics: GateMetrics;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  #ready = false;
  #evaluatedAt = Number.NEGATIVE_INFINITY;
  #outdatedAt: number;
  #loggedMode = "";

  constructor(options: ClusterUpgradeGateOptions) {
    this.#options = options;
    const { client, systemNamespace, releases, log, metrics, events, clock = systemClock } = options;
    this.#clock = clock;
    this.#outdatedAt = clock.now();
    this.#clusterOperator = new OptionalObject(client, CLUSTER_OPERATOR, { log, clock });
    this.#olm = new OptionalObject(client, OLM, { log, clock });
    this.#deployments = new ControllerDeployments({ client, systemNamespace, log, clock });
    this.#releases = releases;
    this.#remedies = new Remedies(options.findRemedy, log);
    this.#writer = new ClusterOperatorWriter({ client, events });
    this.#reports = new BlockReports(log);
    this.#metrics = new GateMetrics(metrics);
    this.#queue = new WorkQueue({
      baseDelayMs: BASE_BACKOFF_MS,
      maxDelayMs: MAX_BACKOFF_MS,
      clock,
      metrics: registerQueueMetrics(metrics, NAME),
    });
    this.#controller = new Controller({
      name: NAME,
      queue: this.#queue,
      workers: 1,
      log,
      metrics: registerControllerMetrics(metrics, NAME),
      reconcile: (_key, context) => this.#evaluate(context),
    });
    this.#listen();
  }

  /** Runs until `signal` aborts. Writes nothing until extensions, releases and the cluster version have been read once. */
  async run(signal: AbortSignal): Promise<void> {
    const follows = this.#options.settings.mode === "off" ? [] : [this.#clusterOperator.run(signal), this.#olm.run(signal)];
    await Promise.all([...follows, this.#work(signal)]);
    await this.#deployments.ended();
  }

  /** Marks remedies as outdated because the results of `findRemedy` may have changed. */
  remediesChanged(): void {
    this.#outdateRemedies();
    this.#trigger();
  }

  /**
   * Waits until ClusterOperator `olm` reports that a release blocks cluster upgrades, at most 30 seconds; not at all if the release does not block, or
   * if this program does not write the ClusterOperator. The release must be stored.
   */
  async awaitBlock(release: ActiveRelease, signal: AbortSignal): Promise<void> {
    await this.#reports.wait(release, requireVersion(this.#options.clusterVersion.current()), signal);
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { extensions, clusterVersion, operatorConditions, settings } = this.#options;
    const vetoes = settings.includesVetoes ? [operatorConditions.synced] : [];
    const synced = [extensions.synced, this.#releases.synced, clusterVersion.synced, ...vetoes];
    await Promise.race([Promise.all(synced), waitForAbort(signal)]);
    if (signal.aborted) return;
    this.#ready = true;
    this.#trigger();
    await this.#controller.run(signal);
  }

  #listen(): void {
    const trigger = (): void => this.#trigger();
    const { extensions, clusterVersion, operatorConditions, settings } = this.#options;
    extensions.onEvent(({ type, object, old }) => {
      if (type !== "update" || !old || getRemedyInput(old) !== getRemedyInput(object)) this.remediesChanged();
    });
    clusterVersion.onChange(() => this.remediesChanged());
    this.#releases.onChange(trigger);
    this.#remedies.onChange(trigger);
    this.#deployments.onChange(trigger);
    this.#clusterOperator.onChange(trigger);
    this.#olm.onChange(trigger);
    if (settings.includesVetoes) operatorConditions.onChange(trigger);
  }

  #trigger(): void {
    if (this.#ready) this.#queue.addAfter(KEY, this.#evaluatedAt + COALESCE_MS - this.#clock.now());
  }

  async #evaluate({ log, signal }: ReconcileContext): Promise<ReconcileOutcome> {
    this.#evaluatedAt = this.#clock.now();
    const { extensions, clusterVersion, settings } = this.#options;
    const releases = this.#releases.listActive(extensions.list().map(toReleasesQuery));
    if (!releases) return undefined; // the gate runs again when all releases have been read
    const olm = this.#olm.state;
    const mode = chooseGateMode(settings.mode, this.#clusterOperator.state, olm);
    this.#logMode(mode, log);
    const isActive = mode.kind === "active";
    const cluster = isActive ? requireVersion(clusterVersion.current()) : clusterVersion.current();
    const verdicts = releases.map((release) => assessRelease(release, cluster));
    const remedies = isActive ? this.#getRemedies(verdicts, signal) : undefined;
    const upgradeable = buildUpgradeableCondition(verdicts, cluster, remedies);
    const unknownReason = releases.length > 0 ? this.#options.operatorConditions.unknownReason : undefined;
    const vetoes = settings.includesVetoes ? [buildVetoCondition(this.#listVetoes(releases), unknownReason)] : [];
    const counts = isActive || cluster.kind === "known";
    const allows = [upgradeable, ...vetoes].every(({ status }) => status === "True");
    this.#metrics.report(verdicts, cluster, counts ? allows : undefined);
    if (mode.kind === "inactive") this.#reports.set(undefined, cluster);
    if (!isActive) return { requeueAfterMs: RESYNC_MS };
    if (!this.#deployments.known(signal)) return undefined; // the gate runs again when the Deployments are known
    const found = {
      conditions: [upgradeable, buildGateDegradedCondition(verdicts, cluster), ...vetoes],
      deployment: (name: string) => this.#deployments.get(name),
      cluster,
      unmanaged: mode.unmanaged,
      hasOlm: olm.kind === "present",
    };
    const statusFrom = (before: unknown): OperatorStatus => buildOperatorStatus(before, found, this.#options, new Date());
    const { status, nextCheckAfterMs = RESYNC_MS } = await this.#writer.write(statusFrom, { log, signal });
    this.#reports.set(mode.unmanaged ? undefined : verdicts, cluster);
    if (olm.kind === "present" && !mode.unmanaged) await this.#writer.writeOlm(olm.object, status, signal);
    return { requeueAfterMs: Math.min(nextCheckAfterMs, RESYNC_MS) };
  }

  /** Returns the vetoes of installed operators. An extension that was converted from OLM v0 keeps the OperatorCondition of OLM v0. */
  #listVetoes(releases: readonly { readonly extension: string; readonly bundle?: string }[]): OperatorVeto[] {
    const extensions = new Set(releases.map(({ extension }) => extension));
    const bundles = new Set(releases.map(({ bundle }) => bundle));
    const { operatorConditions } = this.#options;
    return operatorConditions
      .listVetoes()
      .filter(({ extension, name }) => (extension === undefined ? bundles.has(name) : extensions.has(extension)));
  }

  #getRemedies(verdicts: readonly ReleaseVerdict[], signal: AbortSignal): ReadonlyMap<string, string> {
    if (this.#clock.now() - this.#outdatedAt >= RESYNC_MS) this.#outdateRemedies();
    const blocking = verdicts.filter(({ kind, bundle }) => kind === "blocked" || (kind === "error" && bundle !== ""));
    return this.#remedies.get(blocking, signal);
  }

  #outdateRemedies(): void {
    this.#outdatedAt = this.#clock.now();
    this.#remedies.outdate();
  }

  /** Logs the mode if it has changed. */
  #logMode(mode: GateMode, log: Logger): void {
    const text = `${mode.kind}: ${mode.reason}`;
    if (text === this.#loggedMode) return;
    this.#loggedMode = text;
    log[mode.kind === "undecided" ? "debug" : "info"]({ mode: mode.kind, reason: mode.reason }, "cluster upgrade gate mode changed");
  }
}

/** Returns the part of an extension that affects its remedy. Other changes do not make the remedy outdated. */
function getRemedyInput({ metadata: { uid, generation = 0 }, status }: ClusterExtension): string {
  return `${uid}/${generation}/${status?.install?.bundle.name}`;
}

function toReleasesQuery({ metadata, status }: ClusterExtension): ReleasesQuery {
  const { name, uid = "", deletionTimestamp } = metadata;
  return { name, uid, installed: status?.install?.bundle, isDeleted: deletionTimestamp !== undefined };
}

/** Returns the version of a cluster with ClusterOperators. Such a cluster is an OpenShift cluster, so a missing version is `unknown`, not `none`. */
function requireVersion(version: ClusterVersion): ClusterVersion {
  return version.kind === "none" ? { kind: "unknown", reason: "this cluster has ClusterOperators but no ClusterVersion" } : version;
}
