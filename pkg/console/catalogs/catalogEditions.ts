import { LRUCache } from "lru-cache";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { type CatalogDifference, diffCatalogs } from "../../authoring/diff/diffCatalogs.ts";
import { type EditionDifference, MAX_ENTRIES } from "../../consoleapi/catalogs.ts";
import type { Informer } from "../../controller/informer.ts";
import { readComparedCatalog } from "../../sources/comparedCatalogs.ts";
import type { CatalogLease } from "../../sources/keptCatalogs.ts";

const MAX_CATALOGS = 500;

/** The images of a catalog. */
interface Editions {
  readonly current: string;
  /** The image before; undefined if it is unknown. */
  readonly before: string | undefined;
}

/**
 * Remembers the image that a catalog served before its current one. ClusterCatalogs do not record it, so only changes since the start of the console
 * are known.
 */
export class CatalogEditions {
  readonly #followed = new WeakSet<object>();
  readonly #known = new LRUCache<string, Editions>({ max: MAX_CATALOGS });

  /** Notes the served images of all later changes that a watch reports. */
  follow(watch: Pick<Informer<ClusterCatalog>, "onEvent">): void {
    if (this.#followed.has(watch)) return;
    this.#followed.add(watch);
    watch.onEvent(({ object }) => this.note([object]));
  }

  /** Notes the served images. */
  note(catalogs: readonly Pick<ClusterCatalog, "metadata" | "status">[]): void {
    for (const { metadata, status } of catalogs) {
      const current = status?.resolvedSource?.image?.ref;
      const key = metadata.uid ?? metadata.name;
      const known = this.#known.get(key);
      if (current !== undefined && known?.current !== current) this.#known.set(key, { current, before: known?.current });
    }
  }

  /** Compares the current content of a catalog with the content before. Reads content before that is not in the cache from its registry. */
  async compare(
    { metadata, status }: Pick<ClusterCatalog, "metadata" | "status">,
    lease: Pick<CatalogLease, "catalogFolder" | "replacedFolder">,
    signal: AbortSignal,
  ): Promise<EditionDifference> {
    const base = status?.urls?.base;
    const { current, before } = this.#known.get(metadata.uid ?? metadata.name) ?? {};
    if (current === undefined || before === undefined) return { differences: [], omitted: 0 };
    const old = await readComparedCatalog(await lease.replacedFolder(before, base), signal);
    const found = diffCatalogs(old, await readComparedCatalog(await lease.catalogFolder(current, base), signal));
    // Breaking differences first, so that none of them is left out.
    const sorted = [...found.filter(({ breaking }) => breaking), ...found.filter(({ breaking }) => !breaking)];
    return { before, differences: sorted.slice(0, MAX_ENTRIES).map(toEntry), omitted: Math.max(0, found.length - MAX_ENTRIES) };
  }
}

function toEntry({ change, package: name, message, breaking }: CatalogDifference): EditionDifference["differences"][number] {
  return { change, package: name, message, isBreaking: breaking };
}
