import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "../../api/k8s.ts";
import { catalogFiles } from "../../catalogd/load/catalogFiles.ts";
import { CONTENT_LIMITS } from "../../catalogd/load/loader.ts";
import { messageOf, TerminalError } from "../../errors/errors.ts";
import { packageContentsFrom } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import { ContentError, type ContentPlace, type Meta } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { type LayoutPlace, layoutNamed } from "../../oci/imagePlace.ts";
import { CONFIG_DIR_LABEL } from "../../oci/pull/imageFilter.ts";
import { readBundleFiles } from "../../operatorcontroller/bundles/bundleFiles.ts";
import type { BundleReader } from "../../sources/bundleReader.ts";
import { orderMetaMembers } from "../render/catalogObject.ts";
import { type MigrationLevel, migrateMeta } from "../render/migrate.ts";
import { type BundleIdentity, renderCatalogBundle } from "../render/renderBundle.ts";

/**
 * The objects of the catalog in a folder, in the order of its files.
 * @throws ContentError or Error for what opm does not load: no YAML or JSON, an object without a schema, a member of the wrong kind.
 */
export async function readFolderMetas(root: string): Promise<Meta[]> {
  const metas: Meta[] = [];
  for (const { path, location } of catalogFiles(root, CONTENT_LIMITS)) {
    metas.push(...(await metasFrom(createReadStream(location) as AsyncIterable<Uint8Array>, path)));
  }
  return metas;
}

/** The objects in one stream, checked in the same way. @param file names the stream in errors. */
export async function metasFrom(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, file: string): Promise<Meta[]> {
  const onEmpty = (place: ContentPlace): never => {
    throw new ContentError(place, "object '' is missing root schema field");
  };
  const metas: Meta[] = await Array.fromAsync(decodeMetas(chunks, file, { maxDocumentBytes: CONTENT_LIMITS.documentBytes, onEmpty }));
  packageContentsFrom(metas);
  return metas;
}

const BUNDLE_LABEL = "operators.operatorframework.io.bundle.package.v1";
const DATABASE_LABEL = "operators.operatorframework.io.index.database.v1";

/** What an image holds, and where. */
interface ImageKind {
  readonly kind: "catalog" | "bundle";
  readonly root: string;
}

/**
 * What an image holds, as its labels say; the first that is known counts.
 * @throws TerminalError for an index with a database, and for labels that do not say.
 * @see C-20
 */
function imageKind(labels: Readonly<Record<string, string>>, ref: string): ImageKind {
  const root = labels[CONFIG_DIR_LABEL];
  if (root !== undefined) return { kind: "catalog", root };
  if (labels[BUNDLE_LABEL] !== undefined) return { kind: "bundle", root: "" };
  const refused = (why: string): Error => new TerminalError("Blocked", `render ${goQuote(ref)}: ${why}`);
  if (labels[DATABASE_LABEL] !== undefined)
    throw refused("sqlite-based index images are no longer supported, migrate to a file-based catalog: not allowed");
  const found = Object.entries(labels).map(([key, value]) => `  ${key}=${value}`);
  if (found.length === 0) throw refused("image type could not be determined: image has no labels");
  throw refused(`image type could not be determined, found labels\n${found.sort().join("\n")}`);
}

/** What a reference can be. */
export type ReferenceKind = "catalog folder" | "bundle folder" | "catalog image" | "bundle image";

/** How references are rendered. */
export interface ReferenceRenderOptions {
  readonly level: MigrationLevel;
  /** The image of a bundle in a folder or a layout; default: none. */
  readonly imageOf?: ((identity: BundleIdentity) => string) | undefined;
  /** Default: all kinds. */
  readonly allowed?: readonly ReferenceKind[];
}

/** What a reference has for a catalog. */
export interface Rendered {
  readonly metas: Meta[];
  /** The ClusterServiceVersion of a bundle. */
  readonly csv?: JsonObject;
  /** What was passed over. */
  readonly warnings: readonly string[];
}

const REFUSALS: Readonly<Record<ReferenceKind, (ref: string) => string>> = {
  "catalog folder": () => "cannot render declarative config directory: not allowed",
  "bundle folder": (ref) => `cannot render bundle directory ${goQuote(ref)}: not allowed`,
  "catalog image": () => "cannot render declarative config image: not allowed",
  "bundle image": () => "cannot render bundle image: not allowed",
};

