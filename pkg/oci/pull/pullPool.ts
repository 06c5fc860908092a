import { type Clock } from "../../async/clock.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import { parse } from "../reference.ts";

/** Where a pull goes, which decides when its turn comes. */
export interface PullTarget {
  /** the registry, with its port */
  readonly host: string;
  readonly repository: string;
  /** the whole reference: of one image, one pull runs at a time, and the next ones find it on disk */
  readonly image: string;
}

/** Where an image is pulled from. A text that is not a reference has no host; its pull says so. */
export function targetOf(image: string): PullTarget {
  const ref = parse(image);
  return typeof ref === "string" ? { host: "", repository: image, image } : { host: ref.registry, repository: ref.repository, image };
}

/**
 * How a pull stands. `isSlow` once it was under way for 300 ms, when its owner was woken; `lastError` is the failure of the attempt before, for which
 * nothing better is known yet.
 */
export type PullState<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "pending"; readonly isNew: boolean; readonly isSlow: boolean; readonly lastError: unknown };

/** How many pulls run at once. */
export interface PullPoolLimits {
  readonly total: number;
  /** of `total`, kept for hosts that have no pull running */
  readonly reserved: number;
  readonly perHost: number;
  readonly perRepository: number;
}

/** What a pool is built from. */
export interface PullPoolInit {
  /** Called when the pull of an owner has ended, whatever came of it, and once before when it is slow; the owner then asks again. */
  readonly onChange: (owner: string) => void;
  readonly limits?: PullPoolLimits;
  readonly clock: Clock;
}

const LIMITS: PullPoolLimits = { total: 64, reserved: 16, perHost: 8, perRepository: 6 };
/** A pull that ends sooner is not reported: the reconcile that it wakes writes the status. */
const SLOW_AFTER_MS = 300;
/** A result that nobody collected for so long may be out of date: a tag names another image by then. */
const FRESH_MS = 60_000;

/** One pull of one owner: it waits, runs, and ends. */
interface Pull<T> {
  readonly owner: string;
  readonly key: string;
  readonly target: PullTarget;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly abort: AbortController;
  /** the owner's pull before, which may still be ending */
  readonly after: Promise<void>;
  readonly settled: PromiseWithResolvers<void>;
  readonly lastError: unknown;
  isSlow: boolean;
  cancelSlow: () => void;
  result?: { readonly state: Exclude<PullState<T>, { kind: "pending" }>; readonly at: number; isCollected: boolean };
  /** What it was started with, such as credentials, has changed since: a failure does not count. */
  isOutdated: boolean;
}

/**
 * Runs pulls outside of reconciles, so that no reconcile waits for a registry. Each owner has one pull at most. Hosts, then repositories, with
 * the fewest running pulls come first, then who asked first; a host or a repository that hangs holds only its own share.
 */
export class PullPool<T> {
  readonly #onChange: (owner: string) => void;
  readonly #limits: PullPoolLimits;
  readonly #clock: Clock;
  /** The wanted pull of each owner, whatever its state. */
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

  /** Number of pulls that run. */
  get running(): number {
    return this.#running.size;
  }

  /** Number of pulls that wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** The key of the owner's pull, if it has one. */
  keyOf(owner: string): string | undefined {
    return this.#pulls.get(owner)?.key;
  }

  /**
   * Returns what the owner's pull of `key` came to, once, where it has ended; otherwise joins it, or starts it with `work`. A pull of the owner
   * for another key is cancelled. Never waits.
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

  /** Ends the owner's pull and forgets what came of it. Resolves when it runs no more. */
  async cancel(owner: string): Promise<void> {
    const pull = this.#pulls.get(owner);
    if (pull) await this.#drop(pull);
  }

  /** Tells that what pulls depend on has changed, such as credentials: those that fail with what was before are started again. */
  renew(): void {
    for (const pull of this.#pulls.values()) {
      if (this.#running.has(pull)) pull.isOutdated = true;
      else if (pull.result?.state.kind === "failed") pull.result.isCollected = true;
    }
  }

  /** Ends all pulls, and resolves when none runs any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.clear();
  }

  /** Ends all pulls and forgets what came of them; new ones may start. */
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
    pull.abort.abort(new Error("the image is not wanted any more"));
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

  /** The pull whose turn it is; undefined while every one has to wait. */
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

/** What running pulls are counted by: host, repository and image. */
function countedBy({ host, repository, image }: PullTarget): [string, string, string] {
  return [`host ${host}`, `repository ${host}/${repository}`, `image ${image}`];
}

/** How many pulls of a pool run, and how many wait for their turn. */
export type PullCounts = Pick<PullPool<unknown>, "running" | "waiting">;

/** Reports the pulls of a program by state; `counts` is called at each reading. Registries are no label: users choose them. */
export function pullMetrics(metrics: Metrics, counts: () => PullCounts): void {
  metrics.gauge({
    name: "image_pulls",
    help: "Image pulls by state: running, or waiting for a limit of the registry, repository, image or program",
    labels: ["state"],
    collect: (gauge) => {
      const { running, waiting } = counts();
      gauge.set(running, { state: "running" });
      gauge.set(waiting, { state: "waiting" });
    },
  });
}
