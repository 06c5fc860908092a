import { createReadStream } from "node:fs";
import { getPackageName, Schema, selectPackage } from "../fbc/content.ts";
import { decodeMetas } from "../fbc/decode.ts";
import type { Meta, PackageContent } from "../fbc/types.ts";
import { type BundleIndex, BundleIndexBuilder } from "../resolve/dependencies/bundleIndex.ts";
import { listCatalogFiles } from "./catalogContent.ts";
import type { CatalogFolderReader } from "./clusterCatalogs.ts";

/** The dependency index and the packages of a catalog. */
export interface WholeCatalog {
  readonly index: BundleIndex;
  /** Returns a package, without manifests and related images. @throws Error if one of its metas is invalid */
  packageContent(packageName: string): PackageContent;
}

/** Catalogs in folders, files and images. Each catalog is read once, on demand, with all packages. */
export class WholeCatalogs {
  readonly #reader: CatalogFolderReader;
  readonly #known = new Map<string, Promise<WholeCatalog>>();

  constructor(reader: CatalogFolderReader) {
    this.#reader = reader;
  }

  /**
   * @param ref a folder, file or image
   * @param base URL at which catalogd serves the content, if the catalog is a ClusterCatalog
   * @throws Error if it cannot be read
   */
  of(ref: string, base = ""): Promise<WholeCatalog> {
    const key = `${base} ${ref}`;
    const known = this.#known.get(key) ?? this.#read(ref, base === "" ? undefined : base);
    this.#known.set(key, known);
    return known;
  }

  async #read(ref: string, base: string | undefined): Promise<WholeCatalog> {
    const builder = new BundleIndexBuilder();
    const others = new Map<string, Meta[]>();
    /** By package, then by bundle. */
    const images = new Map<string, Map<string, string>>();
    for (const { path, location } of await listCatalogFiles(await this.#reader.catalogFolder(ref, base))) {
      const bytes = createReadStream(location) as AsyncIterable<Uint8Array>;
      for await (const meta of decodeMetas(bytes, path)) {
        if (meta.schema === Schema.bundle) {
          builder.add(meta);
          const { image } = meta.blob;
          const known = images.get(meta.package) ?? new Map<string, string>();
          if (typeof image === "string") images.set(meta.package, known.set(meta.name, image));
        } else if (!others.get(getPackageName(meta))?.push(meta)) others.set(getPackageName(meta), [meta]);
      }
    }
    const index = builder.build();
    return {
      index,
      packageContent: (name) => ({
        ...selectPackage(others.get(name) ?? [], name),
        bundles: index.bundlesOf(name).map((bundle) => ({
          ...bundle,
          properties: [...bundle.properties],
          image: images.get(name)?.get(bundle.name) ?? "",
        })),
      }),
    };
  }
}
