import { isDeepStrictEqual } from "node:util";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import { messageOf } from "../../errors/errors.ts";
import type { PackageContent } from "../../fbc/types.ts";
import type { CatalogContent } from "../../resolve/resolution.ts";
import { type KeptPackage, KeptPackages } from "./keptPackages.ts";
import { UnexpectedContent, UnexpectedStatus } from "./unexpectedAnswer.ts";

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
export class CatalogContents {
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
  async of(catalogs: readonly ClusterCatalog[], packageName: string, signal: AbortSignal): Promise<CatalogContent[]> {
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

  async #one(catalog: ClusterCatalog, packageName: string, signal: AbortSignal): Promise<CatalogContent> {
    const { name } = catalog.metadata;
    const entry = { name, priority: catalog.spec.priority ?? 0, labels: catalog.metadata.labels ?? {} };
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
  async #lastKnown(catalog: string, packageName: string): Promise<Pick<CatalogContent, "lastKnown">> {
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
 * @see operator-controller internal/operator-controller/catalogmetadata/client/client.go validateCatalog
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
function reportOf({ status }: ClusterCatalog): Pick<CatalogContent, "reports"> {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing) return { reports: "catalogd has not reported on it yet" };
  const { reason, message } = progressing;
  return reason === Reason.Succeeded ? {} : { reports: `it reports ${reason}: ${message}` };
}
