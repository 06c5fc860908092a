import type { Command } from "commander";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { Client } from "../../pkg/kube/client.ts";
import { Credentials } from "../../pkg/kube/credentials.ts";

/** Which cluster, and as whom. */
export interface ClusterOptions {
  kubeconfig?: string;
  context?: string;
}

/** The same, for commands that read releases. */
export interface ReleaseOptions extends ClusterOptions {
  systemNamespace: string;
}

/** Adds the options of `ClusterOptions` to a command. */
export function addClusterOptions(command: Command): Command {
  return command
    .option("--kubeconfig <path>", "path of a kubeconfig; default: $KUBECONFIG, else the Pod's own identity, else ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig; default: its current one");
}

/** Adds the options of `ReleaseOptions` to a command. */
export function addReleaseOptions(command: Command): Command {
  return addClusterOptions(command).option("--system-namespace <name>", "namespace that holds the release Secrets", SYSTEM_NAMESPACE);
}

/** What `work` gives with a client of the cluster, which is closed afterwards. */
export async function withCluster<T>({ kubeconfig, context }: ClusterOptions, work: (client: Client) => Promise<T>): Promise<T> {
  const client = Client.of(Credentials.fromKubeConfig(kubeconfig, context), { userAgent: "olmv1" });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}
