import { type Command, Option } from "commander";
import { EXPORT_FORMATS } from "../../../pkg/eject/exportedManifests.ts";
import { addReleaseOptions, createDurationOption } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { EjectCommandOptions } from "../commands/eject.ts";

const EJECT_HELP = `
Writes the manifests of the installed bundle, removes the marks of olmv1 from its objects, and deletes
the ClusterExtension with its releases and permissions. Only metadata of the objects changes, so no Pod
restarts. With --format helm, the objects get a label and annotations, so that Helm adopts them.

Webhook certificates that operator-controller issued are not part of the manifests, and nothing renews
them. The command lists them.

Examples:
  olmv1 eject argocd
  olmv1 eject argocd --format helm --output-dir charts/argocd --release-name argocd
  olmv1 eject argocd --dry-run

Exit codes:
  0  the extension is ejected, or --dry-run was given
  1  other extensions depend on the extension, or you declined
  2  the command failed
`;

/** Adds `olmv1 eject`, which stops managing an operator and keeps it running. */
export function addEject(program: Command, terminal: Terminal): void {
  const command = program
    .command("eject")
    .description("Stop managing an operator, and write its manifests")
    .argument("<name>", "name of the ClusterExtension")
    .addOption(new Option("--format <format>", "format of the manifests").choices(EXPORT_FORMATS).default("kustomize"))
    .option("--output-dir <path>", "new folder for the manifests (default: name of the ClusterExtension)")
    .option("--release-name <name>", "name of the Helm release (default: name of the ClusterExtension)")
    .option("--force", "eject even if other extensions depend on the extension")
    .option("--dry-run", "write the manifests without changing the cluster")
    .option("-y, --yes", "eject without prompting")
    .addOption(createDurationOption("--timeout", "maximum time of each wait", "5m"));
  addReleaseOptions(command)
    .addHelpText("after", EJECT_HELP)
    .action(async (name: string, options: EjectCommandOptions) => {
      const { eject } = await import("../commands/eject.ts");
      await eject(terminal, name, options);
    });
}
