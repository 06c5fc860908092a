import { stat } from "node:fs/promises";
import type { PackageInCatalog } from "../../../pkg/browse/packageView.ts";
import { type CachedCatalog, CatalogCache, getCacheFolder, getFilesKey, getImageKey } from "../../../pkg/catalogcache/catalogCache.ts";
import { getErrorMessage, wrapError } from "../../../pkg/errors/errors.ts";
import { selectPackage } from "../../../pkg/fbc/content.ts";
import { PackageData, sortBundlesByVersion } from "../../../pkg/fbc/summary/packageData.ts";
import { findSimilarNames } from "../../../pkg/fbc/summary/search.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { findLayoutPlace } from "../../../pkg/oci/imagePlace.ts";
import type { BundleReader } from "../../../pkg/sources/bundleReader.ts";
import { digestFiles, readCatalogMetas } from "../../../pkg/sources/catalogContent.ts";
import { filterNamedCatalogs, isOffline, listNamedCatalogs, type NamedCatalog } from "../../../pkg/sources/catalogNames.ts";
import type { CatalogReadOptions } from "./catalogOptions.ts";
import { printLeftOutCatalogs } from "./output.ts";
import { type Progress, withProgress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

const NO_HASH = Buffer.alloc(0);

/**
 * Runs `work` with the package from each catalog that contains it, by descending priority, then by catalog name; at least one.
 * @throws Error that suggests similar names if no catalog contains the package, or if its metas are invalid.
 */
export function withPackage<T>(
  terminal: Terminal,
  name: string,
  options: CatalogReadOptions,
  work: (found: readonly [PackageInCatalog, ...PackageInCatalog[]], open: OpenCatalogs) => Promise<T>,
): Promise<T> {
  return withCatalogs(terminal, options, async (open) => {
    const all = await Promise.all(open.catalogs.map((catalog) => packageIn(catalog, name)));
    const [first, ...others] = all.flatMap((one) => one ?? []);
    if (!first) throw new Error(formatMissingPackage(name, open));
    return work([first, ...others], open);
  });
}

async function packageIn({ name: catalog, priority, book }: OpenCatalog, name: string): Promise<PackageInCatalog | undefined> {
  const metas = await book.metasOf(name);
  if (metas.length === 0) return undefined;
  const facts = new PackageData(name);
  for (const meta of metas) facts.add(meta, NO_HASH);
  try {
    return { catalog, priority, name, metas, content: selectPackage(metas, name), facts, bundles: sortBundlesByVersion(facts.bundles) };
  } catch (err) {
    throw wrapError(`catalog ${goQuote(catalog)}: `, err);
  }
}

function formatMissingPackage(name: string, { catalogs }: OpenCatalogs): string {
  const where = catalogs.length === 1 ? `catalog ${catalogs[0]?.name}` : `catalogs ${catalogs.map((one) => one.name).join(", ")}`;
  const near = findSimilarNames(name, [...new Set(catalogs.flatMap(({ book }) => book.names()))]);
  const hint = near.length > 0 ? `did you mean ${near.join(" or ")}?` : "run olmv1 search to find packages";
  return `package ${goQuote(name)} not found in ${where}; ${hint}`;
}

/** A catalog that was read. */
interface OpenCatalog {
  readonly name: string;
  readonly priority: number;
  readonly book: CachedCatalog;
}

/** Catalogs and their cluster. */
export interface OpenCatalogs {
  /** By descending priority, then by name. */
  readonly catalogs: readonly OpenCatalog[];
  /** Skipped catalogs, with the reason. */
  readonly leftOut: readonly { readonly catalog: string; readonly because: string }[];
  /** Undefined if no cluster is used. */
  readonly client: Client | undefined;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` with the selected catalogs. Prints catalogs that cannot be read to standard error, and skips them.
 * @throws Error if the cluster does not list its catalogs, no catalog can be read, or a given folder or image cannot be read.
 */
export async function withCatalogs<T>(
  terminal: Terminal,
  options: CatalogReadOptions,
  work: (open: OpenCatalogs) => Promise<T>,
): Promise<T> {
  if (isOffline(options)) return withSources(terminal, options, undefined, work);
  const { withCluster } = await import("./cluster.ts"); // slow to load, and not needed for folders
  return withCluster(options, (client) => withSources(terminal, options, client, work));
}

async function withSources<T>(
  terminal: Terminal,
  options: CatalogReadOptions,
  client: Client | undefined,
  work: (open: OpenCatalogs) => Promise<T>,
): Promise<T> {
  const { signal } = terminal;
  const registries = new Registries(options, signal);
  // A signature policy must verify images, so cached catalogs are not used.
  const isKept = options.cache && options.signaturePolicy === undefined;
  const shelf = new CatalogCache(isKept ? getCacheFolder(terminal.env) : undefined);
  const catalogs: OpenCatalog[] = [];
  const leftOut: { catalog: string; because: string }[] = [];
  try {
    await withProgress(terminal, "reading catalogs", async (progress) => {
      const all = client
        ? await (await import("../../../pkg/sources/clusterCatalogs.ts")).listServedCatalogs(client, signal)
        : listNamedCatalogs(options);
      const named = filterNamedCatalogs(all, options);
      for (const one of named) {
        signal.throwIfAborted();
        try {
          catalogs.push({ name: one.name, priority: one.priority, book: await openCatalog(one, { registries, shelf, progress }) });
        } catch (err) {
          signal.throwIfAborted();
          if (!client) throw wrapError(`read catalog ${goQuote(one.name)}: `, err);
          leftOut.push({ catalog: one.name, because: getErrorMessage(err) });
        }
      }
    });
    if (catalogs.length === 0) throw new Error(formatNoCatalogs(leftOut, options.catalog.length > 0));
    printLeftOutCatalogs(terminal, leftOut);
    return await work({ catalogs, leftOut, client, signal });
  } finally {
    await Promise.all(catalogs.map(({ book }) => book.close()));
    await shelf.close();
    await registries.close();
  }
}

/** @param isNamed whether --catalog selects catalogs. */
function formatNoCatalogs(leftOut: OpenCatalogs["leftOut"], isNamed: boolean): string {
  if (leftOut.length === 0)
    return "the cluster has no ClusterCatalog; add one with olmv1 catalog add NAME IMAGE, or use --catalog-dir or --catalog-image";
  const each = leftOut.map(({ catalog, because }) => `${goQuote(catalog)} (${because})`).join("; ");
  if (!isNamed) return `cannot read any of the cluster's catalogs: ${each}`;
  return `cannot read ${leftOut.length === 1 ? "catalog" : "catalogs"} ${each}. Select another catalog with --catalog`;
}

/** Reads images. Loads its modules only when the first image is read. */
class Registries {
  readonly #options: CatalogReadOptions;
  readonly #signal: AbortSignal;
  #reader: BundleReader | undefined;

  constructor(options: CatalogReadOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  async reader(): Promise<BundleReader> {
    const loaded = await import("../../../pkg/sources/bundleReader.ts");
    this.#reader ??= new loaded.BundleReader(this.#options, this.#signal);
    return this.#reader;
  }

  async close(): Promise<void> {
    await this.#reader?.close();
  }
}

/** Tools to open catalogs. */
interface Tools {
  registries: Registries;
  shelf: CatalogCache;
  progress: Progress;
}

/** @throws Error with the reason why the catalog cannot be read. */
async function openCatalog(
  { name, path, image, unavailable }: NamedCatalog,
  { registries, shelf, progress }: Tools,
): Promise<CachedCatalog> {
  const layout = path !== undefined && (await findLayoutPlace(path));
  if (path !== undefined && !layout) {
    if (!(await stat(path).catch(() => undefined))) throw new Error(`no such file or folder: ${goQuote(path)}`);
    return shelf.obtain(getFilesKey(await digestFiles(path)), () => readCatalogMetas(path));
  }
  const ref = image ?? path;
  if (ref === undefined) throw new Error(unavailable ?? "the catalog has no content");
  const reader = await registries.reader();
  const { canonical, digest } = await reader.resolved(ref);
  return shelf.obtain(getImageKey(digest), async function* () {
    progress.now(`pulling catalog ${name} from ${canonical}`);
    const folder = await reader.catalogFolder(canonical);
    progress.now(`reading catalog ${name}`);
    yield* readCatalogMetas(folder);
  });
}
