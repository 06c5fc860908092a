import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import { addResolutionOptions, SOURCES_HELP } from "../resolution/options.ts";
import type { WhyNotOptions } from "../resolution/whyNot.ts";

const AFTER_HELP = `
PACKAGE VERSION asks as for a new installation, or for an upgrade with --installed; with --extension or --filename it is the extension's question, and
PACKAGE may be left out. The version is one such as 1.2.3, or the name of a bundle. Told are, for each catalog, all rules against it, each with what
would let it through; where there is none, what is preferred to it; and for a version that no catalog has, those next to it.
${SOURCES_HELP}
Examples:
  olmv1 why-not argocd-operator 0.14.0
  olmv1 why-not 0.14.0 --extension argocd
  olmv1 why-not argocd-operator 0.14.0 --installed 0.12.0 --catalog-dir ./catalog

Exit codes: 0 the version is what the extension or package gets; 1 it is not, and the answer says why; 2 that could not be found out.
`;

/** Adds `olmv1 why-not`: why a version is not what an extension or a package gets. */
export function addWhyNot(program: Command, terminal: Terminal): void {
  const command = program
    .command("why-not")
    .description(
      "tell why a version of a package is not what a ClusterExtension, or a new installation, gets, and what would let it through",
    )
    .usage("[options] [package] <version>")
    .argument("<words...>", "package and version; the package may be left out with --extension and --filename")
    .option("--extension <name>", "ask for this ClusterExtension of the cluster");
  addResolutionOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (words: string[], options: WhyNotOptions) => {
      const { showWhyNot } = await import("../resolution/whyNot.ts");
      await showWhyNot(terminal, words, options);
    });
}
