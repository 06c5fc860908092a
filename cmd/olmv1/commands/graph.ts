import { type Command, Option } from "commander";
import { several } from "../cli/several.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { GraphForm, GraphOptions } from "../views/graph.ts";
import { addSourceOptions, SOURCES_HELP } from "../views/sourceOptions.ts";

const FORMS: readonly GraphForm[] = ["tree", "mermaid", "dot", "svg", "json"];

const AFTER_HELP = `
A tree shows each channel from its head down: below a bundle stands the one that it replaces, beside it what it skips. svg is a picture that is
complete in itself, mermaid and dot are for tools that draw, json has all nodes and edges. Marked are heads, what is deprecated, what is skipped, and
what the cluster, or --installed, has installed. --from leaves only what updates lead to from that version.
${SOURCES_HELP}
Examples:
  olmv1 graph argocd-operator
  olmv1 graph argocd-operator --channel alpha --from 0.11.0
  olmv1 graph argocd-operator -o svg > argocd.svg
  olmv1 graph argocd-operator -o dot --catalog-dir ./catalog | dot -Tpng -o argocd.png
`;

/** Adds `olmv1 graph`: which version of a package can be updated to which. */
export function addGraph(program: Command, terminal: Terminal): void {
  const command = program
    .command("graph")
    .description("draw the update graph of a package")
    .argument("<package>", "name of the package")
    .option("--channel <name>", "only this channel; repeatable", several, [])
    .option("--from <version>", "only what updates lead to from this version or bundle")
    .option("--installed <version>", "version or bundle that is marked as installed, instead of what the cluster has")
    .addOption(new Option("-o, --output <format>", "how to draw the graph").choices(FORMS).default(FORMS[0]));
  addSourceOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, options: GraphOptions) => {
      const { graph } = await import("../views/graph.ts");
      await graph(terminal, name, options);
    });
}
