import { messageOf, wrapError } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/errors/goQuote.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { type InstalledHere, installedHere } from "../views/installedHere.ts";
import type { SourceOptions } from "../views/sourceOptions.ts";
import { withCatalogs } from "../views/withCatalogs.ts";
import { catalogName, catalogRef } from "./catalogObject.ts";
import { readCatalog } from "./list.ts";

/** How `olmv1 catalog remove` can be asked. */
export interface RemoveOptions extends Omit<SourceOptions, "catalog" | "catalogDir" | "catalogImage"> {
  dryRun?: "client" | "server";
  output: Output;
}

/** `olmv1 catalog remove`. */
export async function remove(terminal: Terminal, name: string, options: RemoveOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const { signal } = terminal;
    const { uid = "" } = (await readCatalog(client, name, signal)).metadata;
    const from = await installedFrom(terminal, name, options);
    if (options.dryRun !== "client") {
      try {
        await client.delete(catalogRef(name), { uid, dryRun: options.dryRun === "server", signal });
      } catch (err) {
        throw wrapError(`delete ClusterCatalog ${goQuote(name)}: `, err);
      }
    }
    const kind = options.dryRun === undefined ? "" : options.dryRun === "client" ? " (dry run)" : " (server dry run)";
    await print(terminal, options.output, {
      data: { removed: catalogName(name), dryRun: options.dryRun !== undefined, ...from },
      text: () => `${catalogName(name)} deleted${kind}\n${consequence(from)}`,
      names: () => [catalogName(name)],
    });
  });
}

/** Extensions whose installed bundle the catalog has, or why that cannot be told. */
interface From {
  readonly extensions: readonly InstalledHere[];
  readonly unknown?: string;
}

async function installedFrom(terminal: Terminal, name: string, options: RemoveOptions): Promise<From> {
  try {
    const asked = { ...options, catalog: [name], catalogDir: [], catalogImage: [] };
    return await withCatalogs(terminal, asked, async ({ catalogs, client, signal }) => {
      const installed = await installedHere(client, signal);
      if (!installed) return { extensions: [], unknown: "you may not list ClusterExtensions" };
      const bundles = new Map(
        catalogs
          .flatMap(({ book }) => book.packages())
          .map(({ name: of, record }) => [of, new Set(record.versions.map(([bundle]) => bundle))]),
      );
      return { extensions: installed.filter((one) => bundles.get(one.package)?.has(one.bundle)) };
    });
  } catch (err) {
    terminal.signal.throwIfAborted();
    return { extensions: [], unknown: messageOf(err) };
  }
}

function consequence({ extensions, unknown }: From): string {
  if (unknown !== undefined) return `which extensions were installed from it cannot be told: ${unknown}\n`;
  if (extensions.length === 0) return "";
  const lines = extensions.map((one) => `  ${one.extension}: ${one.package} ${one.version}\n`);
  return `ClusterExtensions whose bundle it has; they go on running, and are upgraded only where another catalog has their packages:\n${lines.join("")}`;
}
