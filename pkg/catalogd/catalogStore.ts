import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { validateSubdomain } from "../api/names.ts";
import { type Clock, sleep, systemClock } from "../async/clock.ts";
import { mapInParallel } from "../async/concurrency.ts";
import type { Logger } from "../telemetry/log.ts";
import { Loader } from "./load/loader.ts";
import { Compressor } from "./store/compressor.ts";
import type { ArtifactName, CatalogContent, ContentOrigin, Damage } from "./store/content.ts";
import { ContentFolder } from "./store/contentFolder.ts";
import { ContentIndex } from "./store/contentIndex.ts";
import type { ContentDescription } from "./store/indexFile.ts";
import { PostPublish } from "./store/postPublish.ts";

interface LastContent {
  tags: ReadonlyMap<ArtifactName, string>;
  /** Whole seconds since the epoch. */
  lastModified: number;
}

/**
 * Records the last content of each catalog and its modification time, even after the content was
 * lost, so that the time changes only if the content changes.
 */
class LastContents {
  readonly #contents = new Map<string, LastContent>();

  remember(name: string, { indexes, lastModified }: { indexes: ReadonlyMap<ArtifactName, ContentIndex>; lastModified: number }): void {
    this.#contents.set(name, { tags: new Map([...indexes].map(([artifact, { tag }]) => [artifact, tag])), lastModified });
  }

  forget(name: string): void {
    this.#contents.delete(name);
  }

  /**
   * Returns the modification time of content in whole seconds since the epoch: unchanged if all
   * artifacts are equal, otherwise `now`, but at least one second later than before.
   */
  timeOf(name: string, indexes: ReadonlyMap<ArtifactName, ContentIndex>, now: number): number {
    const last = this.#contents.get(name);
    if (!last) return now;
    const isEqual = last.tags.size === indexes.size && [...indexes].every(([artifact, { tag }]) => last.tags.get(artifact) === tag);
    return isEqual ? last.lastModified : Math.max(now, last.lastModified + 1);
  }
}

/** Options of the store. */
export interface StoreOptions {
  /** Folder for the content of all catalogs; created if it does not exist. */
  dir: string;
  log: Logger;
  loader?: Loader;
  /** Milliseconds until a failed compression or sync is retried; doubled each time. */
  retryMs?: number;
}

/** Served content and its location. */
interface ServedCatalog {
  version: string;
  content: CatalogContent;
}

/** Number of folders to read concurrently at the start. A single read can already use the full speed of a disk. */
const OPENED_AT_ONCE = 2;
const RETRY_MS = 30_000;

/**
 * The content of all catalogs, stored on disk and open for reading. Survives restarts. When new
 * content is complete, it atomically replaces the previous content. Files have checksums: damaged
 * content is no longer served and is reported to `onLost`, and damaged compressed files are
 * recreated.
 *
 * Calls for one catalog must not overlap. Calls for different catalogs run concurrently, except
 * that one thread reads content and one thread compresses it.
 */
export class CatalogStore {
  readonly #dir: string;
  readonly #log: Logger;
  readonly #loader: Loader;
  readonly #compressor = new Compressor();
  readonly #retryMs: number;
  readonly #served = new Map<string, ServedCatalog>();
  readonly #finishing = new Map<string, PostPublish>();
  readonly #last = new LastContents();
  /**
   * Catalogs whose new version is being published. The previous version must not be finished
   * meanwhile, because that would remove the new version.
   */
  readonly #publishing = new Set<string>();
  /** Removals of lost content in progress. */
  readonly #dropping = new Map<string, Promise<void>>();
  /** Content lost before `onLost` was called. */
  readonly #lost: string[] = [];
  #lostHandler: ((name: string) => void) | undefined;

  private constructor({ dir, log, loader = new Loader(), retryMs = RETRY_MS }: StoreOptions) {
    this.#dir = dir;
    this.#log = log;
    this.#loader = loader;
    this.#retryMs = retryMs;
  }

