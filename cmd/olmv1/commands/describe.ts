import type { Command } from "commander";
import { addReleaseOptions, type ReleaseOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";

const AFTER_HELP = `
Each condition that is not as one wishes is explained, with the next command to try. It reads with your own rights: the ClusterExtension, its objects, its
ServiceAccount, Events, and the release Secrets of the system namespace; what you may not read says so in its place.

Examples:
  olmv1 describe argocd
  olmv1 describe argocd --context production
`;

/** Adds `olmv1 describe`: what is the matter with an extension, in plain words. */
export function addDescribe(program: Command, terminal: Terminal): void {
  const command = program
    .command("describe")
    .description("tell in plain words how an extension is: conditions with next steps, updates, objects, releases and Events")
    .argument("<name>", "name of the ClusterExtension");
  addReleaseOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: ReleaseOptions) => {
      const { describe } = await import("../extension/describe.ts");
      await describe(terminal, name, options);
    });
}
