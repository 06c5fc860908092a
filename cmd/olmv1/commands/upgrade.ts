import { type Command, Option } from "commander";
import { addReleaseOptions } from "../cli/clusterOptions.ts";
import { several } from "../cli/several.ts";
import type { Terminal } from "../cli/terminal.ts";
import { addWaitOptions } from "../cli/waitOptions.ts";
import { addRegistryOptions } from "../registryOptions.ts";
import type { UpgradeOptions } from "../upgrade/upgrade.ts";

const AFTER_HELP = `
It shows the plan, as olmv1 plan does: from which bundle to which, why, every object that changes, and what the cluster would refuse; then the rights that are new.
Somebody has to agree, or --yes. A ServiceAccount that olmv1 install made gets them; of another one it says what it lacks. With spec.approval Manual the plan that
was agreed to is approved. Without --version and --channel it goes where the extension may go already, which may only lack rights.

Examples:
  olmv1 upgrade argocd
  olmv1 upgrade argocd --version '>=0.13 <0.15' --yes
  olmv1 upgrade argocd --any-version --channel stable

Exit codes: 0 it is upgraded and ready, or there is nothing newer; 1 no bundle fits, it would be refused, somebody disagreed, or it did not come right in time; 2 it
could not be done.
`;

/** Adds `olmv1 upgrade`: takes an extension to a newer bundle, with the rights that this needs. */
export function addUpgrade(program: Command, terminal: Terminal): void {
  const command = program
    .command("upgrade")
    .description("upgrade an extension, after showing what changes and which rights that needs")
    .argument("<name>", "name of the ClusterExtension")
    .option("--version <range>", "the versions that may be installed from now on")
    .addOption(new Option("--any-version", "remove the range of versions").conflicts("version"))
    .option("--channel <name>", "a channel that counts from now on; repeatable", several, [])
    .option("-y, --yes", "agree to the plan and its rights");
  addRegistryOptions(addReleaseOptions(addWaitOptions(command, "it is ready")))
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: UpgradeOptions) => {
      const { upgrade } = await import("../upgrade/upgrade.ts");
      await upgrade(terminal, name, options);
    });
}
