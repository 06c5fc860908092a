import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { EventSink } from "../../api/events.ts";
import { type Clock, systemClock } from "../../async/clock.ts";
import { Controller, type ReconcileContext, type ReconcileOutcome } from "../../controller/controller.ts";
import type { Informer } from "../../controller/informer.ts";
import { OptionalObject } from "../../controller/optionalObject.ts";
import { WorkQueue } from "../../controller/workQueue.ts";
import type { Client } from "../../kube/client.ts";
import type { OperatorStatus } from "../../openshift/clusterOperatorStatus.ts";
import { type Verdict, gateDegradedFrom, upgradeableFrom, verdictOn } from "../../openshift/upgradeable.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type Metrics, controllerMetrics, queueMetrics } from "../../telemetry/metrics.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";
import type { InstalledReleases, ReleasesQuestion } from "../installed/installedReleases.ts";
import { ClusterOperatorWriter } from "./clusterOperatorWriter.ts";
import type { ClusterVersionReader } from "./clusterVersionSource.ts";
import { ControllerDeployments } from "./controllerDeployments.ts";
import { GateMetrics } from "./gateMetrics.ts";
import { CLUSTER_OPERATOR, type ClusterOperatorMode, type GateMode, OLM, gateModeFrom } from "./gateMode.ts";
import { type OperatorSettings, operatorStatusFrom } from "./operatorStatus.ts";
import { Remedies, type RemedyFinder } from "./remedies.ts";

/** How ClusterOperator `olm` is written. */
export interface ClusterUpgradeSettings extends OperatorSettings {
  mode: ClusterOperatorMode;
}

/** What the gate is built from. */
export interface ClusterUpgradeGateOptions {
  client: Pick<Client, "list" | "watch" | "resourceFor" | "get" | "apply" | "patch">;
  settings: ClusterUpgradeSettings;
  systemNamespace: string;
  extensions: Pick<Informer<ClusterExtension>, "list" | "onEvent" | "synced">;
  clusterVersion: ClusterVersionReader;
  releases: Pick<InstalledReleases, "of" | "onChange" | "synced">;
  findRemedy: RemedyFinder;
  events: EventSink;
  log: Logger;
  metrics: Metrics;
  clock?: Clock;
}

/** Name of the controller in logs and metrics. */
const NAME = "controller-operator-cluster-upgrade-controller";
/** The one thing to work on. */
const KEY = CLUSTER_OPERATOR.name;
/** The first change of several is answered at once, the others together after this time. */
const COALESCE_MS = 200;
const RESYNC_MS = 600_000;
const BASE_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 60_000;

