import { type Command, InvalidArgumentError, Option } from "commander";
import { addSourceOptions, SOURCES_HELP } from "../cli/catalogOptions.ts";
import { addClusterOptions, addOptionGroup, addRegistryOptions, collect, createRepeatableOption } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { GraphForm, GraphOptions } from "../commands/graph.ts";
import type { SearchOptions } from "../commands/search.ts";
import type { ShowOptions } from "../commands/show.ts";
import type { VersionsOptions } from "../commands/versions.ts";

/** Adds the filters and the output of a search. */
function addSearchOptions(command: Command): Command {
  addOptionGroup(command, "filters", [
    createRepeatableOption("--kind <kind>", "provided API: Kind, Kind.group or group/version/Kind; repeatable"),
    createRepeatableOption("--keyword <word>", "keyword; repeatable"),
    new Option("--capability <level>", "capability level, such as 'Deep Insights'"),
    createRepeatableOption("--arch <name>", "supported machine architecture, such as arm64; repeatable"),
    createRepeatableOption("--os <name>", "supported operating system; repeatable"),
    createRepeatableOption("--feature <name>", "infrastructure feature, such as disconnected; repeatable"),
    createRepeatableOption("--channel <name>", "channel that contains the version; repeatable"),
    new Option("--installable", "show only packages that you may install and that can run on this cluster"),
    new Option("--supported", "show only packages with a version in a support phase that supports this cluster's version"),
    new Option("--limit <number>", "maximum number of packages to print (default: all)").argParser(parseLimit),
  ]);
  return addOutputOption(command, ["text", "wide", "name", "json", "yaml"]);
}

function parseLimit(value: string): number | undefined {
  const limit = Number(value);
  if (!Number.isSafeInteger(limit) || limit < 0) throw new InvalidArgumentError("Use a whole number, 0 or greater.");
  return limit === 0 ? undefined : limit;
}

const SEARCH_HELP = `
A package matches if all words occur in its name, display name, description, keywords, provider or
provided kinds, and one of its versions matches all filters. Lists matches in the name first, then
matches in keywords. Shows the default version if it matches, else the highest matching version.
--installable checks your permission to create ClusterExtensions, the versions of Kubernetes and
OpenShift, and the architectures of the nodes. --supported reads the support phases in the catalogs:
a version without data is not listed.
${SOURCES_HELP}
Examples:
  olmv1 search gitops
  olmv1 search --kind PostgresCluster --arch arm64
  olmv1 search database --installable -o wide
  olmv1 search kafka --catalog-image quay.io/operatorhubio/catalog:latest -o name

Exit codes:
  0  success
  1  no package matches
  2  the command failed
`;

/** Adds `olmv1 search`, which finds packages in all catalogs. */
export function addSearch(program: Command, terminal: Terminal): void {
  const command = program.command("search").description("Search packages in all catalogs").argument("[words...]", "words to search for");
  addSourceOptions(addSearchOptions(command))
    .addHelpText("after", SEARCH_HELP)
    .action(async (words: string[], options: SearchOptions) => {
      const { search } = await import("../commands/search.ts");
      await search(terminal, words, options);
    });
}

const CATALOG_SEARCH_HELP = `
Works like olmv1 search. A catalog name with a slash is an image, unless it starts with ./ or / or
exists as a path. A name without a slash is a ClusterCatalog.

Examples:
  olmv1 catalog search community gitops
  olmv1 catalog search ./catalog --kind PostgresCluster
  olmv1 catalog search quay.io/operatorhubio/catalog:latest -o name

Exit codes:
  0  success
  1  no package matches
  2  the command failed
`;

/** Adds `olmv1 catalog search`. */
export function addCatalogSearch(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("search")
    .description("Search packages in one catalog")
    .argument("<catalog>", "ClusterCatalog, folder, file or image, or oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]")
    .argument("[words...]", "words to search for")
    .option("--no-cache", "do not read or write the catalog cache");
  addRegistryOptions(addClusterOptions(addSearchOptions(command)))
    .addHelpText("after", CATALOG_SEARCH_HELP)
    .action(async (name: string, words: string[], options: Omit<SearchOptions, "catalog" | "catalogDir" | "catalogImage">) => {
      const [{ search }, { parseSource }] = await Promise.all([
        import("../commands/search.ts"),
        import("../../../pkg/sources/catalogNames.ts"),
      ]);
      await search(terminal, words, { ...options, ...(await parseSource(name)) });
    });
}