  /** Opens a store and serves the content in its folder. Removes unusable content. */
  static async open(options: StoreOptions): Promise<CatalogStore> {
    const store = new CatalogStore(options);
    await mkdir(options.dir, { recursive: true, mode: 0o700 });
    const entries = await readdir(options.dir, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory() && validateSubdomain(entry.name).length === 0).map(({ name }) => name);
    await mapInParallel(names, OPENED_AT_ONCE, (name) => store.#reopen(name));
    return store;
  }

  /**
   * Sets the callback for catalogs whose content is damaged and no longer served. Immediately calls
   * it for content that was lost before.
   */
  onLost(handler: (name: string) => void): void {
    this.#lostHandler = handler;
    for (const name of this.#lost.splice(0)) handler(name);
  }

  /** Returns the served content of a catalog. */
  get(name: string): CatalogContent | undefined {
    return this.#served.get(name)?.content;
  }

  /** Returns the names of the served catalogs. */
  catalogs(): string[] {
    return [...this.#served.keys()];
  }

  /**
   * Reads the catalog at `root` and serves it. If that fails, the previous content is kept.
   * @throws Error with file, document, line and reason.
   */
  async store(name: string, root: string, origin: ContentOrigin, signal: AbortSignal): Promise<CatalogContent> {
    const folder = this.#folder(name);
    const staging = await folder.stage();
    try {
      const { artifacts, files, findings } = await this.#loader.load(root, staging, signal);
      const indexes = new Map([...artifacts].map(([artifact, columns]) => [artifact, new ContentIndex(columns)] as const));
      // The unpack time is in the status, so that all replicas use the same modification time for
      // the same content.
      const lastModified = this.#last.timeOf(name, indexes, Math.floor(Date.parse(origin.lastUnpacked) / 1_000));
      const content = await this.#publish(name, staging, { origin, lastModified, indexes, findings });
      const { lines, bytes } = content.catalog.index;
      this.#log.info({ catalog: name, digest: origin.digest, files, objects: lines, bytes }, "stored catalog content");
      return content;
    } finally {
      await folder.discard(staging);
    }
  }

  /** Stops serving a catalog and removes its content. */
  async remove(name: string): Promise<void> {
    this.#served.get(name)?.content.retire();
    this.#served.delete(name);
    this.#last.forget(name);
    await this.#stopFinishing(name);
    await this.#dropping.get(name);
    await this.#folder(name).remove();
  }

  /** Returns the names of all entries in the store's folder, including entries that are not catalogs. */
  names(): Promise<string[]> {
    return readdir(this.#dir);
  }

  /** Removes an entry of any type. @param name one of `names()`. */
  async removeEntry(name: string): Promise<void> {
    if (validateSubdomain(name).length === 0 && (await lstat(join(this.#dir, name))).isDirectory()) await this.remove(name);
    else await rm(join(this.#dir, name), { recursive: true, force: true });
  }

  /** Reads all stored content again and removes damaged content. */
  async scrub(signal: AbortSignal): Promise<void> {
    for (const [name, { version, content }] of this.#served) {
      signal.throwIfAborted();
      content.hold();
      try {
        const isFine = await this.#folder(name).check(version, content, signal);
        if (!isFine) this.#finishAgain(name, content, "compressed catalog content is damaged, recreating it");
      } catch (err) {
        signal.throwIfAborted();
        this.#lose(name, content, err);
      } finally {
        content.release();
      }
    }
  }

  /** Waits until all published content is synced to disk and compressed, or a first attempt has failed. */
  async settled(): Promise<void> {
    await Promise.all([...this.#finishing.values()].map(({ tried }) => tried));
    await Promise.all(this.#dropping.values());
  }

  /** Stops background work and closes all files. */
  async close(): Promise<void> {
    await Promise.all([...this.#finishing.keys()].map((name) => this.#stopFinishing(name)));
    await Promise.all(this.#dropping.values());
    await this.#compressor.close();
    for (const { content } of this.#served.values()) content.retire();
    this.#served.clear();
  }

  async #reopen(name: string): Promise<void> {
    const folder = this.#folder(name);
    let isLost = false;
    await folder.sweep();
    for (const version of await folder.versions()) {
      try {
        const described = await folder.describe(version);
        this.#last.remember(name, described);
        const content = await folder.open(version, described);
        await folder.makeCurrent(version);
        this.#serve(name, { version, content });
        const { digest } = content.origin;
        this.#log.info({ catalog: name, digest, objects: content.catalog.index.lines }, "serving stored catalog content");
        return;
      } catch (err) {
        isLost = true;
        this.#log.warn({ catalog: name, version, err }, "stored catalog content is invalid, removing it");
      }
    }
    await folder.remove();
    if (isLost) this.#reportLost(name);
  }

  async #publish(name: string, staging: string, described: ContentDescription): Promise<CatalogContent> {
    const folder = this.#folder(name);
    this.#publishing.add(name);
    try {
      await this.#stopFinishing(name);
      const served = await folder.publish(staging, described);
      const before = this.#served.get(name);
      if (before)
        await folder
          .inherit(served.version, served.content, before)
          .catch((err: unknown) => this.#log.debug({ catalog: name, err }, "cannot reuse compressed files"));
      this.#serve(name, served);
      before?.content.retire();
      return served.content;
    } catch (err) {
      const still = this.#served.get(name);
      if (still) this.#finish(name, still);
      throw err;
    } finally {
      this.#publishing.delete(name);
    }
  }

  #serve(name: string, served: ServedCatalog): void {
    this.#served.set(name, served);
    this.#last.remember(name, served.content);
    served.content.onDamage((damage) => this.#damaged(name, served.content, damage));
    this.#finish(name, served);
  }

  #damaged(name: string, content: CatalogContent, { artifact, encoding, err }: Damage): void {
    if (encoding === undefined) this.#lose(name, content, new Error(`${artifact}: ${err.message}`, { cause: err }));
    else this.#finishAgain(name, content, "compressed catalog content is damaged, recreating it");
  }

  /** Stops serving content with damaged lines and removes it. */
  #lose(name: string, content: CatalogContent, err: unknown): void {
    const served = this.#served.get(name);
    if (served?.content !== content) return;
    this.#log.error({ catalog: name, err }, "stored catalog content is damaged and no longer served, fetching it again");
    this.#served.delete(name);
    content.retire();
    const dropped = this.#stopFinishing(name)
      .then(() => this.#folder(name).drop(served.version))
      .catch((again: unknown) => this.#log.warn({ catalog: name, err: again }, "cannot remove damaged catalog content"));
    this.#dropping.set(name, dropped);
    this.#reportLost(name);
  }

  #reportLost(name: string): void {
    if (this.#lostHandler) this.#lostHandler(name);
    else this.#lost.push(name);
  }

  #finishAgain(name: string, content: CatalogContent, why: string): void {
    const served = this.#served.get(name);
    if (served?.content !== content || this.#publishing.has(name)) return;
    this.#log.warn({ catalog: name }, why);
    this.#finish(name, served);
  }

  #finish(name: string, { version, content }: ServedCatalog): void {
    const folder = this.#folder(name);
    const before = this.#finishing.get(name);
    before?.stop();
    const work = async (signal: AbortSignal): Promise<void> => {
      await before?.done;
      await folder.finish(version, content, this.#compressor, signal);
    };
    const events = {
      failed: (err: unknown) => this.#log.warn({ catalog: name, err }, "cannot compress or sync served catalog content"),
      damaged: (err: unknown) => this.#lose(name, content, err),
    };
    this.#finishing.set(name, new PostPublish(work, events, this.#retryMs));
  }

  async #stopFinishing(name: string): Promise<void> {
    const finishing = this.#finishing.get(name);
    if (!finishing) return;
    finishing.stop();
    await finishing.done;
    if (this.#finishing.get(name) === finishing) this.#finishing.delete(name);
  }

  #folder(name: string): ContentFolder {
    const problems = validateSubdomain(name);
    if (problems.length > 0) throw new Error(`invalid catalog name: ${problems.join("; ")}`);
    return new ContentFolder(join(this.#dir, name));
  }
}

/** Options of the scrubber. */
export interface ScrubberOptions {
  /** Reads all stored content and removes damaged content. */
  store: { scrub(signal: AbortSignal): Promise<void> };
  intervalMs: number;
  log: Logger;
  clock?: Clock;
}

/**
 * Periodically verifies that stored content is intact. The first check is one interval after the
 * start, because opening the store also verifies the content.
 */
export class Scrubber {
  readonly #options: ScrubberOptions;

  constructor(options: ScrubberOptions) {
    this.#options = options;
  }

  /** Runs until `signal` aborts. A failed round is logged and retried in the next round. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, intervalMs, log, clock = systemClock } = this.#options;
    for (;;) {
      await sleep(clock, intervalMs, signal);
      if (signal.aborted) return;
      await store.scrub(signal).catch((err: unknown) => {
        if (!signal.aborted) log.error({ err }, "cannot verify stored content");
      });
    }
  }
}
