import { CatalogCache, getCacheFolder, getFilesKey, getImageKey } from "../../../../pkg/catalogcache/catalogCache.ts";
import { digestFiles } from "../../../../pkg/sources/catalogContent.ts";
import { listNamedCatalogs, type NamedCatalog } from "../../../../pkg/sources/catalogNames.ts";
import { compareText } from "../../../../pkg/text/compare.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Selects catalogs. */
export interface CompletionCatalogs {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Value of --catalog-dir. */
  readonly catalogDir?: string | undefined;
}

/** Maximum time to look up names. */
const TIMEOUT_MS = 2_000;
const DIGEST = /@([a-z0-9]+:[0-9a-f]+)$/;

/** Returns sorted package names from cached catalogs. Pulls no images, because that would take too long. */
export async function listCachedPackageNames(
  env: Terminal["env"],
  { kubeconfig, context, catalogDir }: CompletionCatalogs,
): Promise<string[]> {
  const cache = new CatalogCache(getCacheFolder(env));
  const names = new Set<string>();
  try {
    const options = { ...(kubeconfig === undefined ? {} : { kubeconfig }), ...(context === undefined ? {} : { context }) };
    const catalogs =
      catalogDir === undefined ? await listServedCatalogs(options) : listNamedCatalogs({ catalogDir: [catalogDir], catalogImage: [] });
    for (const catalog of catalogs) {
      const key = await getCacheKey(catalog);
      const cached = key === undefined ? undefined : await cache.kept(key);
      for (const name of cached?.names() ?? []) names.add(name);
      await cached?.close();
    }
  } catch {
    // no names without a cluster
  }
  return [...names].sort(compareText);
}

async function listServedCatalogs(options: { kubeconfig?: string; context?: string }): Promise<NamedCatalog[]> {
  const [{ withCluster }, { listServedCatalogs }] = await Promise.all([
    import("../../cli/cluster.ts"),
    import("../../../../pkg/sources/clusterCatalogs.ts"),
  ]);
  return withCluster(options, (client) => listServedCatalogs(client, AbortSignal.timeout(TIMEOUT_MS)));
}

async function getCacheKey({ path, image = "" }: NamedCatalog): Promise<string | undefined> {
  if (path !== undefined) return getFilesKey(await digestFiles(path));
  const digest = DIGEST.exec(image)?.[1];
  return digest === undefined ? undefined : getImageKey(digest);
}
