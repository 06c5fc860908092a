import { decodeMetas } from "../../pkg/fbc/decode.ts";
import type { Meta } from "../../pkg/fbc/types.ts";
import { catalogFiles } from "../cases/catalogFiles.ts";

/** A catalog as large as the largest known one. */
export interface LargeCatalog {
  /** One JSON file for each package, indented as opm writes it, by slash path. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly bytes: number;
  readonly bundles: number;
  /** Size of each package as JSON Lines, in bytes. */
  readonly packages: ReadonlyMap<string, number>;
}

/** Size of the largest known catalog. */
export const LARGE_BYTES = 539_000_000;

const PACKAGE_PROPERTY = "olm.package";

/** Repeats the packages of real catalogs under new names until their files have `size` bytes. */
export async function largeCatalog(folders: readonly string[], count: number): Promise<LargeCatalog> {
  const originals = await listPackages(folders);
  const files = new Map<string, Uint8Array>();
  const packages = new Map<string, number>();
  let bytes = 0;
  let bundles = 0;
  for (let copy = 1; bytes < count; copy++) {
    for (const [original, metas] of originals) {
      const name = `${original}-${copy}`;
      const renamed = metas.map((meta) => renameBlob(meta, name));
      const file = Buffer.from(renamed.map((blob) => `${JSON.stringify(blob, withoutBigint, 4)}\n`).join(""));
      files.set(`${name}/catalog.json`, file);
      packages.set(
        name,
        renamed.reduce((sum, blob) => sum + JSON.stringify(blob, withoutBigint).length + 1, 0),
      );
      bytes += file.length;
      bundles += metas.filter(({ schema }) => schema === "olm.bundle").length;
      if (bytes >= count) break;
    }
  }
  return { files, bytes, bundles, packages };
}

/**
 * Returns the packages of all folders. A package that an earlier folder contains gets another name, because a catalog
 * contains each package once.
 */
async function listPackages(folders: readonly string[]): Promise<Map<string, Meta[]>> {
  const all = new Map<string, Meta[]>();
  for (const [i, folder] of folders.entries()) {
    const packages = new Map<string, Meta[]>();
    for await (const { path, bytes } of catalogFiles(folder)) {
      for await (const meta of decodeMetas(bytes, path)) {
        const owner = meta.schema === "olm.package" ? meta.name : meta.package;
        const metas = packages.get(owner) ?? [];
        packages.set(owner, [...metas, meta]);
      }
    }
    for (const [name, metas] of packages) all.set(all.has(name) ? `${name}-of-${i}` : name, metas);
  }
  return all;
}

/** Returns the meta for package `name`. Bundles keep their names, which are unique within a package. */
function renameBlob({ schema, blob }: Meta, name: string): Record<string, unknown> {
  if (schema === "olm.package") return { ...blob, name };
  const { properties } = blob;
  if (!Array.isArray(properties)) return { ...blob, package: name };
  return { ...blob, package: name, properties: properties.map((property) => renameProperty(property, name)) };
}

function renameProperty(property: unknown, packageName: string): unknown {
  const { type, value } = property as { type?: unknown; value?: object };
  return type === PACKAGE_PROPERTY ? { type, value: { ...value, packageName } } : property;
}

function withoutBigint(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}
