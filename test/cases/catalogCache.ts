import { groupByPackage } from "../../pkg/fbc/content.ts";
import { decodeMetas } from "../../pkg/fbc/decode.ts";
import type { Meta, PackageContent } from "../../pkg/fbc/types.ts";
import { findMember } from "../../pkg/golang/members.ts";
import { catalogFiles } from "./catalogFiles.ts";

/** A loaded catalog with only the fields that resolution reads. */
export type LoadedCatalog = ReadonlyMap<string, PackageContent>;

type KeepsProperty = (type: unknown) => boolean;

interface Kept {
  readonly content: Promise<LoadedCatalog>;
  objects: number;
}

/** Maximum number of kept objects (packages, bundles, channel entries) of up to a kilobyte each. */
const MAX_OBJECTS = 400_000;
const KEPT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  "olm.bundle": ["image", "properties"],
  "olm.channel": ["entries"],
  "olm.deprecations": ["entries"],
};

/** Catalogs by folder. Evicts the least recently used ones, so that memory is limited for any number of catalogs. */
export class CatalogCache {
  readonly #kept = new Map<string, Kept>();
  readonly #maxObjects: number;
  readonly #keepsProperty: KeepsProperty;

  /** @param keepsProperty whether properties of a type are kept; by default only those with the version */
  constructor(maxObjects: number = MAX_OBJECTS, keepsProperty: KeepsProperty = (type) => type === "olm.package") {
    this.#maxObjects = maxObjects;
    this.#keepsProperty = keepsProperty;
  }

  /** Number of cached catalogs. */
  get size(): number {
    return this.#kept.size;
  }

  /** Loads a catalog. @throws Error if the folder is missing or its content is not a catalog. */
  async load(folder: string): Promise<LoadedCatalog> {
    let kept = this.#kept.get(folder);
    this.#kept.delete(folder);
    kept ??= { content: loadCatalog(folder, this.#keepsProperty), objects: 0 };
    this.#kept.set(folder, kept);
    const content = await kept.content;
    kept.objects = 1;
    for (const { bundles, channels } of content.values()) {
      kept.objects += 1 + bundles.length;
      for (const { entries } of channels) kept.objects += entries.length;
    }
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

async function loadCatalog(folder: string, keepsProperty: KeepsProperty): Promise<LoadedCatalog> {
  const metas: Meta[] = [];
  for await (const { path, bytes } of catalogFiles(folder))
    for await (const meta of decodeMetas(bytes, path)) metas.push(removeContent(meta, keepsProperty));
  return groupByPackage(metas);
}

/**
 * Copies the fields of `meta` that resolution reads. Without the copy, parts of a document keep the whole document in memory, which can be a megabyte
 * for a bundle.
 */
function removeContent({ schema, package: packageName, name, blob }: Meta, keepsProperty: KeepsProperty): Meta {
  const light: Record<string, unknown> = {};
  for (const key of KEPT_MEMBERS[schema] ?? []) light[key] = findMember(blob, key);
  const { properties } = light;
  if (Array.isArray(properties)) light["properties"] = properties.filter((property) => keepsProperty(getType(property)));
  return JSON.parse(JSON.stringify({ schema, package: packageName, name, blob: light }, withoutBigint)) as Meta;
}

function getType(property: unknown): unknown {
  return typeof property === "object" && property !== null ? findMember(property as Record<string, unknown>, "type") : undefined;
}

function withoutBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
