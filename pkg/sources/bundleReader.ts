import { mkdtemp, rm, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { loadBundle } from "../bundle/load.ts";
import type { BundleFiles, RegistryV1Bundle } from "../bundle/types.ts";
import { goQuote } from "../golang/quote.ts";
import { findLayoutPlace, type LayoutPlace } from "../oci/imagePlace.ts";
import { BUNDLE_IMAGE_LIMITS, CATALOG_IMAGE_LIMITS, type Limits } from "../oci/limits.ts";
import { getDefaultPolicyPlace, SignaturePolicy } from "../oci/policy/signaturePolicy.ts";
import { findBundleRoot, findCatalogRoot } from "../oci/pull/imageFilter.ts";
import { type ImageFilter, type PulledImage, Puller } from "../oci/pull/puller.ts";
import { readLogins } from "../oci/registry/authFile.ts";
import { LayoutImages } from "../oci/store/layoutImages.ts";
import { readBundleFiles } from "../operatorcontroller/bundles/bundleFiles.ts";
import { createLogger } from "../telemetry/log.ts";

/** Options for access to registries. */
export interface ReaderOptions {
  registriesConf?: string | undefined;
  signaturePolicy?: string | undefined;
  authFile?: string | undefined;
  /** Folder of PEM files with CA certificates for registries. */
  casDir?: string | undefined;
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
  constructor(options: ReaderOptions, signal: AbortSignal = new AbortController().signal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** @throws Error with the reason if the folder or image does not contain a bundle */
  async bundle(source: string): Promise<RegistryV1Bundle> {
    return loadBundle(await this.files(source));
  }

  /** Returns the files of a bundle, even of an invalid one. @throws Error if an image cannot be pulled, or contains too many or too large files */
  async files(source: string): Promise<BundleFiles> {
    const layout = await findLayoutPlace(source);
    if (layout) {
      const layouts = await this.#layoutImages();
      return layouts.withImage(layout, findBundleRoot, this.#cost(BUNDLE_IMAGE_LIMITS), ({ dir }) => readBundleFiles(dir));
    }
    if (await isDirectory(source)) return readBundleFiles(source);
    if (A_PATH.test(source)) throw new Error("folder does not exist");
    const puller = await this.#puller(BUNDLE_IMAGE_LIMITS);
    const image = await puller.pull("bundle", source, { signal: this.#signal, filter: findBundleRoot });
    return readBundleFiles(image.dir);
  }

  /**
   * Returns the location of a catalog's files: `source` for a folder or file, otherwise the folder with the unpacked image. Pulls each image once.
   */
  catalogFolder(source: string): Promise<string> {
    const known = this.#catalogs.get(source) ?? this.#catalogFolder(source);
    this.#catalogs.set(source, known);
    return known;
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

  /** Resolves a reference to a digest. A reference by digest needs no network. @throws Error if the registry cannot resolve it */
  async resolved(ref: string): Promise<{ canonical: string; digest: string }> {
    const layout = await findLayoutPlace(ref);
    if (layout) return (await this.#layoutImages()).resolve(layout, this.#signal);
    const puller = await this.#puller(CATALOG_IMAGE_LIMITS);
    return puller.resolve(ref, this.#signal);
  }

  /** Removes unpacked images. */
  async close(): Promise<void> {
    for (const close of this.#open.splice(0)) await close();
  }

  async #catalogFolder(source: string): Promise<string> {
    const layout = await findLayoutPlace(source);
    if (layout) {
      const { dir, root } = await (await this.#layoutImages()).unpack(layout, findCatalogRoot, this.#cost(CATALOG_IMAGE_LIMITS));
      return join(dir, root);
    }
    if (await stat(source).catch(() => undefined)) return source;
    const puller = await this.#puller(CATALOG_IMAGE_LIMITS);
    const image = await puller.pull("catalog", source, { signal: this.#signal, filter: findCatalogRoot });
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

/** Reports whether the folder exists. */
export async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Calls `work` with a reader, and removes unpacked images afterwards. @param signal aborts pulls, for example on Ctrl-C */
export async function withReader<T>(options: ReaderOptions, work: (reader: BundleReader) => Promise<T>, signal?: AbortSignal): Promise<T> {
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
  if (await isDirectory(source)) return source;
  if (A_PATH.test(source)) throw new Error(`${goQuote(source)} is not a directory`);
  if (!IMAGE.test(source))
    throw new Error(`${goQuote(source)} is not a directory or an image reference with a registry, such as quay.io/example/catalog:latest`);
  return reader.catalogFolder(source);
}
