import { validateSubdomain } from "../../../../pkg/api/names.ts";
import { serveCatalog } from "../../../../pkg/authoring/serve/serveCatalog.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { isDirectory, type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { deriveCatalogName } from "../../../../pkg/sources/catalogNames.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 catalog serve`. */
export interface ServeOptions extends ReaderOptions {
  address: string;
  port: number;
  name?: string;
  watch: boolean;
}

/** Runs `olmv1 catalog serve` until Ctrl-C. */
export async function serve(terminal: Terminal, source: string, options: ServeOptions): Promise<void> {
  const { address: host, port, name = deriveCatalogName(source) } = options;
  const problems = validateSubdomain(name);
  if (problems.length > 0) throw new Error(`${goQuote(name)} is not a valid catalog name: ${problems.join("; ")}`);
  await withReader(
    options,
    async (reader) => {
      const dir = await reader.catalogFolder(source);
      const watch = options.watch && dir === source && (await isDirectory(source));
      terminal.endsByItself(); // After the pull, which only fails when the signal aborts it.
      await serveCatalog({ name, dir, source, host, port, watch }, terminal);
    },
    terminal.signal,
  );
}
