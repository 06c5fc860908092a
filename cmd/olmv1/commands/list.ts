import type { Command } from "commander";
import { addClusterOptions } from "../cli/clusterOptions.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ListOptions } from "../extension/list.ts";

const AFTER_HELP = `
STATUS is Ready, or the reason of the condition Ready; UPDATE the version that may follow next, in brackets one that may not. With --apis it asks the API server
what you yourself may do with each API, in all namespaces or in one.

Examples:
  olmv1 list
  olmv1 list --outdated -o wide
  olmv1 list --apis --namespace team-a
  olmv1 list -o jsonpath='{range .items[*]}{.metadata.name}{"\\t"}{.status.install.bundle.version}{"\\n"}{end}'
`;

/** Adds `olmv1 list`: the extensions of a cluster, or the APIs that they bring. */
export function addList(program: Command, terminal: Terminal): void {
  const command = program
    .command("list")
    .alias("ls")
    .description("list the extensions of a cluster: package, version, available update and status")
    .option("--outdated", "only those of which the catalogs have a newer version")
    .option("--apis", "list the APIs that they provide, and what you may do with them")
    .option("-n, --namespace <name>", "with --apis: where you would work with them; default: all namespaces");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (options: ListOptions) => {
      const { list } = await import("../extension/list.ts");
      await list(terminal, options);
    });
}