const SHOW_HELP = `
Shows the version that a new installation gets, unless you specify a version or --channel. Reads the
catalog with the highest priority. -o wide prints all APIs, all images and the whole description.
${SOURCES_HELP}
Examples:
  olmv1 show argocd-operator
  olmv1 show argocd-operator@0.12.0 -o json
  olmv1 show argocd-operator --channel alpha --catalog-dir ./catalog
  olmv1 show argocd-operator --examples ArgoCD | kubectl apply --namespace argocd -f -
`;

/** Adds `olmv1 show`, which shows a package. */
export function addShow(program: Command, terminal: Terminal): void {
  const command = program
    .command("show")
    .description("Show a package: channels, versions, provided and required APIs, platforms")
    .argument("<package[@version]>", "name of the package, with an optional version or bundle")
    .option("--channel <name>", "show the head of this channel")
    .addOption(new Option("--examples [kind]", "print example custom resources (annotation alm-examples) as YAML, all or of one kind"));
  addSourceOptions(addOutputOption(command, ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", SHOW_HELP)
    .action(async (text: string, options: ShowOptions) => {
      const { show } = await import("../commands/show.ts");
      await show(terminal, text, options);
    });
}

const VERSIONS_HELP = `
Lists versions, newest first, with their channels (a star marks the channel head) and build dates.
Column UPGRADE shows how to upgrade from the installed version: directly, or through other versions.
Column SUPPORT shows the support phase, if the catalog has support phases of the package.
${SOURCES_HELP}
Examples:
  olmv1 versions argocd-operator
  olmv1 versions argocd-operator --channel alpha --all
  olmv1 versions argocd-operator --installed 0.11.0 --catalog-dir ./catalog
`;

/** Adds `olmv1 versions`, which lists the versions of a package. */
export function addVersions(program: Command, terminal: Terminal): void {
  const command = program
    .command("versions")
    .description("List the versions of a package and how to upgrade to each")
    .argument("<package>", "name of the package")
    .option("--channel <name>", "list only versions and upgrade edges of this channel; repeatable", collect, [])
    .option("--supported", "list only versions in a support phase that support this cluster's version")
    .option("--all", "list all versions (default: the newest 20)")
    .option("--installed <version>", "installed version or bundle (default: from the cluster)");
  addSourceOptions(addOutputOption(command, ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", VERSIONS_HELP)
    .action(async (name: string, options: VersionsOptions) => {
      const { runVersions } = await import("../commands/versions.ts");
      await runVersions(terminal, name, options);
    });
}

const FORMS: readonly GraphForm[] = ["tree", "mermaid", "dot", "svg", "json"];

const GRAPH_HELP = `
A tree shows each channel, starting with its head. The bundle that an entry replaces is under the entry,
and the bundles that it skips are next to it. The graph marks channel heads, and bundles that are
deprecated, skipped or installed.
${SOURCES_HELP}
Examples:
  olmv1 graph argocd-operator
  olmv1 graph argocd-operator --channel alpha --from 0.11.0
  olmv1 graph argocd-operator -o svg > argocd.svg
  olmv1 graph argocd-operator -o dot --catalog-dir ./catalog | dot -Tpng -o argocd.png
`;

/** Adds `olmv1 graph`, which draws the upgrade graph of a package. */
export function addGraph(program: Command, terminal: Terminal): void {
  const command = program
    .command("graph")
    .description("Draw the upgrade graph of a package")
    .argument("<package>", "name of the package")
    .option("--channel <name>", "channel to show; repeatable (default: all channels)", collect, [])
    .option("--from <version>", "show only this version or bundle, and the bundles that upgrades from it can reach")
    .option("--installed <version>", "version or bundle to mark as installed (default: from the cluster)")
    .addOption(new Option("-o, --output <format>", "output format").choices(FORMS).default(FORMS[0]));
  addSourceOptions(command)
    .addHelpText("after", GRAPH_HELP)
    .action(async (name: string, options: GraphOptions) => {
      const { runGraph } = await import("../commands/graph.ts");
      await runGraph(terminal, name, options);
    });
}