/**
 * Tells the cluster whether it may be upgraded to its next minor version, by the maxima that the installed bundles state:
 * in ClusterOperator `olm` where nobody else does, and in metrics everywhere.
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
  readonly #metrics: GateMetrics;
  readonly #queue: WorkQueue;
  readonly #controller: Controller;
  #ready = false;
  #evaluatedAt = Number.NEGATIVE_INFINITY;
  #outdatedAt: number;
  #saidMode = "";

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
    this.#metrics = new GateMetrics(metrics);
    this.#queue = new WorkQueue({
      baseDelayMs: BASE_BACKOFF_MS,
      maxDelayMs: MAX_BACKOFF_MS,
      clock,
      metrics: queueMetrics(metrics, NAME),
    });
    this.#controller = new Controller({
      name: NAME,
      queue: this.#queue,
      workers: 1,
      log,
      metrics: controllerMetrics(metrics, NAME),
      reconcile: (_key, context) => this.#evaluate(context),
    });
    this.#listen();
  }

  /** Runs until `signal` aborts. Nothing is written before extensions, releases and the cluster's version have been seen once. */
  async run(signal: AbortSignal): Promise<void> {
    const follows = this.#options.settings.mode === "off" ? [] : [this.#clusterOperator.run(signal), this.#olm.run(signal)];
    await Promise.all([...follows, this.#work(signal)]);
    await this.#deployments.ended();
  }

  /** Tells that the answer of `findRemedy` may be another one by now. */
  remediesChanged(): void {
    this.#outdateRemedies();
    this.#trigger();
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { extensions, clusterVersion } = this.#options;
    await Promise.race([Promise.all([extensions.synced, this.#releases.synced, clusterVersion.synced]), aborted(signal)]);
    if (signal.aborted) return;
    this.#ready = true;
    this.#trigger();
    await this.#controller.run(signal);
  }

  #listen(): void {
    const trigger = (): void => this.#trigger();
    const { extensions, clusterVersion } = this.#options;
    extensions.onEvent(({ type, object, old }) => {
      if (type !== "update" || !old || remedyInput(old) !== remedyInput(object)) this.remediesChanged();
    });
    clusterVersion.onChange(() => this.remediesChanged());
    this.#releases.onChange(trigger);
    this.#remedies.onChange(trigger);
    this.#deployments.onChange(trigger);
    this.#clusterOperator.onChange(trigger);
    this.#olm.onChange(trigger);
  }

  #trigger(): void {
    if (this.#ready) this.#queue.addAfter(KEY, this.#evaluatedAt + COALESCE_MS - this.#clock.now());
  }

  async #evaluate({ log, signal }: ReconcileContext): Promise<ReconcileOutcome> {
    this.#evaluatedAt = this.#clock.now();
    const { extensions, clusterVersion, settings } = this.#options;
    const releases = this.#releases.of(extensions.list().map(questionAbout));
    if (!releases) return undefined; // once they are read there is another evaluation
    const mode = gateModeFrom(settings.mode, this.#clusterOperator.state, this.#olm.state);
    this.#tellMode(mode, log);
    const isActive = mode.kind === "active";
    const cluster = isActive ? requireVersion(clusterVersion.current()) : clusterVersion.current();
    const verdicts = releases.map((release) => verdictOn(release, cluster));
    const remedies = isActive ? this.#remediesFor(verdicts, signal) : undefined;
    const upgradeable = upgradeableFrom(verdicts, cluster, remedies);
    const counts = isActive || cluster.kind === "known";
    this.#metrics.report(verdicts, cluster, counts ? upgradeable.status === "True" : undefined);
    if (!isActive) return { requeueAfterMs: RESYNC_MS };
    if (!this.#deployments.known(signal)) return undefined; // there is another evaluation then
    const found = {
      conditions: [upgradeable, gateDegradedFrom(verdicts, cluster)],
      deployment: (name: string) => this.#deployments.get(name),
      cluster,
      unmanaged: mode.unmanaged,
    };
    const statusFrom = (before: unknown): OperatorStatus => operatorStatusFrom(before, found, this.#options, new Date());
    const { nextCheckAfterMs = RESYNC_MS } = await this.#writer.write(statusFrom, { log, signal });
    return { requeueAfterMs: Math.min(nextCheckAfterMs, RESYNC_MS) };
  }

  #remediesFor(verdicts: readonly Verdict[], signal: AbortSignal): ReadonlyMap<string, string> {
    if (this.#clock.now() - this.#outdatedAt >= RESYNC_MS) this.#outdateRemedies();
    const inTheWay = verdicts.filter(({ kind, bundle }) => kind === "blocked" || (kind === "error" && bundle !== ""));
    return this.#remedies.of(inTheWay, signal);
  }

  #outdateRemedies(): void {
    this.#outdatedAt = this.#clock.now();
    this.#remedies.outdate();
  }

  /** Says once who writes the ClusterOperator from now on. */
  #tellMode(mode: GateMode, log: Logger): void {
    const said = `${mode.kind}: ${mode.because}`;
    if (said === this.#saidMode) return;
    this.#saidMode = said;
    log[mode.kind === "undecided" ? "debug" : "info"]({ mode: mode.kind, reason: mode.because }, "cluster upgrade gate");
  }
}

/** What of an extension decides about what lifts its block; other changes of its status change nothing for the gate. */
function remedyInput({ metadata: { uid, generation = 0 }, status }: ClusterExtension): string {
  return `${uid}/${generation}/${status?.install?.bundle.name}`;
}

function questionAbout({ metadata, status }: ClusterExtension): ReleasesQuestion {
  const { name, uid = "", deletionTimestamp } = metadata;
  return { name, uid, installed: status?.install?.bundle, isDeleted: deletionTimestamp !== undefined };
}

/** Where a ClusterOperator is written there is an OpenShift cluster, and it has a version, whether it is seen or not. */
function requireVersion(version: ClusterVersion): ClusterVersion {
  return version.kind === "none" ? { kind: "unknown", because: "this cluster has ClusterOperators and no ClusterVersion" } : version;
}

/** Settles when `signal` aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
