import { type Command, InvalidArgumentError, Option } from "commander";
import { addSourceOptions, SOURCES_HELP } from "../cli/catalogOptions.ts";
import { addClusterOptions, addRegistryOptions, collect } from "../cli/options.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { GraphForm, GraphOptions } from "../commands/graph.ts";
import type { SearchOptions } from "../commands/search.ts";
import type { ShowOptions } from "../commands/show.ts";
import type { VersionsOptions } from "../commands/versions.ts";

/** Adds the filters and the output of a search. */
function addSearchOptions(command: Command): Command {
  command
    .option("--kind <kind>", "provides this API: Kind, Kind.group or group/version/Kind; repeatable", collect, [])
    .option("--keyword <word>", "has this keyword; repeatable", collect, [])
    .option("--capability <level>", "has this capability level, such as 'Deep Insights'")
    .option("--arch <name>", "runs on this machine architecture, such as arm64; repeatable", collect, [])
    .option("--os <name>", "runs on this operating system; repeatable", collect, [])
    .option("--feature <name>", "claims this infrastructure feature, such as disconnected; repeatable", collect, [])
    .option("--channel <name>", "has a version in this channel; repeatable", collect, [])
    .option("--installable", "only what you may install here, and what runs on this cluster")
    .option("--limit <number>", "most packages that are shown; 0 shows all", limitOf);
  return outputOption(command, ["text", "wide", "name", "json", "yaml"]);
}

function limitOf(value: string): number | undefined {
  const limit = Number(value);
  if (!Number.isSafeInteger(limit) || limit < 0) throw new InvalidArgumentError("It is a number from 0.");
  return limit === 0 ? undefined : limit;
}

const SEARCH_HELP = `
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
    .addHelpText("after", SEARCH_HELP)
    .action(async (words: string[], options: SearchOptions) => {
      const { search } = await import("../commands/search.ts");
      await search(terminal, words, options);
    });
}

const CATALOG_SEARCH_HELP = `
As olmv1 search, in one catalog: what contains a slash is the image of one, or a path with ./ or / in front, or that exists; everything else is the
name of a ClusterCatalog. Without words and filters all of its packages are listed.

Examples:
  olmv1 catalog search community gitops
  olmv1 catalog search ./catalog --kind PostgresCluster
  olmv1 catalog search quay.io/operatorhubio/catalog:latest -o name

Exit codes: 0 something was found; 1 nothing was; 2 that could not be found out.
`;

/** Adds `olmv1 catalog search`. */
export function addCatalogSearch(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("search")
    .description("find packages in one catalog of the cluster, a folder or an image")
    .argument("<catalog>", "ClusterCatalog, folder, file or image, also as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]")
    .argument("[words...]", "what to look for")
    .option("--no-cache", "read the catalog anew, and keep nothing of it");
  addRegistryOptions(addClusterOptions(addSearchOptions(command)))
    .addHelpText("after", CATALOG_SEARCH_HELP)
    .action(async (name: string, words: string[], options: Omit<SearchOptions, "catalog" | "catalogDir" | "catalogImage">) => {
      const [{ search }, { sourceNamed }] = await Promise.all([
        import("../commands/search.ts"),
        import("../../../pkg/sources/catalogNames.ts"),
      ]);
      await search(terminal, words, { ...options, ...(await sourceNamed(name)) });
    });
}

const SHOW_HELP = `
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
    .addHelpText("after", SHOW_HELP)
    .action(async (text: string, options: ShowOptions) => {
      const { show } = await import("../commands/show.ts");
      await show(terminal, text, options);
    });
}

const VERSIONS_HELP = `
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
    .option("--channel <name>", "only versions in this channel, and its edges; repeatable", collect, [])
    .option("--all", "all versions, not only the newest 20")
    .option("--installed <version>", "version or bundle that is installed, instead of what the cluster has");
  addSourceOptions(outputOption(command, ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", VERSIONS_HELP)
    .action(async (name: string, options: VersionsOptions) => {
      const { versions } = await import("../commands/versions.ts");
      await versions(terminal, name, options);
    });
}

const FORMS: readonly GraphForm[] = ["tree", "mermaid", "dot", "svg", "json"];

const GRAPH_HELP = `
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
    .option("--channel <name>", "only this channel; repeatable", collect, [])
    .option("--from <version>", "only what updates lead to from this version or bundle")
    .option("--installed <version>", "version or bundle that is marked as installed, instead of what the cluster has")
    .addOption(new Option("-o, --output <format>", "how to draw the graph").choices(FORMS).default(FORMS[0]));
  addSourceOptions(command)
    .addHelpText("after", GRAPH_HELP)
    .action(async (name: string, options: GraphOptions) => {
      const { graph } = await import("../commands/graph.ts");
      await graph(terminal, name, options);
    });
}
