import type { PackageContent } from "../fbc/types.ts";
import { layoutPlace } from "../oci/imagePlace.ts";
import { CatalogClient } from "../operatorcontroller/catalogs/catalogClient.ts";
import { type BundleReader, isDirectory } from "./bundleReader.ts";
import { bundlesOf, packageIn } from "./catalogContent.ts";

/** Where packages are looked up, and which versions of them are meant. */
export interface SourceOptions {
  catalog?: string;
  catalogUrl?: string;
  channel?: string[];
  version?: string;
}

/** A package is named by a DNS-1123 subdomain; images have a registry, a repository, a tag or a digest. */
const PACKAGE = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const REQUEST_TIMEOUT_MS = 5 * 60_000;

/**
 * Folders and images of bundles: those given as such, and those that the catalog has for the packages given.
 * @param packages given: `args` are versions of the first package among these, unless they are folders or images.
 * @throws Error for a package that the catalog does not have, or not in these versions.
 */
export async function sourcesOf(
  args: readonly string[],
  options: SourceOptions,
  reader: BundleReader,
  packages?: readonly string[],
): Promise<string[]> {
  const hasCatalog = options.catalog !== undefined || options.catalogUrl !== undefined;
  if (!hasCatalog && (options.version !== undefined || options.channel !== undefined))
    throw new Error("--version and --channel are about packages: name their catalog with --catalog or --catalog-url");
  if (!hasCatalog) return [...args];
  const contents = new PackageContents(options, reader);
  const sources: string[] = [];
  const isBundle = async (arg: string): Promise<boolean> => !PACKAGE.test(arg) || (await isDirectory(arg));
  for (const arg of args) {
    const packageName = packages?.find((name) => PACKAGE.test(name));
    if (arg.includes("/") || layoutPlace(arg) || (packages === undefined && (await isBundle(arg))) || (await isDirectory(arg))) {
      sources.push(arg);
      continue;
    }
    if (packages !== undefined && packageName === undefined) throw new Error(`no package given of which "${arg}" could be a version`);
    const choice =
      packageName === undefined
        ? { packageName: arg, version: options.version, channels: options.channel ?? [] }
        : { packageName, version: arg, channels: [] };
    for (const { image } of bundlesOf(await contents.of(choice.packageName), choice)) sources.push(image);
  }
  return sources;
}

/** The packages of the one catalog that was named. */
class PackageContents {
  readonly #options: SourceOptions;
  readonly #reader: BundleReader;

  constructor(options: SourceOptions, reader: BundleReader) {
    this.#options = options;
    this.#reader = reader;
  }

  async of(packageName: string): Promise<PackageContent> {
    const { catalog, catalogUrl } = this.#options;
    if (catalog !== undefined) return packageIn(await this.#reader.catalogFolder(catalog), packageName);
    const client = new CatalogClient();
    try {
      const base = (catalogUrl ?? "").replace(/\/+$/, "");
      const content = await client.packageContent(base, undefined, packageName, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
      if (!content) throw new Error(`the catalog at ${base} does not have package "${packageName}"`);
      return content;
    } finally {
      await client.close();
    }
  }
}
