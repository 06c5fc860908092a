import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../telemetry/log.ts";
import { catalogNameProblems } from "./catalogName.ts";
import type { CatalogContent, ContentOrigin } from "./content.ts";
import { ContentFolder } from "./contentFolder.ts";
import { Loader } from "./loader.ts";

/** What the store is built from. */
export interface StoreOptions {
  /** Folder of all catalogs' content; made when it does not exist. */
  dir: string;
  log: Logger;
  loader?: Loader;
  /** Milliseconds since the epoch. */
  now?: () => number;
}

/** The work that follows the publishing of a content. */
interface Finishing {
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/**
 * The content of all catalogs, on disk and open for reading. New content replaces old at once and only when it is complete; it survives restarts.
 * Calls about one catalog must not overlap; different catalogs do not wait for each other, except for the thread that reads content.
 */
export class CatalogStore {
  readonly #dir: string;
  readonly #log: Logger;
  readonly #loader: Loader;
  readonly #now: () => number;
  readonly #contents = new Map<string, CatalogContent>();
  readonly #finishing = new Map<string, Finishing>();

  private constructor({ dir, log, loader = new Loader(), now = Date.now }: StoreOptions) {
    this.#dir = dir;
    this.#log = log;
    this.#loader = loader;
    this.#now = now;
  }

  /** A store that serves what an earlier run left in its folder; what cannot be used is removed. */
  static async open(options: StoreOptions): Promise<CatalogStore> {
    const store = new CatalogStore(options);
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    for (const entry of await readdir(options.dir, { withFileTypes: true })) {
      if (entry.isDirectory() && catalogNameProblems(entry.name).length === 0) await store.#reopen(entry.name);
    }
    return store;
  }

  /** The content that is served of a catalog now. */
  get(name: string): CatalogContent | undefined {
    return this.#contents.get(name);
  }

  /**
   * Reads the catalog at `root` and serves it from now on. When that fails, what was served before stays.
   * @throws Error whose text names file, document, line and reason.
   */
  async store(name: string, root: string, origin: ContentOrigin, signal: AbortSignal): Promise<CatalogContent> {
    const folder = this.#folder(name);
    const staging = await folder.stage();
    try {
      const { columns, files } = await this.#loader.load(root, staging, signal);
      await this.#stopFinishing(name);
      const before = this.#contents.get(name);
      const lastModified = Math.max(Math.floor(this.#now() / 1_000), (before?.lastModified ?? 0) + 1);
      const { version, content } = await folder.publish(staging, origin, columns, lastModified);
      this.#contents.set(name, content);
      before?.retire();
      this.#log.info(
        { catalog: name, digest: origin.digest, files, objects: content.index.lines, bytes: content.index.bytes },
        "stored catalog content",
      );
      this.#finish(name, (stopped) => folder.finish(version, content, columns, stopped));
      return content;
    } finally {
      await folder.discard(staging);
    }
  }

  /** Stops serving a catalog and removes its content. */
  async remove(name: string): Promise<void> {
    this.#contents.get(name)?.retire();
    this.#contents.delete(name);
    await this.#stopFinishing(name);
    await this.#folder(name).remove();
  }

  /** Names of everything in the store's folder, catalogs or not. */
  names(): Promise<string[]> {
    return readdir(this.#dir);
  }

  /** Removes what stands under a name, whatever it is. @param name one of `names()`. */
  async removeEntry(name: string): Promise<void> {
    if (catalogNameProblems(name).length === 0 && (await lstat(join(this.#dir, name))).isDirectory()) await this.remove(name);
    else await rm(join(this.#dir, name), { recursive: true, force: true });
  }

  /** Waits until everything published so far is safely on disk and compressed. */
  async settled(): Promise<void> {
    await Promise.all([...this.#finishing.values()].map(({ done }) => done));
  }

  /** Stops background work and closes all files. */
  async close(): Promise<void> {
    await Promise.all([...this.#finishing.keys()].map((name) => this.#stopFinishing(name)));
    for (const content of this.#contents.values()) content.retire();
    this.#contents.clear();
  }

  async #reopen(name: string): Promise<void> {
    const folder = this.#folder(name);
    try {
      await folder.sweep();
      const content = await folder.open();
      if (!content) return;
      this.#contents.set(name, content);
      this.#log.info({ catalog: name, digest: content.origin.digest, objects: content.index.lines }, "serving stored catalog content");
      const version = await folder.currentVersion();
      if (version !== undefined) this.#finish(name, (stopped) => folder.compress(version, content, stopped));
    } catch (err) {
      this.#log.warn({ catalog: name, err }, "stored catalog content cannot be used, removing it");
      await folder.remove();
    }
  }

  #finish(name: string, work: (stopped: AbortSignal) => Promise<void>): void {
    const stop = new AbortController();
    const done = work(stop.signal).catch((err: unknown) => {
      if (!stop.signal.aborted) this.#log.warn({ catalog: name, err }, "catalog content is served but was not compressed");
    });
    this.#finishing.set(name, { stop, done });
  }

  async #stopFinishing(name: string): Promise<void> {
    const finishing = this.#finishing.get(name);
    finishing?.stop.abort();
    await finishing?.done;
    this.#finishing.delete(name);
  }

  #folder(name: string): ContentFolder {
    const problems = catalogNameProblems(name);
    if (problems.length > 0) throw new Error(`invalid catalog name: ${problems.join("; ")}`);
    return new ContentFolder(join(this.#dir, name));
  }
}
