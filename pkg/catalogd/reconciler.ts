import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import { FINALIZER_DELETE_SERVER_CACHE } from "../api/constants.ts";
import type { ObjectMeta } from "../api/k8s.ts";
import { type StatusWriter, UpdateError } from "../controller/statusWriter.ts";
import type { StepResult, StepSequence } from "../controller/stepSequence.ts";
import { isRetryable } from "../errors/errors.ts";
import { formatTime } from "../golang/time.ts";
import type { Logger } from "../telemetry/log.ts";
import { computeNextPollMs, type PollRecord } from "./catalogImages.ts";
import type { CatalogMetadata } from "./finalizer.ts";
import { newStarted, type Phase, type Started } from "./phases.ts";
import { computeCatalogStatus } from "./status.ts";
import type { CatalogContent } from "./store/content.ts";

/** Services that reconciles of catalogs use. */
export interface CatalogServices {
  statuses: Pick<StatusWriter<ClusterCatalog>, "write">;
  metadata: CatalogMetadata;
  contents: { get(name: string): CatalogContent | undefined };
  steps: StepSequence<Started, Phase, Phase>;
  /** Poll records by catalog name, read by the steps and updated by the reconciler. */
  polls: Map<string, PollRecord>;
  /** Returns the base URL of a catalog's content. */
  baseOf: (name: string) => string;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  random: () => number;
  /** Requeues a catalog after a terminal error, which is not retried otherwise. */
  requeueAfter: (name: string, afterMs: number) => void;
}

/**
 * Runs the steps for one catalog, then writes its status once if it differs. Finally removes the
 * finalizer if possible.
 */
export class CatalogReconciler {
  readonly #services: CatalogServices;

  constructor(services: CatalogServices) {
    this.#services = services;
  }

  /** @throws the error of the steps, after it has been written to the conditions. */
  async reconcile(catalog: Readonly<ClusterCatalog>, log: Logger, signal: AbortSignal): Promise<StepResult> {
    const { name } = catalog.metadata;
    const outcome = await this.#services.steps.run(newStarted(catalog), { log, signal });
    const { phase } = outcome;
    if (outcome.kind === "failed" && signal.aborted) throw outcome.error;
    if (outcome.kind === "stopped" && !outcome.writesStatus) return outcome.result;
    const error = outcome.kind === "failed" ? outcome.error.cause : undefined;
    this.#remember(phase, error);
    const resourceVersion = await this.#writeStatus(phase, error, log);
    if (error !== undefined) {
      if (!isRetryable(error)) this.#schedulePollAfterFailure(catalog);
      throw error;
    }
    if (phase.phase === "fetching") return outcome.kind === "stopped" ? outcome.result : undefined;
    if (phase.phase === "withdrawn")
      await this.#removeFinalizer({ ...catalog, metadata: { ...catalog.metadata, ...resourceVersion } }, signal);
    return this.#nextPoll(name, catalog.spec.source.image?.pollIntervalMinutes);
  }

  /** A failure deletes the poll record, so that the next attempt resolves the image again. */
  #remember(phase: Phase, error: unknown): void {
    const { polls, now } = this.#services;
    const { metadata, spec } = phase.catalog;
    const { name, generation = 0 } = metadata;
    const ref = spec.source.image?.ref ?? "";
    if (error === undefined && phase.phase === "fetching") return;
    if (error !== undefined || phase.phase !== "stored") polls.delete(name);
    else if (phase.resolved) polls.set(name, { ref, canonical: phase.content.origin.ref, generation, at: now() });
  }

  #nextPoll(name: string, intervalMinutes: number | undefined): StepResult {
    const { polls, now, random } = this.#services;
    const last = polls.get(name);
    const requeueAfterMs = last && computeNextPollMs(last.at, intervalMinutes, now(), random());
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  /**
   * Continues polling after a terminal error, because the next lookup may succeed. In Go, a
   * terminal error silently ends polling.
   */
  #schedulePollAfterFailure({ metadata: { name }, spec }: Readonly<ClusterCatalog>): void {
    const { requeueAfter, now, random } = this.#services;
    const afterMs = computeNextPollMs(now(), spec.source.image?.pollIntervalMinutes, now(), random());
    if (afterMs !== undefined) requeueAfter(name, afterMs);
  }

  /** Removes the finalizer, so that the catalog can be deleted. @throws UpdateError */
  async #removeFinalizer(catalog: Readonly<ClusterCatalog>, signal: AbortSignal): Promise<void> {
    const { finalizers = [] } = catalog.metadata;
    const others = finalizers.filter((finalizer) => finalizer !== FINALIZER_DELETE_SERVER_CACHE);
    try {
      await this.#services.metadata.set(catalog, others.length < finalizers.length ? others : undefined, signal);
    } catch (err) {
      throw new UpdateError("finalizers", err);
    }
  }

  /** @returns the object's new resourceVersion; undefined if there was nothing to write. */
  async #writeStatus(phase: Phase, error: unknown, log: Logger): Promise<Pick<ObjectMeta, "resourceVersion">> {
    const { statuses, contents, baseOf, now } = this.#services;
    const { catalog } = phase;
    const { name } = catalog.metadata;
    const content =
      phase.phase === "withdrawn" ? undefined : (contents.get(name) ?? (phase.phase === "stored" ? phase.content : undefined));
    const status = computeCatalogStatus(phase, { content, error, base: baseOf(name), now: formatTime(new Date(now())) });
    const written = await statuses.write(catalog, status, log, error);
    return written.kind === "written" && written.resourceVersion !== undefined ? { resourceVersion: written.resourceVersion } : {};
  }
}