/** Renders folders and images into objects of a catalog. */
export class ReferenceRenderer {
  readonly #reader: BundleReader;
  readonly #options: ReferenceRenderOptions;

  constructor(reader: BundleReader, options: ReferenceRenderOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  /**
   * What a folder or image has for a catalog, in the order in which it stands there.
   * @throws Error `render reference "…": …` in opm's words.
   * @see C-20
   */
  render(ref: string): Promise<Rendered> {
    return this.#named(ref, () => this.#rendered(ref));
  }

  /** The same for an image, also where there is a folder of its name. */
  renderImage(ref: string): Promise<Rendered> {
    return this.#named(ref, () => this.#image(ref));
  }

  async #named(ref: string, work: () => Promise<Rendered>): Promise<Rendered> {
    try {
      const rendered = await work();
      return { ...rendered, metas: rendered.metas.map((meta) => migrateMeta(meta, this.#options.level)) };
    } catch (err) {
      throw new Error(`render reference ${goQuote(ref)}: ${messageOf(err)}`, { cause: err });
    }
  }

  async #rendered(ref: string): Promise<Rendered> {
    const layout = await layoutNamed(ref);
    if (layout) return this.#image(ref, layout);
    const found = await stat(ref).catch(() => undefined);
    if (found === undefined) return this.#image(ref);
    if (!found.isDirectory()) throw new Error(`ref ${goQuote(ref)} is not a directory: not allowed`);
    if (!(await isBundle(ref))) {
      this.#allow("catalog folder", ref);
      return catalogOf(ref);
    }
    this.#allow("bundle folder", ref);
    return bundleOf(ref, this.#imageOf);
  }

  /** @param layout where the image is in none of a registry; no cluster could pull a bundle from there. */
  async #image(ref: string, layout?: LayoutPlace): Promise<Rendered> {
    // No image begins so; to ask a registry for it would hide that a folder is missing.
    if (!layout && /^\.{0,2}\//.test(ref))
      throw new Error(`failed to pull image ${goQuote(ref)}: there is no such folder, and no image is called so`);
    let refused: unknown;
    const filter = ({ labels }: { labels: Readonly<Record<string, string>> }): { root: string } => {
      try {
        const found = imageKind(labels, ref);
        this.#allow(`${found.kind} image`, ref);
        return found;
      } catch (err) {
        refused = err;
        throw err;
      }
    };
    let pulled = false;
    try {
      return await this.#reader.withImage(layout ?? ref, filter, async ({ dir, root, labels }) => {
        pulled = true;
        if (imageKind(labels, ref).kind === "catalog") return catalogOf(join(dir, root));
        return bundleOf(dir, layout ? this.#imageOf : (): string => ref);
      });
    } catch (err) {
      if (refused !== undefined || pulled) throw refused ?? err;
      if (layout) throw err;
      throw new Error(`failed to pull image ${goQuote(ref)}: ${messageOf(err)}`, { cause: err });
    }
  }

  get #imageOf(): (identity: BundleIdentity) => string {
    return this.#options.imageOf ?? ((): string => "");
  }

  #allow(kind: ReferenceKind, ref: string): void {
    if (this.#options.allowed?.includes(kind) === false) throw new Error(REFUSALS[kind](ref));
  }
}

async function catalogOf(root: string): Promise<Rendered> {
  return { metas: (await readFolderMetas(root)).map(orderMetaMembers), warnings: [] };
}

async function bundleOf(root: string, imageOf: (identity: BundleIdentity) => string): Promise<Rendered> {
  const { meta, csv, warnings } = renderCatalogBundle(await readBundleFiles(root), imageOf);
  return { metas: [meta], csv, warnings };
}

async function isBundle(folder: string): Promise<boolean> {
  const folders = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return folders.includes("manifests") && folders.includes("metadata");
}

/** Registries allow a client some more at a time. */
const AT_A_TIME = 4;

/**
 * What `work` makes of each item, four at a time, in the order of the items. Once one fails no other is begun, and those that run are waited for.
 * @throws the error of the first item in that order that failed.
 */
export async function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const errors = new Map<number, unknown>();
  const open = items.entries();
  const worker = async (): Promise<void> => {
    for (const [i, item] of open) {
      try {
        results[i] = await work(item);
      } catch (err) {
        errors.set(i, err);
      }
      if (errors.size > 0) return;
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  const [first] = [...errors].sort(([a], [b]) => a - b);
  if (first !== undefined) throw first[1];
  return results;
}
