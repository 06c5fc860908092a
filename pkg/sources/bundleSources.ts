import type { PackageContent } from "../fbc/types.ts";
import { parseLayoutPlace } from "../oci/imagePlace.ts";
import { CatalogClient } from "../operatorcontroller/catalogs/catalogClient.ts";
import { type BundleReader, isDirectory } from "./bundleReader.ts";
import { readPackage, selectBundles } from "./catalogContent.ts";

/** The catalog with the packages, and the selected versions. */
export interface SourceOptions {
  catalog?: string;
  catalogUrl?: string;
  channel?: string[];
  version?: string;
}

/** A bundle to read. */
export interface BundleSource {
  readonly source: string;
  /** Whether a catalog contains the reference, so that it is always an image. Otherwise `source` can also be a folder or OCI layout. */
  readonly isImage: boolean;
}

/** Matches a package name, which is a DNS-1123 subdomain. An image reference contains a slash, a colon or an at sign. */
const PACKAGE = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const REQUEST_TIMEOUT_MS = 5 * 60_000;

/**
 * Returns the folders and images of bundles in the arguments. For packages, returns the images of their selected bundles in the catalog.
 * @param packages if set, arguments that are not folders or images are versions of the first of these packages
 * @throws Error if the catalog does not contain a package or version
 */
export async function resolveSources(
  args: readonly string[],
  options: SourceOptions,
  reader: BundleReader,
  packages?: readonly string[],
): Promise<BundleSource[]> {
  const hasCatalog = options.catalog !== undefined || options.catalogUrl !== undefined;
  if (!hasCatalog && (options.version !== undefined || options.channel !== undefined))
    throw new Error("--version and --channel require packages: set their catalog with --catalog or --catalog-url");
  if (!hasCatalog) return args.map((source) => ({ source, isImage: false }));
  const contents = new PackageContents(options, reader);
  const sources: BundleSource[] = [];
  for (const arg of args) {
    const packageName = packages?.find((name) => PACKAGE.test(name));
    if (arg.includes("/") || parseLayoutPlace(arg) || (packages === undefined && !(await isPackageName(arg))) || (await isDirectory(arg))) {
      sources.push({ source: arg, isImage: false });
      continue;
    }
    if (packages !== undefined && packageName === undefined)
      throw new Error(`"${arg}" is not a folder or image, and a version requires a package`);
    const choice =
      packageName === undefined
        ? { packageName: arg, version: options.version, channels: options.channel ?? [] }
        : { packageName, version: arg, channels: [] };
    for (const { image } of selectBundles(await contents.of(choice.packageName), choice)) sources.push({ source: image, isImage: true });
  }
  return sources;
}

/** Reports whether an argument is the name of a package: it is neither a folder nor an image reference. */
export async function isPackageName(text: string): Promise<boolean> {
  return PACKAGE.test(text) && !(await isDirectory(text));
}

/** Reads packages from the catalog in the options. */
class PackageContents {
  readonly #options: SourceOptions;
  readonly #reader: BundleReader;

  constructor(options: SourceOptions, reader: BundleReader) {
    this.#options = options;
    this.#reader = reader;
  }

  async of(packageName: string): Promise<PackageContent> {
    const { catalog, catalogUrl } = this.#options;
    if (catalog !== undefined) return readPackage(await this.#reader.catalogFolder(catalog), packageName);
    const client = new CatalogClient();
    try {
      const base = (catalogUrl ?? "").replace(/\/+$/, "");
      const content = await client.packageContent(base, undefined, packageName, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
      if (!content) throw new Error(`the catalog at ${base} does not contain package "${packageName}"`);
      return content;
    } finally {
      await client.close();
    }
  }
}
