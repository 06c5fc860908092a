import type { Command } from "commander";
import { Client } from "../../../pkg/kube/client.ts";
import { Credentials } from "../../../pkg/kube/credentials.ts";
import { extensionTree } from "../tree/extensionTree.ts";
import { treeText } from "../tree/treeText.ts";

interface TreeOptions {
  kubeconfig?: string;
  context?: string;
}

const AFTER_HELP = `
It reads with your own rights: the ClusterExtension, the objects that its status names, and ReplicaSets and Pods of its workloads.
What you may not read says so in its line.
`;

/** Adds `olmv1 tree`: what an extension has installed, down to its Pods, and how it is. */
export function addTree(program: Command): void {
  program
    .command("tree")
    .description("show the objects of an extension, down to its Pods, with their health")
    .argument("<name>", "name of the ClusterExtension")
    .option("--kubeconfig <path>", "path of a kubeconfig; default: $KUBECONFIG, else the Pod's own identity, else ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig; default: its current one")
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: TreeOptions) => {
      const client = Client.of(Credentials.fromKubeConfig(options.kubeconfig, options.context), { userAgent: "olmv1" });
      try {
        process.stdout.write(treeText(await extensionTree(client, name, Date.now())));
      } finally {
        await client.close();
      }
    });
}
