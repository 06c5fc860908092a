import type { Command } from "commander";
import { addReleaseOptions, type ReleaseOptions } from "../cli/clusterOptions.ts";
import { type Output, outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";

const AFTER_HELP = `
It reads the ClusterExtension and the Secrets of the system namespace (get, list).

Examples:
  olmv1 history argocd
  olmv1 history argocd -o jsonpath='{[0].revision}'
`;

/** Adds `olmv1 history`: the releases of an extension. */
export function addHistory(program: Command, terminal: Terminal): void {
  const command = program
    .command("history")
    .description("show the releases of an extension, newest first, to which olmv1 rollback can go back")
    .argument("<name>", "name of the ClusterExtension");
  outputOption(addReleaseOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: ReleaseOptions & { output: Output }) => {
      const { history } = await import("../extension/history.ts");
      await history(terminal, name, options);
    });
}
