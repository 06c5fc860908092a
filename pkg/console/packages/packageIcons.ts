import { LRUCache } from "lru-cache";
import type { CachedCatalog } from "../../catalogcache/catalogCache.ts";
import { readIconUrl } from "../../consoleapi/icon.ts";

/** Maximum length of all kept icons, in characters. */
const MAX_SIZE = 16 * 1024 * 1024;

/** The icons of packages, read once per content of a catalog. */
export class PackageIcons {
  readonly #ids = new WeakMap<CachedCatalog, number>();
  #lastId = 0;
  readonly #icons = new LRUCache<string, string>({ maxSize: MAX_SIZE, sizeCalculation: (icon, key) => icon.length + key.length });

  /** Returns an icon as a data URL; undefined if the package has none that pages may show. */
  async read(book: CachedCatalog, name: string): Promise<string | undefined> {
    const key = `${this.#getId(book)} ${name}`;
    const known = this.#icons.get(key);
    if (known !== undefined) return known || undefined;
    const meta = await book.packageMetaOf(name);
    const icon = meta && readIconUrl(meta.blob);
    this.#icons.set(key, icon ?? "");
    return icon;
  }

  #getId(book: CachedCatalog): number {
    const known = this.#ids.get(book);
    if (known !== undefined) return known;
    this.#ids.set(book, ++this.#lastId);
    return this.#lastId;
  }
}
