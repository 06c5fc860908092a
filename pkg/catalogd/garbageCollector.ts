import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { messageOf, undefinedIfMissing } from "../errors/errors.ts";
import { removeTree } from "../oci/pull/cache.ts";
import type { Logger } from "../telemetry/log.ts";

/** A folder with an entry for each catalog. */
export interface CatalogFolder {
  names(): Promise<string[]>;
  removeEntry(name: string): Promise<void>;
}

/** What garbage collection is built from. */
export interface GarbageCollectorOptions {
  folders: readonly CatalogFolder[];
  /** Names of all catalogs in the cluster, asked afresh. */
  catalogs: (signal: AbortSignal) => Promise<readonly string[]>;
  intervalMs: number;
  log: Logger;
  clock?: Clock;
}

/** Removes what was left behind for catalogs that no longer exist, at start and then again and again. */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts; a failed round is logged and the next one tries again. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, log, clock = systemClock } = this.#options;
    while (!signal.aborted) {
      await this.collect(signal).catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, "garbage collection failed");
      });
      await sleep(clock, intervalMs, signal);
    }
  }

  /**
   * One round. Folders are read before the cluster is asked, so what appears for a new catalog meanwhile is not in doubt.
   * @throws Error `error reading cache directory: …` or `error listing clustercatalogs: …`
   */
  async collect(signal: AbortSignal): Promise<void> {
    const { folders, log } = this.#options;
    const found = await Promise.all(
      folders.map(async (folder) => ({ folder, names: await doing("error reading cache directory: ", () => folder.names()) })),
    );
    const known = new Set(await doing("error listing clustercatalogs: ", () => this.#options.catalogs(signal)));
    for (const { folder, names } of found) {
      const stale = names.filter((name) => !known.has(name));
      for (const name of stale) await doing(`error removing cache directory entry "${name}": `, () => folder.removeEntry(name));
      if (stale.length > 0) log.info({ removed: stale }, "removed stale cache entries");
    }
  }
}

/** The folder in which images are unpacked, a folder for each catalog. */
export function unpackFolder(dir: string): CatalogFolder {
  return {
    names: async () => (await readdir(dir).catch(undefinedIfMissing)) ?? [],
    removeEntry: (name) => removeTree(join(dir, name)),
  };
}

async function doing<T>(prefix: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    throw new Error(`${prefix}${messageOf(err)}`, { cause: err });
  }
}
