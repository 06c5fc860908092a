import type { ClusterOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { withCluster } from "../cluster.ts";
import { extensionTree } from "./extensionTree.ts";
import { treeText } from "./treeText.ts";

/** `olmv1 tree`. */
export async function showTree(terminal: Terminal, name: string, options: ClusterOptions): Promise<void> {
  terminal.out(treeText(await withCluster(options, (client) => extensionTree(client, name, Date.now())), terminal.width));
}
