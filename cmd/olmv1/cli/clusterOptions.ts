import type { Command } from "commander";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";

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
