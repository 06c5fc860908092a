import { CatalogCache, getCacheFolder, getFilesKey, getImageKey } from "../../../../pkg/catalogcache/catalogCache.ts";
import { digestFiles } from "../../../../pkg/sources/catalogContent.ts";
import { listNamedCatalogs, type NamedCatalog } from "../../../../pkg/sources/catalogNames.ts";
import { compareText } from "../../../../pkg/text/compare.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Which catalogs are meant. */
export interface PackagesOf {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** As --catalog-dir names it. */
  readonly catalogDir?: string | undefined;
}

/** Longer than that nobody waits for a proposal. */
const TIMEOUT_MS = 2_000;
const DIGEST = /@([a-z0-9]+:[0-9a-f]+)$/;

/** Names of the packages of the catalogs that were read before, in order: nobody waits for a pull to have a name proposed. */
export async function listCachedPackageNames(env: Terminal["env"], { kubeconfig, context, catalogDir }: PackagesOf): Promise<string[]> {
  const shelf = new CatalogCache(getCacheFolder(env));
  const names = new Set<string>();
  try {
    const options = { ...(kubeconfig === undefined ? {} : { kubeconfig }), ...(context === undefined ? {} : { context }) };
    const catalogs = catalogDir === undefined ? await served(options) : listNamedCatalogs({ catalogDir: [catalogDir], catalogImage: [] });
    for (const catalog of catalogs) {
      const key = await keyOf(catalog);
      const book = key === undefined ? undefined : await shelf.kept(key);
      for (const name of book?.names() ?? []) names.add(name);
      await book?.close();
    }
  } catch {
    // what cannot be asked has no names
  }
  return [...names].sort(compareText);
}

async function served(options: { kubeconfig?: string; context?: string }): Promise<NamedCatalog[]> {
  const [{ withCluster }, { listServedCatalogs }] = await Promise.all([
    import("../../cli/cluster.ts"),
    import("../../../../pkg/sources/clusterCatalogs.ts"),
  ]);
  return withCluster(options, (client) => listServedCatalogs(client, AbortSignal.timeout(TIMEOUT_MS)));
}

async function keyOf({ path, image = "" }: NamedCatalog): Promise<string | undefined> {
  if (path !== undefined) return getFilesKey(await digestFiles(path));
  const digest = DIGEST.exec(image)?.[1];
  return digest === undefined ? undefined : getImageKey(digest);
}
