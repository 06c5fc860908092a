import { parse } from "./reference.ts";

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
 * How a pull stands. `ageMs` is how long ago it was asked for; `lastError` is the failure of the attempt before, for which nothing better is known
 * yet.
 */
export type PullState<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "pending"; readonly isNew: boolean; readonly ageMs: number; readonly lastError: unknown };

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
  /** Called when the pull of an owner has ended, whatever came of it; the owner then asks again. */
  readonly onEnd: (owner: string) => void;
  readonly limits?: PullPoolLimits;
  /** Milliseconds from any start; the default is the process's clock. */
  readonly now?: () => number;
}

const LIMITS: PullPoolLimits = { total: 64, reserved: 16, perHost: 8, perRepository: 6 };
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
  readonly askedAt: number;
  result?: { readonly state: Exclude<PullState<T>, { kind: "pending" }>; readonly at: number; isCollected: boolean };
  /** What it was started with, such as credentials, has changed since: a failure does not count. */
  isOutdated: boolean;
}

/**
 * Runs pulls outside of reconciles, so that no reconcile waits for a registry. Each owner has one pull at most. Hosts, then repositories, with
 * the fewest running pulls come first, then who asked first; a host or a repository that hangs holds only its own share.
 */
export class PullPool<T> {
  readonly #onEnd: (owner: string) => void;
  readonly #limits: PullPoolLimits;
  readonly #now: () => number;
  /** The wanted pull of each owner, whatever its state. */
  readonly #pulls = new Map<string, Pull<T>>();
  readonly #waiting = new Set<Pull<T>>();
  readonly #running = new Set<Pull<T>>();
  readonly #counts = new Map<string, number>();
  #isClosed = false;

  constructor({ onEnd, limits = LIMITS, now = () => performance.now() }: PullPoolInit) {
    this.#onEnd = onEnd;
    this.#limits = limits;
    this.#now = now;
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
    if (!result) return { kind: "pending", isNew: false, ageMs: this.#now() - known.askedAt, lastError: known.lastError };
    const { state } = result;
    if (!result.isCollected && this.#now() - result.at <= FRESH_MS) {
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
    this.#enqueue({ owner, key, target, work, lastError, after, askedAt: this.#now() });
    return { kind: "pending", isNew: true, ageMs: 0, lastError };
  }

  #enqueue(init: Pick<Pull<T>, "owner" | "key" | "target" | "work" | "lastError" | "after" | "askedAt">): void {
    if (this.#isClosed) return;
    const pull: Pull<T> = { ...init, abort: new AbortController(), settled: Promise.withResolvers<void>(), isOutdated: false };
    this.#pulls.set(pull.owner, pull);
    this.#waiting.add(pull);
    this.#startMore();
  }

  #drop(pull: Pull<T>): Promise<void> {
    if (this.#pulls.get(pull.owner) === pull) this.#pulls.delete(pull.owner);
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
    this.#running.delete(pull);
    this.#count(pull, -1);
    pull.settled.resolve();
    if (this.#pulls.get(pull.owner) === pull) {
      if (pull.isOutdated && state.kind === "failed") this.#enqueue({ ...pull, after: Promise.resolve() });
      else {
        pull.result = { state, at: this.#now(), isCollected: false };
        this.#onEnd(pull.owner);
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
