import { isDeepStrictEqual } from "node:util";
import { LRUCache } from "lru-cache";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogSource, ClusterExtension } from "../../api/clusterExtension.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { messageOf } from "../../errors/errors.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { CatalogPackage, Unresolved } from "../../resolve/resolution.ts";
import { type SelectedCatalogs, selectCatalogs } from "../../resolve/resolve.ts";

/** One reading of a package. */
interface KeptPackage {
  /** The content that it was read from, by digest. */
  readonly ref: string;
  readonly content: Promise<PackageContent | undefined>;
  /** Entity tags of the answers that it was read from, by their path. */
  readonly tags: Map<string, string>;
}

/** A reading, and the reading before it, which comes back where this one fails. */
interface KeptEntry extends KeptPackage {
  readonly before?: KeptPackage | undefined;
}

/**
 * What is kept in all, in bytes as JSON; it takes about three times as much of memory. A package takes some tens of kilobytes, the largest
 * real ones some hundred, and next to nothing where a catalog does not hold it, as most do not.
 */
const MAX_KEPT_BYTES = 24 * 1024 * 1024;
/** What an entry takes beside its content. */
const BYTES_PER_ENTRY = 1_024;

/** Readings of packages by catalog and package, the least recently used dropped beyond a bound in bytes; in place of one that fails, the one before stays. */
export class KeptPackages {
  readonly #kept: LRUCache<string, KeptEntry>;

  constructor(maxBytes: number = MAX_KEPT_BYTES) {
    this.#kept = new LRUCache({ maxSize: maxBytes });
  }

  /** What all of it takes, as it counts. */
  get bytes(): number {
    return this.#kept.calculatedSize;
  }

  /** The reading of a package, without using it. */
  peek(catalog: string, packageName: string): KeptPackage | undefined {
    return this.#kept.peek(packageKey(catalog, packageName));
  }

  /** The reading of a package, which counts as used now. */
  use(catalog: string, packageName: string): KeptPackage | undefined {
    return this.#kept.get(packageKey(catalog, packageName));
  }

  /** Keeps a reading in place of the one before; one that is under way counts as small until it has ended. */
  keep(catalog: string, packageName: string, reading: KeptPackage): void {
    const key = packageKey(catalog, packageName);
    const known = this.#kept.peek(key);
    const before = known && (known.before ?? { ref: known.ref, content: known.content, tags: known.tags });
    this.#set(key, { ...reading, before });
  }

  /** Drops what is kept of a catalog. */
  forget(catalog: string): void {
    const own = [...this.#kept.keys()].filter((key) => key.startsWith(packageKey(catalog, "")));
    for (const key of own) this.#kept.delete(key);
  }

  #set(key: string, kept: KeptEntry): void {
    this.#kept.set(key, kept, { size: BYTES_PER_ENTRY });
    void this.#weigh(key, kept);
  }

  async #weigh(key: string, kept: KeptEntry): Promise<void> {
    try {
      const content = await kept.content;
      if (this.#kept.peek(key) !== kept) return;
      const bytes = content === undefined ? 0 : JSON.stringify(content).length;
      // The size of an entry changes only with its value.
      this.#kept.set(key, { ...kept, before: undefined }, { size: BYTES_PER_ENTRY + bytes });
    } catch {
      if (this.#kept.peek(key) !== kept) return;
      this.#kept.delete(key);
      if (kept.before) this.#set(key, kept.before);
    }
  }
}

/** Names of catalogs hold no slash. */
function packageKey(catalog: string, packageName: string): string {
  return `${catalog}/${packageName}`;
}

/** Lists the ClusterCatalogs of the cluster, from a cache. */
export interface CatalogLister {
  list(): readonly ClusterCatalog[];
}

/** Selects ClusterCatalogs by `source.selector`. A catalog that is being deleted never answers again, so it is not selected. */
export function selectClusterCatalogs(catalogs: CatalogLister, source: CatalogSource): SelectedCatalogs<ClusterCatalog> | Unresolved {
  const present = catalogs.list().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return selectCatalogs(source, present, ({ metadata }) => metadata);
}

/** The answer of a catalog was not 200. */
export class UnexpectedStatus extends Error {
  override readonly name = "UnexpectedStatus";
  readonly status: number;

