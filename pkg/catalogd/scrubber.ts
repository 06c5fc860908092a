import { type Clock, sleep, systemClock } from "../async/clock.ts";
import type { Logger } from "../telemetry/log.ts";

/** What scrubbing is built from. */
export interface ScrubberOptions {
  /** Reads everything that is stored, and does away with what is damaged. */
  store: { scrub(signal: AbortSignal): Promise<void> };
  intervalMs: number;
  log: Logger;
  clock?: Clock;
}

/** Looks again and again whether what is stored is still as it was written; the first time after an interval, as the start looks too. */
export class Scrubber {
  readonly #options: ScrubberOptions;

  constructor(options: ScrubberOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts; a failed round is logged and the next one tries again. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, intervalMs, log, clock = systemClock } = this.#options;
    for (;;) {
      await sleep(clock, intervalMs, signal);
      if (signal.aborted) return;
      await store.scrub(signal).catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, "reading stored content again failed");
      });
    }
  }
}
