import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "../../api/k8s.ts";
import { findCatalogFiles } from "../../catalogd/load/catalogFiles.ts";
import { CONTENT_LIMITS } from "../../catalogd/load/loader.ts";
import { getErrorMessage, TerminalError } from "../../errors/errors.ts";
import { groupByPackage } from "../../fbc/content.ts";
import { decodeMetas } from "../../fbc/decode.ts";
import { ContentError, type ContentPlace, type Meta } from "../../fbc/types.ts";
import { goQuote } from "../../golang/quote.ts";
import { findLayoutPlace, isImageByDigest, type LayoutPlace } from "../../oci/imagePlace.ts";
import { CONFIG_DIR_LABEL } from "../../oci/pull/imageFilter.ts";
import { readBundleFiles } from "../../operatorcontroller/bundles/bundleFiles.ts";
import type { BundleReader } from "../../sources/bundleReader.ts";
import { orderMetaMembers } from "../render/catalogObject.ts";
import { type MigrationLevel, migrateMeta } from "../render/migrate.ts";
import { type BundleIdentity, renderCatalogBundle } from "../render/renderBundle.ts";

/**
 * Reads the objects of the catalog in a folder, in the order of the files.
 * @throws ContentError or Error if opm cannot load it: invalid YAML or JSON, an object without a schema, or a field of the wrong type.
 */
export async function readFolderMetas(root: string): Promise<Meta[]> {
  const metas: Meta[] = [];
  for (const { path, location } of findCatalogFiles(root, CONTENT_LIMITS)) {
    metas.push(...(await readMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path)));
  }
  return metas;
}

/** Reads the objects of a stream, with the same checks. @param file the name of the stream in errors. */
export async function readMetas(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, file: string): Promise<Meta[]> {
  const onEmpty = (place: ContentPlace): never => {
    throw new ContentError(place, "object '' is missing root schema field");
  };
  const metas: Meta[] = await Array.fromAsync(decodeMetas(chunks, file, { maxDocumentBytes: CONTENT_LIMITS.documentBytes, onEmpty }));
  groupByPackage(metas);
  return metas;
}

const BUNDLE_LABEL = "operators.operatorframework.io.bundle.package.v1";
const DATABASE_LABEL = "operators.operatorframework.io.index.database.v1";

/** The kind of an image and the folder of its content. */
interface ImageKind {
  readonly kind: "catalog" | "bundle";
  readonly root: string;
}

/**
 * Determines the kind of an image from its first known label.
 * @throws TerminalError for an index image with a database, and for unknown labels.
 * @see C-20
 */
function detectImageKind(labels: Readonly<Record<string, string>>, ref: string): ImageKind {
  const root = labels[CONFIG_DIR_LABEL];
  if (root !== undefined) return { kind: "catalog", root };
  if (labels[BUNDLE_LABEL] !== undefined) return { kind: "bundle", root: "" };
  const reject = (reason: string): Error => new TerminalError("Blocked", `render ${goQuote(ref)}: ${reason}`);
  if (labels[DATABASE_LABEL] !== undefined)
    throw reject("sqlite-based index images are no longer supported, migrate to a file-based catalog: not allowed");
  const found = Object.entries(labels).map(([key, value]) => `  ${key}=${value}`);
  if (found.length === 0) throw reject("image type could not be determined: image has no labels");
  throw reject(`image type could not be determined, found labels\n${found.sort().join("\n")}`);
}

/** The kinds of references. */
export type ReferenceKind = "catalog folder" | "bundle folder" | "catalog image" | "bundle image";

/** Options for rendering references. */
export interface ReferenceRenderOptions {
  readonly level: MigrationLevel;
  /** Returns the image reference for a bundle that is rendered from a folder or layout. Default: none. */
  readonly imageOf?: ((identity: BundleIdentity) => string) | undefined;
  /** Default: all kinds. */
  readonly allowed?: readonly ReferenceKind[];
}

/** The rendered objects of a reference. */
export interface RenderedReference {
  readonly metas: Meta[];
  /** The ClusterServiceVersion of a bundle. */
  readonly csv?: JsonObject;
  /** One sentence for each skipped part. */
  readonly warnings: readonly string[];
}

const REFUSALS: Readonly<Record<ReferenceKind, (ref: string) => string>> = {
  "catalog folder": () => "cannot render declarative config directory: not allowed",
  "bundle folder": (ref) => `cannot render bundle directory ${goQuote(ref)}: not allowed`,
  "catalog image": () => "cannot render declarative config image: not allowed",
  "bundle image": () => "cannot render bundle image: not allowed",
};

