import type { Command } from "commander";
import { outputOption } from "../cli/output.ts";
import { several } from "../cli/several.ts";
import type { Terminal } from "../cli/terminal.ts";
import { addSourceOptions, SOURCES_HELP } from "../views/sourceOptions.ts";
import type { VersionsOptions } from "../views/versions.ts";

const AFTER_HELP = `
Newest first, with the channels of each, a star at those it is the head of, and the day on which its author built it, where that is stated. Where an
extension of the cluster has the package installed, or --installed says what is, column UPGRADE tells how a version is reached by the catalog's edges:
in one upgrade (direct), or through others. What else stands against a version, olmv1 why-not tells.
${SOURCES_HELP}
Examples:
  olmv1 versions argocd-operator
  olmv1 versions argocd-operator --channel alpha --all
  olmv1 versions argocd-operator --installed 0.11.0 --catalog-dir ./catalog
`;

/** Adds `olmv1 versions`: what versions a package has. */
export function addVersions(program: Command, terminal: Terminal): void {
  const command = program
    .command("versions")
    .description("list the versions of a package, and how each is reached from what is installed")
    .argument("<package>", "name of the package")
    .option("--channel <name>", "only versions in this channel, and its edges; repeatable", several, [])
    .option("--all", "all versions, not only the newest 20")
    .option("--installed <version>", "version or bundle that is installed, instead of what the cluster has");
  addSourceOptions(outputOption(command, ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: VersionsOptions) => {
      const { versions } = await import("../views/versions.ts");
      await versions(terminal, name, options);
    });
}