  constructor(status: number) {
    super(`error: received unexpected response status code ${status}`);
    this.status = status;
  }
}

/** The answer comes from other content than the catalog's status names: a replica that lags behind, or a status that does. */
export class UnexpectedContent extends Error {
  override readonly name = "UnexpectedContent";

  constructor(got: string, want: string) {
    super(`it answers from ${got} while status.resolvedSource says ${want}`);
  }
}

/** What was read of a package before. */
export interface KnownPackage {
  readonly content: PackageContent | undefined;
  /** Entity tags of the answers that it was read from, by their path; the reader puts those of its own answers in their place. */
  readonly tags: Map<string, string>;
}

/** Reads one package of one catalog, from the content that `ref` names by digest; gives what is known again where that has not changed. */
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
 * What the cluster's catalogs say about single packages, kept per catalog digest, so that a hundred extensions of one
 * package cost one request. The least recently used package is dropped beyond a bound in bytes.
 */
export class CatalogPackages {
  readonly #reader: PackageReader;
  readonly #kept: KeptPackages;

  constructor(reader: PackageReader, kept: KeptPackages = new KeptPackages()) {
    this.#reader = reader;
    this.#kept = kept;
  }

  /**
   * One entry for each catalog, in the order given; a catalog that cannot answer says why in `unavailable`.
   * Catalogs with availability mode Unavailable are left out.
   */
  async read(catalogs: readonly ClusterCatalog[], packageName: string, signal: AbortSignal): Promise<CatalogPackage[]> {
    const asked = catalogs.filter((catalog) => catalog.spec.availabilityMode !== "Unavailable");
    return Promise.all(asked.map((catalog) => this.#one(catalog, packageName, signal)));
  }

  /**
   * Whether a new edition of a catalog says of a package what the one before said. To be called before anybody else reads the new one.
   * @param before reference of the edition before.
   * @returns false where that is not known any more, or the catalog cannot be asked.
   */
  async isAsBefore(catalog: ClusterCatalog, before: string | undefined, packageName: string, signal: AbortSignal): Promise<boolean> {
    const { name } = catalog.metadata;
    const kept = this.#kept.peek(name, packageName);
    const state = servedFrom(catalog);
    if (kept === undefined || kept.ref !== before || typeof state === "string") return false;
    try {
      const [now, then] = await Promise.all([this.#package(name, state, packageName, signal), kept.content]);
      return isDeepStrictEqual(now, then);
    } catch {
      return false;
    }
  }

  /** Drops what is kept of a catalog that is gone. */
  forget(catalogName: string): void {
    this.#kept.forget(catalogName);
  }

  async #one(catalog: ClusterCatalog, packageName: string, signal: AbortSignal): Promise<CatalogPackage> {
    const { name } = catalog.metadata;
    const entry = { name, priority: catalog.spec.priority ?? 0 };
    const state = servedFrom(catalog);
    if (typeof state === "string")
      return { ...entry, content: undefined, unavailable: state, ...reportOf(catalog), ...(await this.#lastKnown(name, packageName)) };
    try {
      return { ...entry, content: await this.#package(name, state, packageName, signal) };
    } catch (err) {
      signal.throwIfAborted();
      const text = messageOf(err);
      const unavailable =
        err instanceof UnexpectedStatus || err instanceof UnexpectedContent
          ? `cache for catalog "${name}" not found; ${text}`
          : `error retrieving cache for catalog "${name}": ${text}`;
      return { ...entry, content: undefined, unavailable, ...(await this.#lastKnown(name, packageName)) };
    }
  }

  /** What the catalog said about the package when it was last read; nothing where that is not known, or the reading failed. */
  async #lastKnown(catalog: string, packageName: string): Promise<Pick<CatalogPackage, "lastKnown">> {
    const kept = this.#kept.peek(catalog, packageName);
    if (!kept) return {};
    try {
      return { lastKnown: { content: await kept.content } };
    } catch {
      return {};
    }
  }

  #package(
    catalog: string,
    at: { base: string; ref: string },
    packageName: string,
    signal: AbortSignal,
  ): Promise<PackageContent | undefined> {
    const kept = this.#kept.use(catalog, packageName);
    if (kept?.ref === at.ref) return kept.content;
    const tags = new Map(kept?.tags);
    const content = this.#read(at, packageName, signal, kept, tags);
    this.#kept.keep(catalog, packageName, { ref: at.ref, content, tags });
    return content;
  }

  async #read(
    { base, ref }: { base: string; ref: string },
    packageName: string,
    signal: AbortSignal,
    kept: KeptPackage | undefined,
    tags: Map<string, string>,
  ): Promise<PackageContent | undefined> {
    let known: PackageContent | undefined;
    try {
      known = await kept?.content;
    } catch {
      tags.clear();
    }
    return this.#reader.packageContent(base, ref, packageName, signal, { content: known, tags });
  }
}

/**
 * Where a catalog is served and which content that is, or why it cannot be asked.
 * @see operator-controller df2c201d internal/operator-controller/catalogmetadata/client/client.go validateCatalog
 */
export function servedFrom(catalog: ClusterCatalog): { base: string; ref: string } | string {
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

/** What a catalog that is not served reports about itself: reason and message of its condition Progressing, unless it has succeeded. */
function reportOf({ status }: ClusterCatalog): Pick<CatalogPackage, "reports"> {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing) return { reports: "catalogd has not reported on it yet" };
  const { reason, message } = progressing;
  return reason === Reason.Succeeded ? {} : { reports: `it reports ${reason}: ${message}` };
}

/** Packages that are asked for at once, and the longest time that takes; what has not answered by then counts as changed. */
const PARALLEL_PACKAGES = 8;
const COMPARISON_TIMEOUT_MS = 30_000;

/** A catalog with new content, and the reference of the content before. */
export interface NewEdition {
  readonly catalog: ClusterCatalog;
  readonly before: string | undefined;
}

/**
 * Tells `onConcerned` each extension that a new edition of a catalog concerns: its package differs, or something is left to do for it, or that
 * cannot be told. Of hundreds of extensions it is mostly few; each package is asked for once, and a catalog that knows its tags sends none.
 */
export async function findConcerned(
  { catalog, before }: NewEdition,
  extensions: readonly ClusterExtension[],
  contents: Pick<CatalogPackages, "isAsBefore">,
  onConcerned: (name: string) => void,
): Promise<void> {
  const signal = AbortSignal.timeout(COMPARISON_TIMEOUT_MS);
  const byPackage = Map.groupBy(extensions, (extension) =>
    isSettled(extension) ? extension.spec?.source?.catalog?.packageName : undefined,
  );
  for (const { metadata } of byPackage.get(undefined) ?? []) onConcerned(metadata.name);
  await mapInParallel([...byPackage], PARALLEL_PACKAGES, async ([packageName, group]) => {
    if (packageName === undefined || (await contents.isAsBefore(catalog, before, packageName, signal))) return;
    for (const { metadata } of group) onConcerned(metadata.name);
  });
}

/** Whether the last pass found nothing left to do; only such an extension may be left alone. */
function isSettled({ metadata, status }: ClusterExtension): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  return (
    status?.install !== undefined &&
    progressing?.status === "True" &&
    progressing.reason === Reason.Succeeded &&
    progressing.observedGeneration === metadata.generation
  );
}
