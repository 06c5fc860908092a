import { mkdtemp, rm, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { loadBundle } from "../bundle/load.ts";
import type { BundleFiles, RegistryV1Bundle } from "../bundle/types.ts";
import { goQuote } from "../golang/quote.ts";
import { findLayoutPlace, isImageByDigest, type LayoutPlace } from "../oci/imagePlace.ts";
import { BUNDLE_IMAGE_LIMITS, CATALOG_IMAGE_LIMITS, type Limits } from "../oci/limits.ts";
import { getDefaultPolicyPlace, SignaturePolicy } from "../oci/policy/signaturePolicy.ts";
import { findBundleRoot, findCatalogRoot } from "../oci/pull/imageFilter.ts";
import { type ImageFilter, type PulledImage, Puller } from "../oci/pull/puller.ts";
import { readLogins } from "../oci/registry/authFile.ts";
import { LayoutImages } from "../oci/store/layoutImages.ts";
import { type BundleCache, type RenderableBundle, toRenderableBundle } from "../operatorcontroller/bundles/bundleCache.ts";
import { readBundleFiles } from "../operatorcontroller/bundles/bundleFiles.ts";
import { createLogger } from "../telemetry/log.ts";

/** Options for access to registries. */
export interface ReaderOptions {
  registriesConf?: string | undefined;
  signaturePolicy?: string | undefined;
  authFile?: string | undefined;
  /** Folder of PEM files with CA certificates for registries. */
  casDir?: string | undefined;
  /**
   * Keeps the bundles of images for all readers, and loads large ones in a worker thread. By default, a reader loads each bundle in this thread, which
   * it blocks. Programs with several users need the cache.
   */
  bundleCache?: Pick<BundleCache, "find" | "load"> | undefined;
}

/** An image reference that was resolved. */
export interface ResolvedReference {
  /** The reference with a digest. */
  readonly canonical: string;
  readonly digest: string;
  /** Whether the image must be pulled so that its signatures are checked, also if its content is known. */
  readonly needsSignatures: boolean;
}

/** Matches paths; no image reference starts like this. */
const A_PATH = /^\.{0,2}\//;

/** Reads bundles and catalogs from folders, registries and OCI layouts. Unpacks images to a temporary folder, which `close` removes. */
export class BundleReader {
  readonly #options: ReaderOptions;
  readonly #signal: AbortSignal;
  readonly #open: (() => Promise<void>)[] = [];
  readonly #catalogs = new Map<string, Promise<string>>();
  #shared: Promise<Puller> | undefined;
  #layouts: Promise<LayoutImages> | undefined;
  #images = 0;

  /** @param signal aborts pulls */
  constructor(options: ReaderOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Reads a bundle from a source that the user specifies. @throws Error with the reason if the folder or image does not contain a bundle */
  async bundle(source: string): Promise<RegistryV1Bundle> {
    return loadBundle(await this.files(source));
  }

  /**
   * Reads a bundle from a registry, never from a folder or layout. References from catalogs and from the cluster require this method.
   * @throws Error with the reason if the image cannot be pulled or does not contain a bundle
   */
  async bundleImage(ref: string): Promise<RenderableBundle> {
    const { bundleCache } = this.#options;
    // The cache knows images only by their digests: a tag can get other content.
    const known = bundleCache?.find(ref);
    if (known) return known;
    const { canonical, dir } = await this.#pullBundle(ref);
    const files = await readBundleFiles(dir);
    // The thread takes the files it gets, and needs them again after it was idle, when the unpacked image may be gone.
    return bundleCache ? bundleCache.load(canonical, async () => copyFiles(files)) : toRenderableBundle(loadBundle(files));
  }

  /** Returns the files of a bundle, even of an invalid one. @throws Error if an image cannot be pulled, or contains too many or too large files */
  async files(source: string): Promise<BundleFiles> {
    const layout = await findLayoutPlace(source);
    if (layout) {
      const layouts = await this.#layoutImages();
      return layouts.withImage(layout, findBundleRoot, this.#cost(BUNDLE_IMAGE_LIMITS), ({ dir }) => readBundleFiles(dir));
    }
    if (await isFolderSource(source)) return readBundleFiles(source);
    if (A_PATH.test(source)) throw new Error("folder does not exist");
    return this.#imageFiles(source);
  }

  /**
   * Returns the location of a catalog's files: `source` for a folder or file, otherwise the folder with the unpacked image. Pulls each image once.
   * @param base URL at which catalogd serves the content: then `source` is from a ClusterCatalog, and always an image in a registry
   */
  catalogFolder(source: string, base?: string): Promise<string> {
    if (isImageByDigest(source) || (base !== undefined && /^https?:/.test(base))) return this.catalogImage(source);
    return this.#once(`source ${source}`, () => this.#catalogFolder(source));
  }

  /** Returns the folder with the unpacked image of a catalog. Like `bundleImage`, never reads a folder or layout. Pulls each image once. */
  catalogImage(ref: string): Promise<string> {
    return this.#once(`image ${ref}`, () => this.#pullCatalog(ref));
  }

  /**
   * Pulls an image of any kind, unpacks it with `filter`, and calls `use` with it. Removes the unpacked image afterwards.
   * @throws errors of the pull and of `filter`
   */
  async withImage<T>(ref: string | LayoutPlace, filter: ImageFilter, use: (image: PulledImage) => Promise<T>): Promise<T> {
    if (typeof ref !== "string") return (await this.#layoutImages()).withImage(ref, filter, this.#cost(CATALOG_IMAGE_LIMITS), use);
    this.#shared ??= this.#puller(CATALOG_IMAGE_LIMITS);
    const puller = await this.#shared;
    const owner = `image-${++this.#images}`;
    try {
      return await use(await puller.pull(owner, ref, { signal: this.#signal, filter }));
    } finally {
      await puller.remove(owner);
    }
  }

  /** Resolves a reference to a digest. A reference by digest needs no network. @throws Error if the registry or layout cannot resolve it */
  async resolved(ref: string | LayoutPlace): Promise<ResolvedReference> {
    // Signatures in layouts are not supported: a policy that requires one rejects the layout.
    if (typeof ref !== "string") return { ...(await (await this.#layoutImages()).resolve(ref, this.#signal)), needsSignatures: false };
    const puller = await this.#puller(CATALOG_IMAGE_LIMITS);
    const resolved = await puller.resolve(ref, this.#signal);
    return { ...resolved, needsSignatures: await puller.needsSignatures(resolved.canonical, this.#signal) };
  }

  /** Removes unpacked images. */
  async close(): Promise<void> {
    for (const close of this.#open.splice(0)) await close();
  }

  async #imageFiles(ref: string): Promise<BundleFiles> {
    const { dir } = await this.#pullBundle(ref);
    return readBundleFiles(dir);
  }

  async #pullBundle(ref: string): Promise<PulledImage> {
    const puller = await this.#puller(BUNDLE_IMAGE_LIMITS);
    return puller.pull("bundle", ref, { signal: this.#signal, filter: findBundleRoot });
  }

  #once(key: string, find: () => Promise<string>): Promise<string> {
    const known = this.#catalogs.get(key) ?? find();
    this.#catalogs.set(key, known);
    return known;
  }

  async #catalogFolder(source: string): Promise<string> {
    const layout = await findLayoutPlace(source);
    if (layout) {
      const { dir, root } = await (await this.#layoutImages()).unpack(layout, findCatalogRoot, this.#cost(CATALOG_IMAGE_LIMITS));
      return join(dir, root);
    }
    if (await stat(source).catch(() => undefined)) return source;
    return this.catalogImage(source);
  }

  async #pullCatalog(ref: string): Promise<string> {
    const puller = await this.#puller(CATALOG_IMAGE_LIMITS);
    const image = await puller.pull("catalog", ref, { signal: this.#signal, filter: findCatalogRoot });
    return join(image.dir, image.root);
  }

  #layoutImages(): Promise<LayoutImages> {
    this.#layouts ??= this.#openLayouts();
    return this.#layouts;
  }

  async #openLayouts(): Promise<LayoutImages> {
    const { signaturePolicy: file } = this.#options;
    const place = file === undefined ? getDefaultPolicyPlace(homedir()) : { file, required: true };
    const log = createLogger({ component: "olmv1", level: "error", destination: process.stderr });
    const layouts = await LayoutImages.open(new SignaturePolicy(() => place, log));
    this.#open.push(() => layouts.close());
    return layouts;
  }

  #cost(limits: Limits): { limits: Limits; signal: AbortSignal } {
    return { limits, signal: this.#signal };
  }

  async #puller(limits: typeof BUNDLE_IMAGE_LIMITS): Promise<Puller> {
    const { registriesConf, signaturePolicy, authFile, casDir } = this.#options;
    const cacheDir = await mkdtemp(join(tmpdir(), "olmv1-"));
    const log = createLogger({ component: "olmv1", level: "error", destination: process.stderr });
    const credentials = readLogins(authFile, process.env, homedir());
    const puller = new Puller({ cacheDir, limits, registriesConf, signaturePolicy, casDir, credentials, log });
    this.#open.push(async () => {
      await puller.remove("bundle");
      await puller.remove("catalog");
      await puller.close();
      await rm(cacheDir, { recursive: true, force: true });
    });
    return puller;
  }
}

function copyFiles(files: BundleFiles): BundleFiles {
  return new Map([...files].map(([path, content]) => [path, new Uint8Array(content)]));
}

/** Reports whether the folder exists. */
export async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Reports whether a source that the user specifies is an existing folder. A reference by digest never is, also if a folder has its name. */
export async function isFolderSource(source: string): Promise<boolean> {
  return !isImageByDigest(source) && (await isDirectory(source));
}

/** Calls `work` with a reader, and removes unpacked images afterwards. @param signal aborts pulls, for example on Ctrl-C */
export async function withReader<T>(options: ReaderOptions, work: (reader: BundleReader) => Promise<T>, signal: AbortSignal): Promise<T> {
  const reader = new BundleReader(options, signal);
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}

/** Matches an image reference with a registry. */
const IMAGE = /^(?:localhost|[^/\s]*[.:][^/\s]*)\/\S+$/;

/**
 * Returns the folder with the files of a catalog: `source`, or the folder with the unpacked image.
 * @throws Error if `source` is not a folder or an image
 */
export async function findCatalogFolder(source: string, reader: Pick<BundleReader, "catalogFolder">): Promise<string> {
  if (await findLayoutPlace(source)) return reader.catalogFolder(source);
  if (await isFolderSource(source)) return source;
  if (A_PATH.test(source)) throw new Error(`${goQuote(source)} is not a directory`);
  if (!IMAGE.test(source))
    throw new Error(`${goQuote(source)} is not a directory or an image reference with a registry, such as quay.io/example/catalog:latest`);
  return reader.catalogFolder(source);
}
