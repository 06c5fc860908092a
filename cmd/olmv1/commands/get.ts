import type { Command } from "commander";
import { addClusterOptions, type ClusterOptions } from "../cli/clusterOptions.ts";
import { type Output, outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";

const AFTER_HELP = `
Examples:
  olmv1 get argocd
  olmv1 get argocd -o yaml
  olmv1 get argocd -o jsonpath='{.status.install.bundle.version}'
`;

/** Adds `olmv1 get`: one extension. */
export function addGet(program: Command, terminal: Terminal): void {
  const command = program
    .command("get")
    .description("show one extension, as a line or as it is on the cluster")
    .argument("<name>", "name of the ClusterExtension");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: ClusterOptions & { output: Output }) => {
      const { get } = await import("../extension/list.ts");
      await get(terminal, name, options);
    });
}
