import { type Command, Option } from "commander";
import { addClusterOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { addWaitOptions } from "../cli/waitOptions.ts";
import type { UninstallOptions } from "../uninstall/uninstall.ts";

const AFTER_HELP = `
It shows first which custom resources would be lost, and which definitions stay with theirs, and somebody has to agree, or --yes. Once the extension is gone it
removes what olmv1 install made for it, which has label olm.operatorframework.io/created-for with the extension's name, and nothing else. The namespace stays
unless --delete-namespace says otherwise. It waits until these objects are gone; of one that is not, such as a namespace with custom resources that have
finalizers, it prints what holds it. Run it again to continue where it stopped.

Examples:
  olmv1 uninstall argocd
  olmv1 uninstall argocd --crd-policy Retain --yes
  olmv1 uninstall argocd --crd-policy Delete --delete-namespace   # with all custom resources

Exit codes: 0 it is gone; 1 somebody disagreed, or it is not gone in time; 2 it could not be done.
`;

/** Adds `olmv1 uninstall`: takes an extension off the cluster, and what was made for it. */
export function addUninstall(program: Command, terminal: Terminal): void {
  const command = program
    .command("uninstall")
    .description("remove an extension, and what olmv1 install made for it, after showing what would be lost")
    .argument("<name>", "name of the ClusterExtension")
    .addOption(
      new Option(
        "--crd-policy <policy>",
        "spec.uninstall.crdPolicy instead of what the extension says: what happens to its definitions",
      ).choices(["DeleteIfUnused", "Delete", "Retain"]),
    )
    .option(
      "--delete-namespace",
      "delete the namespace too, with all that is in it, where olmv1 install made it and nothing else is installed there",
    )
    .option("--keep-service-account", "leave the ServiceAccount and its roles")
    .option("-y, --yes", "agree to what is lost");
  addClusterOptions(addWaitOptions(command, "it is gone"))
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: UninstallOptions) => {
      const { uninstall } = await import("../uninstall/uninstall.ts");
      await uninstall(terminal, name, options);
    });
}
