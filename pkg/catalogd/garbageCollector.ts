import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { getErrorMessage, ignoreMissingFile } from "../errors/errors.ts";
import { removeTree } from "../oci/pull/cache.ts";
import type { Logger } from "../telemetry/log.ts";

/** A folder with an entry for each catalog. */
export interface CatalogFolder {
  names(): Promise<string[]>;
  removeEntry(name: string): Promise<void>;
}

/** Options of the garbage collector. */
export interface GarbageCollectorOptions {
  folders: readonly CatalogFolder[];
  /** Requests the names of all catalogs from the API server. */
  catalogs: (signal: AbortSignal) => Promise<readonly string[]>;
  intervalMs: number;
  log: Logger;
  clock?: Clock;
}

/** Removes files of catalogs that no longer exist, at the start and then periodically. */
export class GarbageCollector {
  readonly #options: GarbageCollectorOptions;

  constructor(options: GarbageCollectorOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts. A failed round is logged and retried in the next round. */
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
   * Runs one round. Reads the folders before listing the catalogs, so that files of a catalog
   * created meanwhile are never removed.
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

/** Returns the folder for unpacked images, which has a folder for each catalog. */
export function unpackFolder(dir: string): CatalogFolder {
  return {
    names: async () => (await readdir(dir).catch(ignoreMissingFile)) ?? [],
    removeEntry: (name) => removeTree(join(dir, name)),
  };
}

async function doing<T>(prefix: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (err) {
    throw new Error(`${prefix}${getErrorMessage(err)}`, { cause: err });
  }
}