/** Renders folders and images as catalog objects. */
export class ReferenceRenderer {
  readonly #reader: BundleReader;
  readonly #options: ReferenceRenderOptions;

  constructor(reader: BundleReader, options: ReferenceRenderOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  /**
   * Renders a folder or image. Keeps the order of its objects.
   * @throws Error `render reference "…": …`, like opm.
   * @see C-20
   */
  render(ref: string): Promise<RenderedReference> {
    return this.#migrate(ref, () => this.#renderReference(ref));
  }

  /** Renders an image, even if a folder has the same name. */
  renderImage(ref: string): Promise<RenderedReference> {
    return this.#migrate(ref, () => this.#renderImage(ref));
  }

  async #migrate(ref: string, work: () => Promise<RenderedReference>): Promise<RenderedReference> {
    try {
      const rendered = await work();
      return { ...rendered, metas: rendered.metas.map((meta) => migrateMeta(meta, this.#options.level)) };
    } catch (err) {
      throw new Error(`render reference ${goQuote(ref)}: ${getErrorMessage(err)}`, { cause: err });
    }
  }

  async #renderReference(ref: string): Promise<RenderedReference> {
    const layout = await findLayoutPlace(ref);
    if (layout) return this.#renderImage(ref, layout);
    if (isImageByDigest(ref)) return this.#renderImage(ref);
    const found = await stat(ref).catch(() => undefined);
    if (found === undefined) return this.#renderImage(ref);
    if (!found.isDirectory()) throw new Error(`ref ${goQuote(ref)} is not a directory: not allowed`);
    if (!(await isBundle(ref))) {
      this.#allow("catalog folder", ref);
      return renderCatalogFolder(ref);
    }
    this.#allow("bundle folder", ref);
    return renderBundleFolder(ref, this.#imageOf);
  }

  /**
   * @param layout set if the image is in a layout. Clusters cannot pull a bundle from a layout, so the bundle gets the image reference that `imageOf`
   * returns.
   */
  async #renderImage(ref: string, layout?: LayoutPlace): Promise<RenderedReference> {
    // Not an image reference. A request to a registry would hide that the folder is missing.
    if (!layout && /^\.{0,2}\//.test(ref))
      throw new Error(`failed to pull image ${goQuote(ref)}: not an existing folder or an image reference`);
    let rejection: unknown;
    const filter = ({ labels }: { labels: Readonly<Record<string, string>> }): { root: string } => {
      try {
        const found = detectImageKind(labels, ref);
        this.#allow(`${found.kind} image`, ref);
        return found;
      } catch (err) {
        rejection = err;
        throw err;
      }
    };
    let pulled = false;
    try {
      return await this.#reader.withImage(layout ?? ref, filter, async ({ dir, root, labels }) => {
        pulled = true;
        if (detectImageKind(labels, ref).kind === "catalog") return renderCatalogFolder(join(dir, root));
        return renderBundleFolder(dir, layout ? this.#imageOf : (): string => ref);
      });
    } catch (err) {
      if (rejection !== undefined || pulled) throw rejection ?? err;
      if (layout) throw err;
      throw new Error(`failed to pull image ${goQuote(ref)}: ${getErrorMessage(err)}`, { cause: err });
    }
  }

  get #imageOf(): (identity: BundleIdentity) => string {
    return this.#options.imageOf ?? ((): string => "");
  }

  #allow(kind: ReferenceKind, ref: string): void {
    if (this.#options.allowed?.includes(kind) === false) throw new Error(REFUSALS[kind](ref));
  }
}

async function renderCatalogFolder(root: string): Promise<RenderedReference> {
  return { metas: (await readFolderMetas(root)).map(orderMetaMembers), warnings: [] };
}

async function renderBundleFolder(root: string, imageOf: (identity: BundleIdentity) => string): Promise<RenderedReference> {
  const { meta, csv, warnings } = renderCatalogBundle(await readBundleFiles(root), imageOf);
  return { metas: [meta], csv, warnings };
}

async function isBundle(folder: string): Promise<boolean> {
  const folders = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return folders.includes("manifests") && folders.includes("metadata");
}

/** Maximum concurrent calls. Fewer than registries allow per client. */
const CONCURRENCY = 4;

/**
 * Calls `work` for all items, four at a time. Returns the results in the order of the items. After an error it starts no more calls and waits for
 * the running ones.
 * @throws the error of the first failed item in that order.
 */
export async function mapConcurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
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
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  const [first] = [...errors].sort(([a], [b]) => a - b);
  if (first !== undefined) throw first[1];
  return results;
}
