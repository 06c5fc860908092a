import { Deadline } from "../../async/clock.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Logger } from "../../telemetry/log.ts";

/**
 * Says what would lift the block that these bundles of an extension are, such as `version 1.1.0 of catalog "x" lifts the block`; undefined where
 * nothing is known.
 */
export type RemedyFinder = (extension: string, bundles: readonly string[], signal: AbortSignal) => Promise<string | undefined>;

/** An installed bundle that blocks. */
export interface BlockingBundle {
  readonly extension: string;
  readonly bundle: string;
}

interface Remedy {
  /** Sorted. */
  readonly bundles: readonly string[];
  text: string | undefined;
  /** Something changed since it was looked for. */
  outdated: boolean;
}

const TIMEOUT_MS = 10_000;

/** What lifts each block, looked for in the background one after another, so that saying that there is a block never waits for it. */
export class Remedies {
  readonly #find: RemedyFinder;
  readonly #log: Logger;
  readonly #known = new Map<string, Remedy>();
  readonly #handlers: (() => void)[] = [];
  #working = false;

  constructor(find: RemedyFinder, log: Logger) {
    this.#find = find;
    this.#log = log;
  }

  /** Calls `handler` whenever `of` has something else to say. */
  onChange(handler: () => void): void {
    this.#handlers.push(handler);
  }

  /** By extension what is known already; the rest is looked for from now on, and extensions that are not named are forgotten. */
  of(blocking: readonly BlockingBundle[], signal: AbortSignal): ReadonlyMap<string, string> {
    const wanted = Map.groupBy(blocking, ({ extension }) => extension);
    for (const extension of this.#known.keys()) if (!wanted.has(extension)) this.#known.delete(extension);
    for (const [extension, ofExtension] of wanted) {
      const bundles = ofExtension.map(({ bundle }) => bundle).sort();
      if (this.#known.get(extension)?.bundles.join() !== bundles.join())
        this.#known.set(extension, { bundles, text: undefined, outdated: true });
    }
    void this.#work(signal);
    return new Map([...this.#known].flatMap(([extension, { text }]) => (text === undefined ? [] : [[extension, text]])));
  }

  /** Has everything looked for again the next time `of` is asked: catalogs or extensions have changed. */
  outdate(): void {
    for (const remedy of this.#known.values()) remedy.outdated = true;
  }

  async #work(signal: AbortSignal): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    for (let next = this.#next(); next && !signal.aborted; next = this.#next()) await this.#look(...next, signal);
    this.#working = false;
  }

  #next(): [extension: string, remedy: Remedy] | undefined {
    return [...this.#known].find(([, { outdated }]) => outdated);
  }

  async #look(extension: string, remedy: Remedy, signal: AbortSignal): Promise<void> {
    remedy.outdated = false;
    let text: string | undefined;
    try {
      using deadline = new Deadline(signal, TIMEOUT_MS);
      text = await this.#find(extension, remedy.bundles, deadline.signal);
    } catch (err) {
      this.#log.debug({ extension, reason: messageOf(err) }, "what lifts the block is not known");
      return;
    }
    if (this.#known.get(extension) !== remedy || remedy.text === text) return;
    remedy.text = text;
    for (const handler of this.#handlers) handler();
  }
}
