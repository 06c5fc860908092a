import { type Command, InvalidArgumentError } from "commander";
import type { ServeOptions } from "../../catalog/serve.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { CATALOG_SOURCE } from "./source.ts";

const AFTER_HELP = `
It answers what catalogd answers, from the same code, until Ctrl-C; the address of the catalog is printed first. When a file of the folder changes it is read
again, once nothing has changed for a moment. Of a change that cannot be read it says what is wrong, and goes on serving what it read before.

Examples:
  olmv1 catalog serve ./catalog
  olmv1 catalog serve quay.io/operatorhubio/catalog:latest --port 8080
  curl -s "http://127.0.0.1:8080/catalogs/catalog/api/v1/metas?schema=olm.package"

Exit codes: 0 ended by Ctrl-C; 2 the catalog cannot be read, or the address is taken.
`;

/** Adds `olmv1 catalog serve`. */
export function addServe(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("serve")
    .description("serve a catalog over catalogd's HTTP API on this machine")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--address <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes any", portFrom, 0)
    .option("--name <name>", "name of the catalog in addresses; default: that of the folder or repository")
    .option("--no-watch", "do not look for changes of the folder");
  addRegistryOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, options: ServeOptions) => {
      const { serve } = await import("../../catalog/serve.ts");
      await serve(terminal, source, options);
    });
}

function portFrom(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is a number up to 65535.");
}
