import type { Command } from "commander";
import { addClusterOptions, type ClusterOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";

const AFTER_HELP = `
It reads with your own rights: the ClusterExtension, the objects that its status names, and ReplicaSets and Pods of its workloads.
What you may not read says so in its line.

Examples:
  olmv1 tree argocd
  olmv1 tree argocd --context production
`;

/** Adds `olmv1 tree`: what an extension has installed, down to its Pods, and how it is. */
export function addTree(program: Command, terminal: Terminal): void {
  const command = program
    .command("tree")
    .description("show the objects of an extension, down to its Pods, with their health")
    .argument("<name>", "name of the ClusterExtension");
  addClusterOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: ClusterOptions) => {
      const { showTree } = await import("../tree/showTree.ts");
      await showTree(terminal, name, options);
    });
}
