import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

/** Requests /healthz repeatedly, and reads how long the event loop was blocked. */
export class EventLoopProbe {
  readonly #base: string;
  readonly #pid: number | undefined;
  readonly #stop = new AbortController();
  readonly #done: Promise<unknown>;
  #answers = 0;
  #slowestMs = 0;
  #delayMs = 0;
  #ownMs = 0;

  constructor(base: string, pid: number | undefined) {
    this.#base = base;
    this.#pid = pid;
    this.#done = Promise.all([this.#askHealth(), this.#readDelay()]);
  }

  /** @throws if a response was not 200. */
  async stop(): Promise<{ answers: number; slowestMs: number; delayMs: number; ownMs: number }> {
    this.#stop.abort();
    await this.#done;
    return { answers: this.#answers, slowestMs: this.#slowestMs, delayMs: this.#delayMs, ownMs: this.#ownMs };
  }

  async #askHealth(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const began = performance.now();
      const answer = await fetch(`${this.#base}/healthz`);
      expect([answer.status, await answer.text()]).toEqual([200, "ok"]);
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - began);
      this.#answers++;
      await sleep(20);
    }
  }

  /**
   * The gauge contains the longest delay since the last read; the first value includes the start. Subtracts the time that the thread
   * waited for a processor on a busy machine, because the program does not cause it.
   */
  async #readDelay(): Promise<void> {
    await this.#delay();
    for (let before = await this.#waitedMs(); !this.#stop.signal.aborted; ) {
      await sleep(500);
      const delay = await this.#delay();
      const waited = await this.#waitedMs();
      this.#delayMs = Math.max(this.#delayMs, delay);
      this.#ownMs = Math.max(this.#ownMs, delay - (waited - before));
      before = waited;
    }
  }

  /** Returns how long the main thread was ready to run without running. */
  async #waitedMs(): Promise<number> {
    const [, nanoseconds] = (await readFile(`/proc/${this.#pid}/task/${this.#pid}/schedstat`, "utf8")).split(" ");
    return Number(nanoseconds) / 1e6;
  }

  async #delay(): Promise<number> {
    const text = await (await fetch(`${this.#base}/metrics`)).text();
    const value = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1];
    if (value === undefined) throw new Error("no metric of the event loop's delay");
    return Number(value) * 1_000;
  }
}
