import { type Command, InvalidArgumentError, Option } from "commander";
import {
  addClusterOptions,
  addRegistryOptions,
  type ClusterOptions,
  collect,
  createDurationOption,
  parseDurationOption,
} from "../cli/options.ts";
import { addManagedFieldsOption, addOutputOption, type ObjectOutputOptions } from "../cli/output.ts";
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
Creates a ClusterCatalog. With --wait, the command ends when the catalog is served, or when catalogd
reports an error that retries cannot fix: the image does not exist (404), cannot be pulled (401, 403)
or is not a catalog.

Examples:
  olmv1 catalog add community quay.io/operatorhubio/catalog:latest --poll-interval 10m --wait
  olmv1 catalog add internal registry.example.com/catalogs/internal:v1 --priority 100 --label team=platform
  olmv1 catalog add internal registry.example.com/catalogs/internal:v1 --dry-run=client -o yaml

Exit codes:
  0  success
  1  the catalog was created, but is not served
  2  the command failed
`;

/** Adds `olmv1 catalog add`. */
function addAdd(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("add")
    .description("Add a catalog to the cluster")
    .argument("<name>", "name of the ClusterCatalog")
    .argument("<image>", "catalog image, by tag or digest")
    .addOption(
      new Option(
        "--poll-interval <duration>",
        "how often catalogd checks the tag for a new image, in whole minutes, such as 10m (default: never)",
      ).argParser(parseDurationOption),
    )
    .option("--priority <number>", "priority among catalogs with the same package; the highest wins (default: 0)", parseInteger)
    .option("--label <key=value>", "label that the selectors of extensions can match; repeatable", collect, [])
    .option("--wait", "wait until the catalog is served")
    .addOption(createDurationOption("--timeout", "maximum time to wait with --wait", "5m"))
    .addOption(
      new Option("--dry-run <mode>", "print the ClusterCatalog without creating it; server: validate it on the API server").choices([
        "client",
        "server",
      ]),
    );
  addOutputOption(addClusterOptions(command), ["text", "name", "json", "yaml"])
    .addHelpText("after", ADD_HELP)
    .action(async (name: string, image: string, options: AddOptions) => {
      const { add } = await import("../commands/catalog/add.ts");
      await add(terminal, name, image, options);
    });
}

function parseInteger(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("Use a whole number.");
  return number;
}

const LIST_HELP = `
Lists catalogs by priority, highest first. -o wide adds the served digest, the poll interval, the time of
the last unpacking, and labels.

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
  const command = catalog.command("list").description("List ClusterCatalogs and their status");
  addManagedFieldsOption(addOutputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", LIST_HELP)
    .action(async (options: ClusterOptions & ObjectOutputOptions) => {
      const { listCatalogs } = await import("../commands/catalog/list.ts");
      await listCatalogs(terminal, options);
    });
}

/** Adds `olmv1 catalog get`. */
function addCatalogGet(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("get")
    .description("Show one ClusterCatalog and its conditions")
    .argument("<name>", "name of the ClusterCatalog");
  addManagedFieldsOption(addOutputOption(addClusterOptions(command), ["text", "wide", "name", "json", "yaml"]))
    .addHelpText("after", GET_HELP)
    .action(async (name: string, options: ClusterOptions & ObjectOutputOptions) => {
      const { getCatalog } = await import("../commands/catalog/list.ts");
      await getCatalog(terminal, name, options);
    });
}

const REMOVE_HELP = `
Lists the extensions that were installed from the catalog. They keep running, but can only be upgraded
from another catalog with their packages. To find them, the command reads the catalog image.

Examples:
  olmv1 catalog remove community
  olmv1 catalog remove community --dry-run=client
`;

/** Adds `olmv1 catalog remove`. */
function addCatalogRemove(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("remove")
    .description("Remove a catalog from the cluster and list extensions installed from it")
    .argument("<name>", "name of the ClusterCatalog")
    .addOption(
      new Option("--dry-run <mode>", "do not remove the catalog; server: check on the API server whether you may").choices([
        "client",
        "server",
      ]),
    )
    .option("--no-cache", "do not read or write the catalog cache");
  addOutputOption(addRegistryOptions(addClusterOptions(command)), ["text", "name", "json", "yaml"])
    .addHelpText("after", REMOVE_HELP)
    .action(async (name: string, options: RemoveOptions) => {
      const { remove } = await import("../commands/catalog/remove.ts");
      await remove(terminal, name, options);
    });
}

/** Adds `olmv1 catalog`, with commands for ClusterCatalogs and file-based catalogs. */
export function addCatalog(program: Command, terminal: Terminal): void {
  const catalog = program.command("catalog").description("Manage ClusterCatalogs and file-based catalogs");
  catalog.commandsGroup("Catalogs on the cluster:");
  addAdd(catalog, terminal);
  addCatalogList(catalog, terminal);
  addCatalogGet(catalog, terminal);
  addCatalogRemove(catalog, terminal);
  addCatalogSearch(catalog, terminal);

  catalog.commandsGroup("Create a catalog:");
  addCatalogRender(catalog, terminal);
  addTemplate(catalog, terminal);
  addCompose(catalog, terminal);
  addCatalogMigrate(catalog, terminal);
  addExtract(catalog, terminal);

  catalog.commandsGroup("Edit a catalog:");
  addAddBundle(catalog, terminal);
  addPromote(catalog, terminal);
  addDeprecate(catalog, terminal);
  addSetDefaultChannel(catalog, terminal);
  addEdgeCommands(catalog, terminal);
  addSkip(catalog, terminal);
  addZstream(catalog, terminal);

  catalog.commandsGroup("Check a catalog:");
  addCatalogValidate(catalog, terminal);
  addDiff(catalog, terminal);
  addImages(catalog, terminal);
  addServe(catalog, terminal);

  catalog.commandsGroup("Publish a catalog:");
  addCatalogBuild(catalog, terminal);
  addCatalogPush(catalog, terminal);
  addMirror(catalog, terminal);
  addDockerfile(catalog, terminal);
}
