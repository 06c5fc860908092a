import { getErrorMessage, wrapError } from "../../../../pkg/errors/errors.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { formatCatalogName, getCatalogRef } from "../../../../pkg/installer/catalogObject.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { type InstalledExtension, listInstalledExtensions } from "../../../../pkg/rollout/extensions.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import type { CatalogReadOptions } from "../../cli/catalogOptions.ts";
import { withCluster } from "../../cli/cluster.ts";
import { withCatalogs } from "../../cli/openCatalogs.ts";
import { type Output, print } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { readCatalog } from "./list.ts";

/** Options of `olmv1 catalog remove`. */
export interface RemoveOptions extends Omit<CatalogReadOptions, "catalog" | "catalogDir" | "catalogImage"> {
  dryRun?: "client" | "server";
  output: Output;
}

/** Runs `olmv1 catalog remove`. */
export async function remove(terminal: Terminal, name: string, options: RemoveOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const { signal } = terminal;
    const { uid = "" } = (await readCatalog(client, name, signal)).metadata;
    const from = await findInstalledFrom(terminal, client, name, options);
    if (options.dryRun !== "client") {
      try {
        await client.delete(getCatalogRef(name), { uid, dryRun: options.dryRun === "server", signal });
      } catch (err) {
        throw wrapError(`delete ClusterCatalog ${goQuote(name)}: `, err);
      }
    }
    const kind = options.dryRun === undefined ? "" : options.dryRun === "client" ? " (dry run)" : " (server dry run)";
    await print(terminal, options.output, {
      data: { removed: formatCatalogName(name), dryRun: options.dryRun !== undefined, ...from },
      text: () => `${formatCatalogName(name)} deleted${kind}\n${formatConsequence(from)}`,
      names: () => [formatCatalogName(name)],
    });
  });
}

/** Extensions installed from the catalog. If the list is incomplete, `unknown` contains the reason. */
interface Consequence {
  readonly extensions: readonly InstalledExtension[];
  readonly unknown?: string;
}

/**
 * Returns the extensions that were installed from the catalog, according to their status. If the status of an extension contains no catalog, checks
 * whether the catalog contains the installed bundle; the content of the catalog is read only in this case.
 */
async function findInstalledFrom(terminal: Terminal, client: Client, name: string, options: RemoveOptions): Promise<Consequence> {
  const installed = await listInstalledExtensions(client, terminal.signal);
  if (!installed) return { extensions: [], unknown: "you may not list ClusterExtensions" };
  const extensions = installed.filter(({ catalog }) => catalog === name);
  const unnamed = installed.filter(({ catalog }) => catalog === undefined);
  if (unnamed.length === 0) return { extensions };
  try {
    const request = { ...options, catalog: [name], catalogDir: [], catalogImage: [] };
    return await withCatalogs(terminal, request, ({ catalogs }) => {
      const bundles = new Map(
        catalogs
          .flatMap(({ book }) => book.packages())
          .map(({ name: of, record }) => [of, new Set(record.versions.map(([bundle]) => bundle))]),
      );
      return Promise.resolve({ extensions: [...extensions, ...unnamed.filter((one) => bundles.get(one.package)?.has(one.bundle))] });
    });
  } catch (err) {
    terminal.signal.throwIfAborted();
    return {
      extensions,
      unknown: `the status of ${formatCount(unnamed.length, "extension")} contains no catalog, and the catalog cannot be read: ${getErrorMessage(err)}`,
    };
  }
}

function formatConsequence({ extensions, unknown }: Consequence): string {
  const lines = extensions.map((one) => `  ${one.extension}: ${one.package} ${one.version}\n`);
  const head =
    "ClusterExtensions installed from this catalog keep running, but can only be upgraded if another catalog contains their packages:\n";
  return [
    ...(lines.length > 0 ? [head, ...lines] : []),
    ...(unknown === undefined ? [] : [`cannot determine all extensions that were installed from this catalog: ${unknown}\n`]),
  ].join("");
}
