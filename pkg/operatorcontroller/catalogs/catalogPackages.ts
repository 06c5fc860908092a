import { isDeepStrictEqual } from "node:util";
import { LRUCache } from "lru-cache";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import { mapInParallel, rejectOnAbort } from "../../async/concurrency.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { CatalogPackage, Unresolved } from "../../resolve/resolution.ts";
import { type SelectedCatalogs, selectCatalogs } from "../../resolve/resolve.ts";

/** A cached package, or the read in progress. */
interface CachedPackage {
  /** The digest reference of the catalog content. */
  readonly ref: string;
  readonly content: Promise<PackageContent | undefined>;
  /** Entity tags of the responses, by path. */
  readonly tags: Map<string, string>;
}

/** A cached package and the previous cached package, which is restored if the read fails. */
interface CacheEntry extends CachedPackage {
  readonly before?: CachedPackage | undefined;
}

/**
 * Maximum total size of cached packages, in bytes of JSON. In memory, packages need about three times as much. A typical package has tens of
 * kilobytes, the largest packages have hundreds. A package that a catalog does not contain, which is the common case, needs almost no memory.
 */
const MAX_CACHED_BYTES = 24 * 1024 * 1024;
/** Overhead of a cache entry in bytes. */
const BYTES_PER_ENTRY = 1_024;

/**
 * Caches packages by catalog and name. Evicts the least recently used packages if the total size exceeds a limit. Keeps the previous package if a
 * read fails.
 */
export class PackageCache {
  readonly #kept: LRUCache<string, CacheEntry>;

  constructor(maxBytes: number = MAX_CACHED_BYTES) {
    this.#kept = new LRUCache({ maxSize: maxBytes });
  }

  /** Total size of all entries in bytes, as counted against the limit. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /** Returns a package without marking it as used. */
  peek(catalog: string, packageName: string): CachedPackage | undefined {
    return this.#kept.peek(packageKey(catalog, packageName));
  }

  /** Returns a package and marks it as used. */
  use(catalog: string, packageName: string): CachedPackage | undefined {
    return this.#kept.get(packageKey(catalog, packageName));
  }

  /** Caches a package and replaces its previous entry. Until the read ends, the entry counts with a fixed minimum size. */
  keep(catalog: string, packageName: string, reading: CachedPackage): void {
    const key = packageKey(catalog, packageName);
    const known = this.#kept.peek(key);
    const before = known && (known.before ?? { ref: known.ref, content: known.content, tags: known.tags });
    this.#set(key, { ...reading, before });
  }

  /** Drops the packages of a catalog. */
  forget(catalog: string): void {
    const own = [...this.#kept.keys()].filter((key) => key.startsWith(packageKey(catalog, "")));
    for (const key of own) this.#kept.delete(key);
  }

  #set(key: string, kept: CacheEntry): void {
    this.#kept.set(key, kept, { size: BYTES_PER_ENTRY });
    void this.#updateSize(key, kept);
  }

  async #updateSize(key: string, kept: CacheEntry): Promise<void> {
    try {
      const content = await kept.content;
      if (this.#kept.peek(key) !== kept) return;
      const bytes = content === undefined ? 0 : JSON.stringify(content).length;
      // Sets the entry again, because the cache only reads its size when it is set.
      this.#kept.set(key, { ...kept, before: undefined }, { size: BYTES_PER_ENTRY + bytes });
    } catch {
      if (this.#kept.peek(key) !== kept) return;
      this.#kept.delete(key);
      if (kept.before) this.#set(key, kept.before);
    }
  }
}

/** Returns the cache key of a package. Catalog names do not contain slashes. */
function packageKey(catalog: string, packageName: string): string {
  return `${catalog}/${packageName}`;
}

/** Lists the ClusterCatalogs of the cluster, from a cache. */
export interface CatalogLister {
  list(): readonly ClusterCatalog[];
}

/** Selects ClusterCatalogs by `source.selector`, except for catalogs that are being deleted. */
export function selectClusterCatalogs(catalogs: CatalogLister, source: CatalogSource): SelectedCatalogs<ClusterCatalog> | Unresolved {
  const present = catalogs.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return selectCatalogs(source, present, ({ metadata }) => metadata);
}

/** Thrown if a catalog's response has a status other than 200. */
export class UnexpectedStatus extends Error {
  override readonly name = "UnexpectedStatus";
  readonly status: number;

