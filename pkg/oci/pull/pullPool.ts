import { type Clock } from "../../async/clock.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import { parse } from "../reference.ts";

/** The target of a pull, which determines its position in the queue. */
export interface PullTarget {
  /** the registry, including its port */
  readonly host: string;
  readonly repository: string;
  /**
   * the whole reference; only one pull of an image runs at a time, and the next ones find it on
   * disk
   */
  readonly image: string;
}

/**
 * Returns the target of an image. For an invalid reference the host is empty; its pull reports the
 * error.
 */
export function toPullTarget(image: string): PullTarget {
  const ref = parse(image);
  return typeof ref === "string" ? { host: "", repository: image, image } : { host: ref.registry, repository: ref.repository, image };
}

/**
 * State of a pull. `isSlow` is set after 300 ms, when its owner is requeued; `lastError` is the
 * failure of the previous attempt, and is kept until there is a newer result.
 */
export type PullState<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "pending"; readonly isNew: boolean; readonly isSlow: boolean; readonly lastError: unknown };

/** Limits on concurrent pulls. */
export interface PullPoolLimits {
  readonly total: number;
  /** the part of `total` that is reserved for hosts without a running pull */
  readonly reserved: number;
  readonly perHost: number;
  readonly perRepository: number;
}

/** Options of a pool. */
export interface PullPoolInit {
  /**
   * Called when the pull of an owner has ended with any outcome, and once before if it is slow. The
   * owner should then request the state again.
   */
  readonly onChange: (owner: string) => void;
  readonly limits?: PullPoolLimits;
  readonly clock: Clock;
}

const LIMITS: PullPoolLimits = { total: 64, reserved: 16, perHost: 8, perRepository: 6 };
/**
 * A pull that ends sooner is not reported as slow, because the reconcile at its end updates the
 * status anyway.
 */
const SLOW_AFTER_MS = 300;
/** Uncollected results expire after this time, because the tag may have moved. */
const FRESH_MS = 60_000;

/** One pull of one owner: waiting, running or ended. */
interface Pull<T> {
  readonly owner: string;
  readonly key: string;
  readonly target: PullTarget;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly abort: AbortController;
  /** the owner's previous pull, which may still be ending */
  readonly after: Promise<void>;
  readonly settled: PromiseWithResolvers<void>;
  readonly lastError: unknown;
  isSlow: boolean;
  cancelSlow: () => void;
  result?: { readonly state: Exclude<PullState<T>, { kind: "pending" }>; readonly at: number; isCollected: boolean };
  /**
   * Whether inputs, such as credentials, have changed since the pull started. If it fails, it is
   * restarted.
   */
  isOutdated: boolean;
}

/**
 * Runs pulls outside of reconciles, so that no reconcile waits for a registry. Each owner has at
 * most one pull. Starts pulls for the host with the fewest running pulls first, then for the
 * repository with the fewest, then in the order of requests. A host or a repository that does not
 * respond blocks only its own share.
 */
export class PullPool<T> {
  readonly #onChange: (owner: string) => void;
  readonly #limits: PullPoolLimits;
  readonly #clock: Clock;
  /** The requested pull of each owner, in any state. */
  readonly #pulls = new Map<string, Pull<T>>();
  readonly #waiting = new Set<Pull<T>>();
  readonly #running = new Set<Pull<T>>();
  readonly #counts = new Map<string, number>();
  #isClosed = false;

  constructor({ onChange, limits = LIMITS, clock }: PullPoolInit) {
    this.#onChange = onChange;
    this.#limits = limits;
    this.#clock = clock;
  }

  /** The number of running pulls. */
  get running(): number {
    return this.#running.size;
  }

  /** The number of waiting pulls. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Returns the key of the owner's pull, if it has one. */
  keyOf(owner: string): string | undefined {
    return this.#pulls.get(owner)?.key;
  }

  /**
   * If the owner's pull of `key` has ended, returns its outcome once. Otherwise continues that
   * pull, or starts it with `work`. Cancels the owner's pull of another key. Never waits.
   */
  request(owner: string, key: string, target: PullTarget, work: (signal: AbortSignal) => Promise<T>): PullState<T> {
    const known = this.#pulls.get(owner);
    if (known?.key !== key) return this.#start(owner, key, target, work, undefined);
    const { result } = known;
    if (!result) return { kind: "pending", isNew: false, isSlow: known.isSlow, lastError: known.lastError };
    const { state } = result;
    if (!result.isCollected && this.#clock.now() - result.at <= FRESH_MS) {
      result.isCollected = true;
      if (state.kind === "done") this.#pulls.delete(owner);
      return state;
    }
    return this.#start(owner, key, target, work, state.kind === "failed" ? state.error : undefined);
  }

  /** Cancels the owner's pull and discards its outcome. Resolves when it is no longer running. */
  async cancel(owner: string): Promise<void> {
    const pull = this.#pulls.get(owner);
    if (pull) await this.#drop(pull);
  }

