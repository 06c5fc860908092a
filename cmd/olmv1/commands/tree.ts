import type { Command } from "commander";
import { addClusterOptions, type ClusterOptions, withCluster } from "../cluster.ts";
import { extensionTree } from "../tree/extensionTree.ts";
import { treeText } from "../tree/treeText.ts";

const AFTER_HELP = `
It reads with your own rights: the ClusterExtension, the objects that its status names, and ReplicaSets and Pods of its workloads.
What you may not read says so in its line.
`;

/** Adds `olmv1 tree`: what an extension has installed, down to its Pods, and how it is. */
export function addTree(program: Command): void {
  const command = program
    .command("tree")
    .description("show the objects of an extension, down to its Pods, with their health")
    .argument("<name>", "name of the ClusterExtension");
  addClusterOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: ClusterOptions) => {
      process.stdout.write(treeText(await withCluster(options, (client) => extensionTree(client, name, Date.now()))));
    });
}
