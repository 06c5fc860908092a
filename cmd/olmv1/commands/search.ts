import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import type { SearchOptions } from "../views/search.ts";
import { addSearchOptions } from "../views/searchOptions.ts";
import { addSourceOptions, SOURCES_HELP } from "../views/sourceOptions.ts";

const AFTER_HELP = `
Words are looked for in name, display name, description, keywords, provider and provided kinds; all of them have to be found, in whatever order. The
best match comes first: a name before a keyword before a description. Filters look at every version, and one version has to match all of them; shown is
the default version to install where it matches, else the highest version that does. Without words and filters all packages are listed.
--installable asks the API server whether you may create ClusterExtensions, and compares Kubernetes and OpenShift version and the nodes' architectures.
${SOURCES_HELP}
Examples:
  olmv1 search gitops
  olmv1 search --kind PostgresCluster --arch arm64
  olmv1 search database --installable -o wide
  olmv1 search kafka --catalog-image quay.io/operatorhubio/catalog:latest -o name

Exit codes: 0 something was found; 1 nothing was; 2 that could not be found out.
`;

/** Adds `olmv1 search`: packages of all catalogs. */
export function addSearch(program: Command, terminal: Terminal): void {
  const command = program
    .command("search")
    .description("find packages in all catalogs, by words and by what they provide")
    .argument("[words...]", "what to look for");
  addSourceOptions(addSearchOptions(command))
    .addHelpText("after", AFTER_HELP)
    .action(async (words: string[], options: SearchOptions) => {
      const { search } = await import("../views/search.ts");
      await search(terminal, words, options);
    });
}