  constructor(status: number) {
    super(`error: received unexpected response status code ${status}`);
    this.status = status;
  }
}

/** Thrown if a response contains content other than the content in the catalog's status, because a replica or the status is outdated. */
export class UnexpectedContent extends Error {
  override readonly name = "UnexpectedContent";

  constructor(got: string, want: string) {
    super(`the response contains catalog content ${got}, but status.resolvedSource is ${want}`);
  }
}

/** The result of the previous read of a package. */
export interface KnownPackage {
  readonly content: PackageContent | undefined;
  /** Entity tags of the responses, by path. The reader replaces them by the entity tags of its own responses. */
  readonly tags: Map<string, string>;
}

/** Reads one package of one catalog from the content with the digest in `ref`. Returns the known content if it has not changed. */
export interface PackageReader {
  packageContent(
    base: string,
    ref: string,
    packageName: string,
    signal: AbortSignal,
    known?: KnownPackage,
  ): Promise<PackageContent | undefined>;
}

/**
 * Reads single packages of the cluster's catalogs, and caches them by catalog digest: a hundred extensions with the same package need only one
 * request. Evicts the least recently used packages if the total size exceeds a limit.
 */
export class CatalogPackages {
  readonly #reader: PackageReader;
  readonly #kept: PackageCache;
  /** Aborts all reads. A read has several callers, so that no caller aborts it. */
  readonly #stopped = new AbortController();

  constructor(reader: PackageReader, kept: PackageCache = new PackageCache()) {
    this.#reader = reader;
    this.#kept = kept;
  }

