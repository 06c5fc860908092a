import type { Command } from "commander";
import { addReleaseOptions } from "../cli/clusterOptions.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { CheckOptions } from "../upgradeCheck/clusterUpgradeCheck.ts";

const AFTER_HELP = `
It reads ClusterExtensions (list), ClusterVersion "version" (get) and the Secrets of the system namespace (get, list); it changes nothing.

Examples:
  olmv1 cluster-upgrade-check
  olmv1 cluster-upgrade-check --to 4.20 -o json

Exit codes: 0 nothing blocks the upgrade; 1 something does, or cannot be judged; 2 the check could not be made.
`;

/** Adds `olmv1 cluster-upgrade-check`: whether what is installed lets the cluster be upgraded, for people and CI. */
export function addClusterUpgradeCheck(program: Command, terminal: Terminal): void {
  const command = program
    .command("cluster-upgrade-check")
    .description("tell whether the cluster may be upgraded: every installed bundle must support the version it is upgraded to")
    .option("--to <version>", "version to upgrade to, such as 4.19 or 4.20.3; default: the next minor version");
  addReleaseOptions(command).option(
    "--cluster-version <version>",
    "version of the cluster, such as 4.18.9; default: what its ClusterVersion says",
  );
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (options: CheckOptions) => {
      const { showUpgradeCheck } = await import("../upgradeCheck/clusterUpgradeCheck.ts");
      await showUpgradeCheck(terminal, options);
    });
}