  /**
   * Reports that inputs of pulls have changed, such as credentials. Pulls that fail with the
   * previous inputs are restarted.
   */
  renew(): void {
    for (const pull of this.#pulls.values()) {
      if (this.#running.has(pull)) pull.isOutdated = true;
      else if (pull.result?.state.kind === "failed") pull.result.isCollected = true;
    }
  }

  /** Cancels all pulls, and resolves when none is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.clear();
  }

  /** Cancels all pulls and discards their outcomes; new ones may start. */
  async clear(): Promise<void> {
    await Promise.all([...this.#pulls.values()].map((pull) => this.#drop(pull)));
  }

  #start(
    owner: string,
    key: string,
    target: PullTarget,
    work: (signal: AbortSignal) => Promise<T>,
    lastError: unknown,
  ): PullState<T> & { kind: "pending" } {
    const before = this.#pulls.get(owner);
    const after = before ? this.#drop(before) : Promise.resolve();
    this.#enqueue({ owner, key, target, work, lastError, after, isSlow: false });
    return { kind: "pending", isNew: true, isSlow: false, lastError };
  }

  #enqueue(init: Pick<Pull<T>, "owner" | "key" | "target" | "work" | "lastError" | "after" | "isSlow">): void {
    if (this.#isClosed) return;
    const pull: Pull<T> = {
      ...init,
      abort: new AbortController(),
      settled: Promise.withResolvers<void>(),
      isOutdated: false,
      cancelSlow: () => undefined,
    };
    if (!pull.isSlow)
      pull.cancelSlow = this.#clock.after(SLOW_AFTER_MS, () => {
        pull.isSlow = true;
        this.#onChange(pull.owner);
      });
    this.#pulls.set(pull.owner, pull);
    this.#waiting.add(pull);
    this.#startMore();
  }

  #drop(pull: Pull<T>): Promise<void> {
    if (this.#pulls.get(pull.owner) === pull) this.#pulls.delete(pull.owner);
    pull.cancelSlow();
    pull.abort.abort(new Error("the image is no longer needed"));
    if (this.#waiting.delete(pull)) void pull.after.then(pull.settled.resolve);
    return pull.settled.promise;
  }

  #startMore(): void {
    for (let next = this.#next(); next; next = this.#next()) {
      this.#waiting.delete(next);
      this.#running.add(next);
      this.#count(next, 1);
      void this.#run(next);
    }
  }

  /** Returns the next pull to start; undefined while all must wait. */
  #next(): Pull<T> | undefined {
    const { total, reserved, perHost, perRepository } = this.#limits;
    if (this.#running.size >= total) return undefined;
    let best: { pull: Pull<T>; ofHost: number; ofRepository: number } | undefined;
    for (const pull of this.#waiting) {
      const [ofHost, ofRepository, ofImage] = countedBy(pull.target).map((name) => this.#counts.get(name) ?? 0) as [number, number, number];
      if (ofImage > 0 || ofHost >= perHost || ofRepository >= perRepository) continue;
      if (ofHost > 0 && this.#running.size >= total - reserved) continue;
      if (best && (ofHost > best.ofHost || (ofHost === best.ofHost && ofRepository >= best.ofRepository))) continue;
      best = { pull, ofHost, ofRepository };
      if (ofHost === 0) break;
    }
    return best?.pull;
  }

  #count({ target }: Pull<T>, by: 1 | -1): void {
    for (const name of countedBy(target)) {
      const count = (this.#counts.get(name) ?? 0) + by;
      if (count === 0) this.#counts.delete(name);
      else this.#counts.set(name, count);
    }
  }

  async #run(pull: Pull<T>): Promise<void> {
    const state = await this.#outcome(pull);
    pull.cancelSlow();
    this.#running.delete(pull);
    this.#count(pull, -1);
    pull.settled.resolve();
    if (this.#pulls.get(pull.owner) === pull) {
      if (pull.isOutdated && state.kind === "failed") this.#enqueue({ ...pull, after: Promise.resolve() });
      else {
        pull.result = { state, at: this.#clock.now(), isCollected: false };
        this.#onChange(pull.owner);
      }
    }
    this.#startMore();
  }

  async #outcome({ after, abort, work }: Pull<T>): Promise<Exclude<PullState<T>, { kind: "pending" }>> {
    try {
      await after;
      abort.signal.throwIfAborted();
      return { kind: "done", value: await work(abort.signal) };
    } catch (error) {
      return { kind: "failed", error };
    }
  }
}

/** Returns the keys for counting running pulls: host, repository and image. */
function countedBy({ host, repository, image }: PullTarget): [string, string, string] {
  return [`host ${host}`, `repository ${host}/${repository}`, `image ${image}`];
}

/** The numbers of running and waiting pulls of a pool. */
export type PullCounts = Pick<PullPool<unknown>, "running" | "waiting">;

/**
 * Registers metrics of running and waiting pulls; calls `counts` on each scrape. Registries are not
 * a label because users choose them.
 */
export function registerPullMetrics(metrics: Metrics, counts: () => PullCounts): void {
  metrics.gauge({
    name: "image_pulls",
    help: "Image pulls by state: running, or waiting for a free slot",
    labels: ["state"],
    collect: (gauge) => {
      const { running, waiting } = counts();
      gauge.set(running, { state: "running" });
      gauge.set(waiting, { state: "waiting" });
    },
  });
}
