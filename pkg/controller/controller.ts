import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../async/clock.ts";
import { isRetryable, restMsOf } from "../errors/errors.ts";
import { retryAfterMsOf } from "../kube/errors.ts";
import { registryWaitOf } from "../oci/registry/registryError.ts";
import type { Logger } from "../telemetry/log.ts";
import type { ControllerMetrics } from "../telemetry/metrics.ts";
import type { WorkQueue } from "./workQueue.ts";

/** What one reconcile gets; `log` carries controller, object and reconcileID, `signal` aborts when the program stops. */
export interface ReconcileContext {
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly reconcileID: string;
}

/**
 * What a reconcile wants next: nothing, or to run again after a while. With `isPending` it neither succeeded nor failed yet, so the back-off of the
 * key stays as it is; whoever ends the pending work adds the key.
 */
export type ReconcileOutcome = { requeueAfterMs?: number; isPending?: boolean } | undefined;

/**
 * Brings one object to its wanted state. Called with "name" or "namespace/name", for whatever reason, any number of times, never twice at once
 * for one key. A thrown TerminalError is not tried again until the object changes; every other error is, with back-off.
 */
export type Reconcile = (key: string, ctx: ReconcileContext) => Promise<ReconcileOutcome>;

/** What a controller is built from. */
export interface ControllerInit {
  name: string;
  queue: WorkQueue;
  reconcile: Reconcile;
  /** Keys worked on at once, apart from slow ones. */
  workers: number;
  /** A reconcile that takes longer is slow: another worker takes its place until it ends. Default 10 s. */
  slowAfterMs?: number;
  clock?: Clock;
  log: Logger;
  metrics?: ControllerMetrics;
}

const SLOW_AFTER_MS = 10_000;
/** Slow reconciles that are replaced at once, as a multiple of the workers; any more count as workers. */
const SLOW_FACTOR = 4;

/** How one reconcile ended, before it becomes queue, metric and log line. */
type Ending =
  | { kind: "success" }
  | { kind: "requeueAfter"; ms: number }
  | { kind: "pending"; ms: number | undefined }
  | { kind: "terminal"; err: unknown }
  | { kind: "retry"; err: unknown }
  | { kind: "stopped" };

/**
 * Takes keys from a queue and reconciles them with a number of workers. A server that hangs makes reconciles slow, such as a catalog or a webhook;
 * they give their place to others, so that it holds up only what needs it.
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

  /** Works until `signal` aborts, then lets reconciles under way end and returns. */
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

  /** Works until the queue ends, or until a reconcile was slow and another worker has its place. */
  async #work(signal: AbortSignal): Promise<void> {
    const { queue } = this.#init;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) if (await this.#reconcileOrReplace(key, signal)) return;
  }

  /** @returns whether the reconcile was slow and another worker was started in its place */
  async #reconcileOrReplace(key: string, signal: AbortSignal): Promise<boolean> {
    const { queue, workers, slowAfterMs = SLOW_AFTER_MS } = this.#init;
    let isReplaced = false;
    const cancel = this.#clock.after(slowAfterMs, () => {
      if (signal.aborted || this.#slow >= workers * SLOW_FACTOR) return;
      isReplaced = true;
      this.#slow++;
      this.#log.info({ object: key, seconds: slowAfterMs / 1000, slow: this.#slow }, "reconcile is slow, another one takes its place");
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
    const ending = await endingOf(() => reconcile(key, { log, signal, reconcileID }), signal);
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
        log.debug({ seconds, requeueAfterMs: ending.ms }, "reconcile waits for work under way");
        break;
      case "terminal":
        queue.forget(key);
        metrics?.finished("error", seconds, true);
        log.error({ err: ending.err, seconds }, "reconcile failed, not trying again until something changes");
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

  /** Queues a failed key again, after its back-off or, when a server or the error asked for more, after that. */
  #retry(key: string, err: unknown): number {
    const asked = retryAfterMsOf(err) ?? registryWaitOf(err) ?? restMsOf(err) ?? 0;
    return this.#init.queue.addRateLimited(key, asked);
  }
}

async function endingOf(reconcile: () => Promise<ReconcileOutcome>, signal: AbortSignal): Promise<Ending> {
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
