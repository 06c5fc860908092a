import { type Command, Option } from "commander";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ShowOptions } from "../views/show.ts";
import { addSourceOptions, SOURCES_HELP } from "../views/sourceOptions.ts";

const AFTER_HELP = `
Shown is the default version to install, which olmv1 resolve chooses, unless a version, a bundle or --channel says otherwise; of
several catalogs the one with the highest priority that has it. -o wide tells all APIs, all images and the whole description.
--examples prints the custom resources that the author gives to begin with (annotation alm-examples), as YAML documents for kubectl.
${SOURCES_HELP}
Examples:
  olmv1 show argocd-operator
  olmv1 show argocd-operator@0.12.0 -o json
  olmv1 show argocd-operator --channel alpha --catalog-dir ./catalog
  olmv1 show argocd-operator --examples ArgoCD | kubectl apply --namespace argocd -f -
`;

/** Adds `olmv1 show`: what there is to know of a package. */
export function addShow(program: Command, terminal: Terminal): void {
  const command = program
    .command("show")
    .description("show a package: channels, versions, what it provides and requires, where it runs, who makes it")
    .argument("<package[@version]>", "name of the package, and a version or a bundle of it")
    .option("--channel <name>", "the head of this channel")
    .addOption(new Option("--examples [kind]", "print example custom resources, all or those of a kind"));
  addSourceOptions(outputOption(command, ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", AFTER_HELP)
    .action(async (text: string, options: ShowOptions) => {
      const { show } = await import("../views/show.ts");
      await show(terminal, text, options);
    });
}