  /**
   * Returns one entry for each catalog, in the order given; `unavailable` has the reason if a catalog cannot be read.
   * Omits catalogs with availability mode Unavailable.
   * @throws the signal's reason when it aborts; a shared read continues for its other callers.
   */
  async read(catalogs: readonly ClusterCatalog[], packageName: string, signal: AbortSignal): Promise<CatalogPackage[]> {
    const available = catalogs.filter((catalog) => catalog.spec.availabilityMode !== "Unavailable");
    return Promise.all(available.map((catalog) => this.#readOne(catalog, packageName, signal)));
  }

  /**
   * Reports whether a package is the same in the new content of a catalog as in the previous content. Call it before any other read of the new
   * content.
   * @param before reference of the previous content.
   * @returns false if the previous content is no longer cached, or the catalog cannot be read.
   */
  async isUnchanged(catalog: ClusterCatalog, before: string | undefined, packageName: string, signal: AbortSignal): Promise<boolean> {
    const { name } = catalog.metadata;
    const kept = this.#kept.peek(name, packageName);
    const state = getServedContent(catalog);
    if (kept === undefined || kept.ref !== before || typeof state === "string") return false;
    try {
      const [now, then] = await rejectOnAbort(Promise.all([this.#package(name, state, packageName), kept.content]), signal);
      return isDeepStrictEqual(now, then);
    } catch {
      return false;
    }
  }

  /** Drops the packages of a deleted catalog. */
  forget(catalogName: string): void {
    this.#kept.forget(catalogName);
  }

  /** Aborts all reads. */
  close(): void {
    this.#stopped.abort();
  }

  async #readOne(catalog: ClusterCatalog, packageName: string, signal: AbortSignal): Promise<CatalogPackage> {
    const { name } = catalog.metadata;
    const entry = { name, priority: catalog.spec.priority ?? 0 };
    const state = getServedContent(catalog);
    if (typeof state === "string") {
      const lastKnown = await rejectOnAbort(this.#lastKnown(name, packageName), signal);
      return { ...entry, content: undefined, unavailable: state, ...getReport(catalog), ...lastKnown };
    }
    try {
      return { ...entry, content: await rejectOnAbort(this.#package(name, state, packageName), signal) };
    } catch (err) {
      signal.throwIfAborted();
      const text = getErrorMessage(err);
      const unavailable =
        err instanceof UnexpectedStatus || err instanceof UnexpectedContent
          ? `cache for catalog "${name}" not found; ${text}`
          : `error retrieving cache for catalog "${name}": ${text}`;
      return { ...entry, content: undefined, unavailable, ...(await this.#lastKnown(name, packageName)) };
    }
  }

  /** Returns the last known content of a package; an empty object if the package is not cached or the read failed. */
  async #lastKnown(catalog: string, packageName: string): Promise<Pick<CatalogPackage, "lastKnown">> {
    const kept = this.#kept.peek(catalog, packageName);
    if (!kept) return {};
    try {
      return { lastKnown: { content: await kept.content } };
    } catch {
      return {};
    }
  }

  #package(catalog: string, at: { base: string; ref: string }, packageName: string): Promise<PackageContent | undefined> {
    const kept = this.#kept.use(catalog, packageName);
    if (kept?.ref === at.ref) return kept.content;
    const tags = new Map<string, string>();
    const content = this.#read(at, packageName, kept, tags);
    this.#kept.keep(catalog, packageName, { ref: at.ref, content, tags });
    return content;
  }

  async #read(
    { base, ref }: { base: string; ref: string },
    packageName: string,
    kept: CachedPackage | undefined,
    tags: Map<string, string>,
  ): Promise<PackageContent | undefined> {
    let known: PackageContent | undefined;
    try {
      known = await kept?.content;
      // A read in progress replaces its tags until it ends, so they belong to this content only now.
      for (const [path, tag] of kept?.tags ?? []) tags.set(path, tag);
    } catch {
      // Without the known package, the response contains the whole package.
    }
    return this.#reader.packageContent(base, ref, packageName, this.#stopped.signal, { content: known, tags });
  }
}

/**
 * Returns the base URL and the content reference of a catalog, or the reason why it cannot be read.
 * @see operator-controller df2c201d internal/operator-controller/catalogmetadata/client/client.go validateCatalog
 */
export function getServedContent(catalog: ClusterCatalog): { base: string; ref: string } | string {
  const { name } = catalog.metadata;
  const { status } = catalog;
  if (findCondition(status?.conditions, "Serving")?.status !== "True") return `catalog "${name}" is not being served`;
  if (!status?.resolvedSource) return `error: catalog "${name}" has a nil status.resolvedSource value`;
  const ref = status.resolvedSource.image?.ref;
  if (!ref) return `error: catalog "${name}" has a nil status.resolvedSource.image value`;
  const base = status.urls?.base;
  if (!base) return `error: catalog "${name}" has a nil status.urls value`;
  return { base, ref };
}

/** Explains why a catalog is not served, with reason and message of its condition Progressing. Empty if the reason is Succeeded. */
function getReport({ status }: ClusterCatalog): Pick<CatalogPackage, "reports"> {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing) return { reports: "catalogd has not reported its status yet" };
  const { reason, message } = progressing;
  return reason === Reason.Succeeded ? {} : { reports: `it reports ${reason}: ${message}` };
}

/** Number of parallel reads of packages, and the time limit for all of them. Packages that are not read in time count as changed. */
const PARALLEL_PACKAGES = 8;
const COMPARISON_TIMEOUT_MS = 30_000;

/** A catalog with new content, and the reference of the previous content. */
export interface ContentChange {
  readonly catalog: ClusterCatalog;
  readonly before: string | undefined;
}

/**
 * Calls `onConcerned` for each extension that new content of a catalog affects: its package differs or cannot be compared, or its last reconcile was
 * not successful. Reads each package once. If the entity tags match, catalogd does not send the package again.
 */
export async function findAffectedExtensions(
  { catalog, before }: ContentChange,
  extensions: readonly ClusterExtension[],
  contents: Pick<CatalogPackages, "isUnchanged">,
  onConcerned: (name: string) => void,
): Promise<void> {
  const signal = AbortSignal.timeout(COMPARISON_TIMEOUT_MS);
  const byPackage = Map.groupBy(extensions, (extension) =>
    isSettled(extension) ? extension.spec?.source?.catalog?.packageName : undefined,
  );
  for (const { metadata } of byPackage.get(undefined) ?? []) onConcerned(metadata.name);
  await mapInParallel([...byPackage], PARALLEL_PACKAGES, async ([packageName, group]) => {
    if (packageName === undefined || (await contents.isUnchanged(catalog, before, packageName, signal))) return;
    for (const { metadata } of group) onConcerned(metadata.name);
  });
}

/** Reports whether the last reconcile succeeded for the current spec. If not, the extension is reconciled even if the package has not changed. */
export function isSettled({ metadata, status }: ClusterExtension): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  return (
    status?.install !== undefined &&
    progressing?.status === "True" &&
    progressing.reason === Reason.Succeeded &&
    progressing.observedGeneration === metadata.generation
  );
}
