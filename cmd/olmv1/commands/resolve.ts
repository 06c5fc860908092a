import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import { addResolutionOptions, SOURCES_HELP } from "../resolution/options.ts";
import type { ResolveOptions } from "../resolution/resolve.ts";

const AFTER_HELP = `
A name is that of a ClusterExtension where there is one, else that of a package, which is resolved as for a new installation. Options take the place
of what the extension says. Nothing is written. As JSON and YAML the answer is the whole record, as /debug/resolution/NAME of operator-controller has it.
${SOURCES_HELP}
Examples:
  olmv1 resolve argocd --explain
  olmv1 resolve argocd-operator --version '>=0.12 <0.14' --catalog-dir ./catalog
  olmv1 resolve -f extension.yaml -o json

Exit codes: 0 a bundle would be chosen; 1 none would; 2 that could not be found out.
`;

/** Adds `olmv1 resolve`: which bundle an extension or a package comes to, and why. */
export function addResolve(program: Command, terminal: Terminal): void {
  const command = program
    .command("resolve")
    .description("show which bundle a ClusterExtension or a package would come to, and why that one")
    .argument("[name]", "ClusterExtension or package")
    .option("--package <name>", "a package, also where a ClusterExtension has the same name")
    .option("--extension <name>", "a ClusterExtension of the cluster, also with --catalog-dir")
    .option("--explain", "show how many candidates each filter left in each catalog, what it removed, and what came next");
  addResolutionOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string | undefined, options: ResolveOptions) => {
      const { showResolution } = await import("../resolution/resolve.ts");
      await showResolution(terminal, name, options);
    });
}
