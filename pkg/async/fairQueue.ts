interface QueuedTask {
  readonly since: number;
  readonly key: string;
  start(): void;
}

/** Maximum delay because of earlier failures. */
const MAX_DEBT_MS = 600_000;
const MAX_KEYS = 10_000;

/**
 * Runs tasks one at a time. The next task is the one whose key has spent the least time in failed
 * runs, minus its waiting time. A task that repeatedly fails after minutes therefore delays new
 * tasks by at most one run, but still runs eventually.
 */
export class FairQueue {
  readonly #now: () => number;
  readonly #waiting: QueuedTask[] = [];
  /** Milliseconds spent in failed runs since the last success, by key. */
  readonly #debts = new Map<string, number>();
  #busy = false;

  /** @param now milliseconds of any monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @throws the error of `work`; the signal's reason if it aborts before `work` starts. */
  async run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(key, signal);
    const began = this.#now();
    try {
      const result = await work();
      this.#debts.delete(key);
      return result;
    } catch (err) {
      if (!signal.aborted) this.#owe(key, this.#now() - began);
      throw err;
    } finally {
      this.#busy = false;
      this.#next();
    }
  }

  async #turn(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let abort: (() => void) | undefined;
    const turn = new Promise<void>((resolve, reject) => {
      const waiting: QueuedTask = { since: this.#now(), key, start: resolve };
      abort = () => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal.reason as Error);
      };
      this.#waiting.push(waiting);
      signal.addEventListener("abort", abort, { once: true });
    });
    this.#next();
    try {
      await turn;
    } finally {
      if (abort) signal.removeEventListener("abort", abort);
    }
  }

  #next(): void {
    if (this.#busy) return;
    const now = this.#now();
    const rank = ({ key, since }: QueuedTask): number => (this.#debts.get(key) ?? 0) - (now - since);
    const first = this.#waiting.reduce<QueuedTask | undefined>((best, each) => (!best || rank(each) < rank(best) ? each : best), undefined);
    if (!first) return;
    this.#waiting.splice(this.#waiting.indexOf(first), 1);
    this.#busy = true;
    first.start();
  }

  #owe(key: string, ms: number): void {
    const debt = Math.min(MAX_DEBT_MS, (this.#debts.get(key) ?? 0) + ms);
    this.#debts.delete(key);
    this.#debts.set(key, debt);
    const oldest = this.#debts.size > MAX_KEYS ? this.#debts.keys().next().value : undefined;
    if (oldest !== undefined) this.#debts.delete(oldest);
  }
}
