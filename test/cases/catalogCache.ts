import { packageContentsFrom } from "../../pkg/fbc/content.ts";
import { decodeMetas } from "../../pkg/fbc/decode.ts";
import type { Meta, PackageContent } from "../../pkg/fbc/types.ts";
import { catalogFiles } from "./catalogFiles.ts";

/** A loaded catalog, without what resolution does not look at. */
export type LoadedCatalog = ReadonlyMap<string, PackageContent>;

interface Kept {
  readonly content: Promise<LoadedCatalog>;
  objects: number;
}

/** Objects (bundles, channels, packages) kept at most; one takes about a kilobyte. */
const MAX_OBJECTS = 150_000;
const HEAVY_PROPERTIES: ReadonlySet<unknown> = new Set(["olm.bundle.object", "olm.csv.metadata"]);

/** Catalogs by folder. The least recently used are dropped so that memory stays bounded however many catalogs the cases name. */
export class CatalogCache {
  readonly #kept = new Map<string, Kept>();
  readonly #maxObjects: number;

  constructor(maxObjects: number = MAX_OBJECTS) {
    this.#maxObjects = maxObjects;
  }

  /** How many catalogs are kept now. */
  get size(): number {
    return this.#kept.size;
  }

  /** @throws Error when the folder is missing or its content is no catalog. */
  async load(folder: string): Promise<LoadedCatalog> {
    let kept = this.#kept.get(folder);
    this.#kept.delete(folder);
    kept ??= { content: loadCatalog(folder), objects: 0 };
    this.#kept.set(folder, kept);
    const content = await kept.content;
    kept.objects = 1;
    for (const { bundles, channels } of content.values()) kept.objects += 1 + bundles.length + channels.length;
    this.#dropOldest();
    return content;
  }

  #dropOldest(): void {
    let total = 0;
    for (const { objects } of this.#kept.values()) total += objects;
    for (const [folder, { objects }] of this.#kept) {
      if (total <= this.#maxObjects || this.#kept.size === 1) return;
      total -= objects;
      this.#kept.delete(folder);
    }
  }
}

async function loadCatalog(folder: string): Promise<LoadedCatalog> {
  const metas: Meta[] = [];
  for await (const { path, bytes } of catalogFiles(folder)) for await (const meta of decodeMetas(bytes, path)) metas.push(lightened(meta));
  return packageContentsFrom(metas);
}

/** `meta` without icons, related images and the properties that hold whole manifests. */
function lightened(meta: Meta): Meta {
  const { icon: _icon, relatedImages: _images, ...blob } = meta.blob;
  const properties = blob["properties"];
  if (Array.isArray(properties))
    blob["properties"] = properties.filter((property) => !HEAVY_PROPERTIES.has((property as { type?: unknown } | null)?.type));
  return { ...meta, blob };
}
