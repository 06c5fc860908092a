import { type Command, InvalidArgumentError, Option } from "commander";
import { addClusterOptions, addRegistryOptions, type ClusterOptions, collect, durationOption } from "../cli/options.ts";
import { type Output, outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { AddOptions } from "../commands/catalog/add.ts";
import type { RemoveOptions } from "../commands/catalog/remove.ts";
import {
  addCatalogMigrate,
  addCatalogRender,
  addCatalogValidate,
  addCompose,
  addDiff,
  addDockerfile,
  addImages,
  addMirror,
  addServe,
  addTemplate,
} from "./catalogAuthoring.ts";
import {
  addAddBundle,
  addDeprecate,
  addEdgeCommands,
  addExtract,
  addPromote,
  addSetDefaultChannel,
  addSkip,
  addZstream,
} from "./catalogEdit.ts";
import { addCatalogBuild, addCatalogPush } from "./images.ts";
import { addCatalogSearch } from "./packages.ts";

const ADD_HELP = `
It creates a ClusterCatalog, which catalogd pulls and serves to the whole cluster. With --wait it ends when the catalog is served, or
at once when catalogd reports an error that a retry does not cure: the image does not exist (404), may not be pulled (401, 403) or is not a catalog.

Examples:
  olmv1 catalog add community quay.io/operatorhubio/catalog:latest --poll-interval 10m --wait
  olmv1 catalog add internal registry.example.com/catalogs/internal:v1 --priority 100 --label team=platform
  olmv1 catalog add internal registry.example.com/catalogs/internal:v1 --dry-run=client -o yaml

Exit codes: 0 it is created, and served with --wait; 1 it is created and not served; 2 it could not be created.
`;

/** Adds `olmv1 catalog add`. */
function addAdd(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("add")
    .description("add a catalog to the cluster")
    .argument("<name>", "name of the ClusterCatalog")
    .argument("<image>", "image with a file-based catalog, with a tag or a digest")
    .addOption(durationOption("--poll-interval", "time between two lookups of the tag, in whole minutes (default: never)"))
    .option("--priority <number>", "decides between catalogs that have the same package: the highest wins; default: 0", integer)
    .option("--label <key=value>", "a label, for selectors of extensions; repeatable", collect, [])
    .option("--wait", "wait until the catalog is served")
    .addOption(durationOption("--timeout", "how long --wait waits", "5m"))
    .addOption(
      new Option("--dry-run <where>", "only print what would be created: checked here, or by the server").choices(["client", "server"]),
    );
  outputOption(addClusterOptions(command), ["text", "name", "json", "yaml"])
    .addHelpText("after", ADD_HELP)
    .action(async (name: string, image: string, options: AddOptions) => {
      const { add } = await import("../commands/catalog/add.ts");
      await add(terminal, name, image, options);
    });
}

function integer(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("It is a whole number.");
  return number;
}

const LIST_HELP = `
The highest priority comes first. -o wide adds the digest that is served, how often the tag is looked up, when it was unpacked, and labels.

Examples:
  olmv1 catalog list
  olmv1 catalog list -o wide
  olmv1 catalog list -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'
`;
const GET_HELP = `
Examples:
  olmv1 catalog get community
  olmv1 catalog get community -o yaml
  olmv1 catalog get community -o jsonpath='{.status.resolvedSource.image.ref}'
`;

/** Adds `olmv1 catalog list`. */
function addCatalogList(catalog: Command, terminal: Terminal): void {
  const command = catalog.command("list").description("list the catalogs of the cluster, and how they are");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
    .addHelpText("after", LIST_HELP)
    .action(async (options: ClusterOptions & { output: Output }) => {
      const { listCatalogs } = await import("../commands/catalog/list.ts");
      await listCatalogs(terminal, options);
    });
}

/** Adds `olmv1 catalog get`. */
function addCatalogGet(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("get")
    .description("show one catalog of the cluster, with what its conditions say")
    .argument("<name>", "name of the ClusterCatalog");
  outputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"])
    .addHelpText("after", GET_HELP)
    .action(async (name: string, options: ClusterOptions & { output: Output }) => {
      const { getCatalog } = await import("../commands/catalog/list.ts");
      await getCatalog(terminal, name, options);
    });
}

const REMOVE_HELP = `
It tells which ClusterExtensions have a bundle of the catalog installed: they go on running, and are upgraded only where another catalog has their
packages. For that its image is read, from the cache folder where it has been read before.

Examples:
  olmv1 catalog remove community
  olmv1 catalog remove community --dry-run=client
`;

/** Adds `olmv1 catalog remove`. */
function addCatalogRemove(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("remove")
    .description("remove a catalog from the cluster, and tell what was installed from it")
    .argument("<name>", "name of the ClusterCatalog")
    .addOption(new Option("--dry-run <where>", "remove nothing; the server checks whether it could be").choices(["client", "server"]))
    .option("--no-cache", "read the catalog anew, and keep nothing of it");
  outputOption(addRegistryOptions(addClusterOptions(command)), ["text", "name", "json", "yaml"])
    .addHelpText("after", REMOVE_HELP)
    .action(async (name: string, options: RemoveOptions) => {
      const { remove } = await import("../commands/catalog/remove.ts");
      await remove(terminal, name, options);
    });
}

/** Adds `olmv1 catalog`: catalogs of the cluster, and tools for file-based catalogs. */
export function addCatalog(program: Command, terminal: Terminal): void {
  const catalog = program.command("catalog").description("work with catalogs of the cluster, and with file-based catalogs");
  catalog.commandsGroup("Catalogs of the cluster:");
  addAdd(catalog, terminal);
  addCatalogList(catalog, terminal);
  addCatalogGet(catalog, terminal);
  addCatalogRemove(catalog, terminal);
  addCatalogSearch(catalog, terminal);

  catalog.commandsGroup("Make a catalog:");
  addCatalogRender(catalog, terminal);
  addTemplate(catalog, terminal);
  addCompose(catalog, terminal);
  addCatalogMigrate(catalog, terminal);
  addExtract(catalog, terminal);

  catalog.commandsGroup("Edit its files:");
  addAddBundle(catalog, terminal);
  addPromote(catalog, terminal);
  addDeprecate(catalog, terminal);
  addSetDefaultChannel(catalog, terminal);
  addEdgeCommands(catalog, terminal);
  addSkip(catalog, terminal);
  addZstream(catalog, terminal);

  catalog.commandsGroup("Check it:");
  addCatalogValidate(catalog, terminal);
  addDiff(catalog, terminal);
  addImages(catalog, terminal);
  addServe(catalog, terminal);

  catalog.commandsGroup("Publish it:");
  addCatalogBuild(catalog, terminal);
  addCatalogPush(catalog, terminal);
  addMirror(catalog, terminal);
  addDockerfile(catalog, terminal);
}
