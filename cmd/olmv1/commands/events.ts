import type { Command } from "commander";
import { addClusterOptions } from "../cli/clusterOptions.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { EventsOptions } from "../extension/events.ts";

const AFTER_HELP = `
The reasons are listed in docs/reference/events.md. Events of an extension that was removed are shown as long as the API server keeps them.

Examples:
  olmv1 events argocd
  olmv1 events argocd --watch
`;

/** Adds `olmv1 events`: what was done for an extension. */
export function addEvents(program: Command, terminal: Terminal): void {
  const command = program
    .command("events")
    .description("show the Events about an extension, oldest first")
    .argument("<name>", "name of the ClusterExtension")
    .option("-w, --watch", "go on with new ones until Ctrl-C");
  outputOption(addClusterOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: EventsOptions) => {
      const { events } = await import("../extension/events.ts");
      await events(terminal, name, options);
    });
}
