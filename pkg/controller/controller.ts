import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../async/clock.ts";
import { getRestMs, isRetryable } from "../errors/errors.ts";
import { getRetryAfterMs } from "../kube/errors.ts";
import { getRegistryWaitMs } from "../oci/registry/registryError.ts";
import type { Logger } from "../telemetry/log.ts";
import type { ControllerMetrics } from "../telemetry/metrics.ts";
import type { WorkQueue } from "./workQueue.ts";

/**
 * Context of one reconcile. `log` has fields controller, object and reconcileID; `signal` aborts when the program
 * stops.
 */
export interface ReconcileContext {
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly reconcileID: string;
}

/**
 * Result of a reconcile: nothing, or a delay until the next reconcile. With `isPending`, work outside of the reconcile
 * has not ended yet, so that the back-off of the key does not change. The key must be added to the queue when that
 * work ends.
 */
export type ReconcileOutcome = { requeueAfterMs?: number; isPending?: boolean } | undefined;

/**
 * Reconciles one object. The key is "name" or "namespace/name". Can be called at any time and repeatedly, but never
 * concurrently for one key. After a TerminalError, the key is not retried until the object changes. After other
 * errors, it is retried with back-off.
 */
export type Reconcile = (key: string, ctx: ReconcileContext) => Promise<ReconcileOutcome>;

/** Dependencies and options of a controller. */
export interface ControllerInit {
  name: string;
  queue: WorkQueue;
  reconcile: Reconcile;
  /** Maximum number of concurrent reconciles, not counting slow ones. */
  workers: number;
  /** Time after which a reconcile counts as slow and another worker is started until it ends. Default 10 s. */
  slowAfterMs?: number;
  clock?: Clock;
  log: Logger;
  metrics?: ControllerMetrics;
}

const SLOW_AFTER_MS = 10_000;
/** Maximum number of extra workers for slow reconciles, as a multiple of the workers. Further slow reconciles occupy a regular worker. */
const SLOW_FACTOR = 4;

/** How a reconcile ended, to queue, count and log it. */
type Ending =
  | { kind: "success" }
  | { kind: "requeueAfter"; ms: number }
  | { kind: "pending"; ms: number | undefined }
  | { kind: "terminal"; err: unknown }
  | { kind: "retry"; err: unknown }
  | { kind: "stopped" };

/**
 * Reconciles the keys in a queue with a number of workers. If a reconcile is slow, for example because a catalog or
 * webhook hangs, another worker is started, so that other objects are not delayed.
 */
export class Controller {
  readonly #init: ControllerInit;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #working = new Set<Promise<void>>();
  #slow = 0;

  constructor(init: ControllerInit) {
    this.#init = init;
    this.#log = init.log.child({ controller: init.name });
    this.#clock = init.clock ?? systemClock;
  }

  /** Runs until `signal` aborts, then waits for reconciles in progress. */
  async run(signal: AbortSignal): Promise<void> {
    const { queue, workers, metrics } = this.#init;
    metrics?.workers(workers);
    const stop = (): void => queue.shutDown();
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    this.#log.info({ workers }, "controller started");
    for (let worker = 0; worker < workers; worker++) this.#startWorker(signal);
    while (this.#working.size > 0) await Promise.all(this.#working);
    this.#log.info("controller stopped");
  }

  #startWorker(signal: AbortSignal): void {
    const working = this.#work(signal).finally(() => this.#working.delete(working));
    this.#working.add(working);
  }

  /** Reconciles keys until the queue is shut down, or until another worker has replaced this one because its reconcile was slow. */
  async #work(signal: AbortSignal): Promise<void> {
    const { queue } = this.#init;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) if (await this.#reconcileOrReplace(key, signal)) return;
  }

  /** Reconciles one key. @returns whether the reconcile was slow and another worker has replaced this one. */
  async #reconcileOrReplace(key: string, signal: AbortSignal): Promise<boolean> {
    const { queue, workers, slowAfterMs = SLOW_AFTER_MS } = this.#init;
    let isReplaced = false;
    const cancel = this.#clock.after(slowAfterMs, () => {
      if (signal.aborted || this.#slow >= workers * SLOW_FACTOR) return;
      isReplaced = true;
      this.#slow++;
      this.#log.info({ object: key, seconds: slowAfterMs / 1000, slow: this.#slow }, "reconcile is slow, starting another worker");
      this.#startWorker(signal);
    });
    try {
      await this.#reconcileOne(key, signal);
    } finally {
      cancel();
      if (isReplaced) this.#slow--;
      queue.done(key);
    }
    return isReplaced;
  }

  async #reconcileOne(key: string, signal: AbortSignal): Promise<void> {
    const { reconcile, queue, metrics } = this.#init;
    const reconcileID = randomUUID();
    const log = this.#log.child({ object: key, reconcileID });
    const started = performance.now();
    metrics?.started();
    const ending = await runReconcile(() => reconcile(key, { log, signal, reconcileID }), signal);
    const seconds = (performance.now() - started) / 1000;
    switch (ending.kind) {
      case "success":
        queue.forget(key);
        metrics?.finished("success", seconds, false);
        log.debug({ seconds }, "reconciled");
        break;
      case "requeueAfter":
        queue.forget(key);
        queue.addAfter(key, ending.ms);
        metrics?.finished("requeue_after", seconds, false);
        log.debug({ seconds, requeueAfterMs: ending.ms }, "reconciled");
        break;
      case "pending":
        if (ending.ms !== undefined) queue.addAfter(key, ending.ms);
        metrics?.finished("requeue_after", seconds, false);
        log.debug({ seconds, requeueAfterMs: ending.ms }, "reconcile is waiting for pending work");
        break;
      case "terminal":
        queue.forget(key);
        metrics?.finished("error", seconds, true);
        log.error({ err: ending.err, seconds }, "reconcile failed, not retrying until the object changes");
        break;
      case "retry": {
        const retryAfterMs = this.#retry(key, ending.err);
        metrics?.finished("error", seconds, false);
        log.error({ err: ending.err, seconds, retryAfterMs }, "reconcile failed");
        break;
      }
      case "stopped":
        metrics?.finished("success", seconds, false);
        log.debug({ seconds }, "reconcile stopped");
        break;
    }
  }

  /** Queues a failed key again after its back-off, or later if a server or the error requests a longer delay. */
  #retry(key: string, err: unknown): number {
    const minDelayMs = getRetryAfterMs(err) ?? getRegistryWaitMs(err) ?? getRestMs(err) ?? 0;
    return this.#init.queue.addRateLimited(key, minDelayMs);
  }
}

async function runReconcile(reconcile: () => Promise<ReconcileOutcome>, signal: AbortSignal): Promise<Ending> {
  try {
    const outcome = await reconcile();
    const ms = outcome?.requeueAfterMs;
    if (outcome?.isPending) return { kind: "pending", ms };
    return ms === undefined ? { kind: "success" } : { kind: "requeueAfter", ms };
  } catch (err) {
    if (signal.aborted) return { kind: "stopped" };
    return isRetryable(err) ? { kind: "retry", err } : { kind: "terminal", err };
  }
}
