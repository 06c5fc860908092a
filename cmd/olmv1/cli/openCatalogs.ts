import { findPackage } from "../../../pkg/browse/findPackage.ts";
import type { PackageInCatalog } from "../../../pkg/browse/packageView.ts";
import { getCacheFolder } from "../../../pkg/catalogcache/catalogCache.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { isOffline } from "../../../pkg/sources/catalogNames.ts";
import { type OpenCatalogs, openCatalogs } from "../../../pkg/sources/openCatalogs.ts";
import type { CatalogReadOptions } from "./catalogOptions.ts";
import { printLeftOutCatalogs } from "./output.ts";
import { withProgress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

/** Catalogs and their cluster. */
export interface CatalogsOfCommand extends OpenCatalogs {
  /** Undefined if no cluster is used. */
  readonly client: Client | undefined;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` with the package from each catalog that contains it, by descending priority, then by catalog name; at least one.
 * @throws Error that suggests similar names if no catalog contains the package, or if its metas are invalid.
 */
export function withPackage<T>(
  terminal: Terminal,
  name: string,
  options: CatalogReadOptions,
  work: (found: readonly [PackageInCatalog, ...PackageInCatalog[]], open: CatalogsOfCommand) => Promise<T>,
): Promise<T> {
  return withCatalogs(terminal, options, async (open) => work(await findPackage(name, open), open));
}

/**
 * Runs `work` with the selected catalogs. Prints catalogs that cannot be read to standard error, and skips them.
 * @throws Error if the cluster does not list its catalogs, no catalog can be read, or a given folder or image cannot be read.
 */
export async function withCatalogs<T>(
  terminal: Terminal,
  options: CatalogReadOptions,
  work: (open: CatalogsOfCommand) => Promise<T>,
): Promise<T> {
  if (isOffline(options)) return withSources(terminal, options, undefined, work);
  const { withCluster } = await import("./cluster.ts"); // slow to load, and not needed for folders
  return withCluster(options, (client) => withSources(terminal, options, client, work));
}

async function withSources<T>(
  terminal: Terminal,
  options: CatalogReadOptions,
  client: Client | undefined,
  work: (open: CatalogsOfCommand) => Promise<T>,
): Promise<T> {
  const { signal } = terminal;
  const cacheFolder = options.cache ? getCacheFolder(terminal.env) : undefined;
  const open = await withProgress(terminal, "reading catalogs", (progress) =>
    openCatalogs(options, { client, cacheFolder, signal, onStep: (step) => progress.now(step) }),
  );
  try {
    printLeftOutCatalogs(terminal, open.leftOut);
    return await work({ ...open, client, signal });
  } finally {
    await open.close();
  }
}
