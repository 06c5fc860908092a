import { type Command, Option } from "commander";
import { addOptionGroup, addRegistryOptions, collect, collectCsv } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { AddBundleOptions } from "../commands/catalog/addBundle.ts";
import type { AddEdgeOptions, DeprecateOptions, EdgeOptions, EditOptions, RemoveEdgeOptions } from "../commands/catalog/edit.ts";
import type { ExtractOptions } from "../commands/catalog/extract.ts";
import { BUNDLE_SOURCE } from "./bundle.ts";
import { addMigrateOptions, CATALOG_SOURCE } from "./catalogAuthoring.ts";

/** Describes the folder of an edit. */
const EDITED_FOLDER = "catalog folder";

/** Help that all edit commands share. */
export const EDIT_NOTES = `
Changes only the affected lines. Writes nothing if the edit would add an error that opm validate
reports. Running the command again changes nothing.
`;

/** Adds the options of `EditOptions`. */
function addEditOptions(command: Command): Command {
  const withDryRun = addOptionGroup(command, "edit", [new Option("--dry-run", "print the change as a diff without writing it")]);
  return addOutputOption(withDryRun, ["text", "json", "yaml"]);
}

/** Adds the upgrade edges of a new channel entry. */
function addEdgeOptions(command: Command): Command {
  return addOptionGroup(command, "edges", [
    new Option("--replaces <bundle>", "bundle that the added bundle replaces (default: head of the channel, unless you set another edge)"),
    new Option("--skips <bundles>", "comma-separated list of bundles that the added bundle skips").argParser(collectCsv).default([]),
    new Option("--skip-range <range>", "range of versions that can be upgraded directly to the added bundle, such as '>=1.0.0 <1.2.0'"),
  ]);
}

const ADD_BUNDLE_HELP = `
Creates the package and channels if they do not exist. Rejects a bundle if the catalog contains a
different bundle with the same name.
${EDIT_NOTES}
Examples:
  olmv1 catalog add-bundle ./catalog quay.io/example/etcd-bundle@sha256:5891b5b5… --channels stable --migrate
  olmv1 catalog add-bundle ./catalog ./bundle --image 'quay.io/example/etcd-bundle:v{{.Version}}' --channels candidate,stable
  olmv1 catalog add-bundle ./catalog ./bundle --image quay.io/example/etcd-bundle:v1.3.0 --channels stable --replaces etcd.v1.2.0 --skips etcd.v1.2.4
`;

/** Adds `olmv1 catalog add-bundle`. */
export function addAddBundle(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("add-bundle")
    .description("Add a bundle to channels of its package")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<bundle>", BUNDLE_SOURCE)
    .requiredOption("--channels <names>", "comma-separated list of channels to add the bundle to", collectCsv, [])
    .option("--image <reference>", "image of a bundle in a folder; can contain {{.Package}}, {{.Name}} and {{.Version}}");
  addRegistryOptions(addMigrateOptions(addEditOptions(addEdgeOptions(command))))
    .addHelpText("after", ADD_BUNDLE_HELP)
    .action(async (folder: string, bundle: string, options: AddBundleOptions) => {
      const { runAddBundle } = await import("../commands/catalog/addBundle.ts");
      await runAddBundle(terminal, folder, bundle, options);
    });
}

const DEPRECATE_HELP = `${EDIT_NOTES}
Examples:
  olmv1 catalog deprecate ./catalog etcd --bundle etcd.v0.9.1 --message 'etcd.v0.9.1 loses data. Upgrade to etcd.v0.9.2.'
  olmv1 catalog deprecate ./catalog etcd --channel alpha --message 'Use channel stable.' --dry-run
  olmv1 catalog deprecate ./catalog etcd --bundle etcd.v0.9.1 --undo
`;

/** Adds `olmv1 catalog deprecate`. */
export function addDeprecate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("deprecate")
    .description("Deprecate a package, channel or bundle")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "name of the package; without --channel and --bundle, the package is deprecated")
    .option("--channel <name>", "channel to deprecate")
    .option("--bundle <name>", "bundle to deprecate")
    .option("--message <text>", "message for users; replaces an existing message")
    .option("--undo", "remove the deprecation");
  addEditOptions(command)
    .addHelpText("after", DEPRECATE_HELP)
    .action(async (folder: string, packageName: string, options: DeprecateOptions) => {
      const { runDeprecate } = await import("../commands/catalog/edit.ts");
      await runDeprecate(terminal, folder, packageName, options);
    });
}

const ADD_EDGE_HELP = `${EDIT_NOTES}
Without --type, the edge type is replaces if the bundle does not replace another one yet, else skips.

Examples:
  olmv1 catalog edge add ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0
  olmv1 catalog edge add ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0 --type skips --channel stable
  olmv1 catalog edge add ./catalog etcd --to etcd.v1.3.0 --skip-range '>=1.0.0 <1.3.0'
`;

const REMOVE_EDGE_HELP = `${EDIT_NOTES}
Examples:
  olmv1 catalog edge remove ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0
  olmv1 catalog edge remove ./catalog etcd --to etcd.v1.3.0 --skip-range --channel stable
`;

const ONE_CHANNEL = "channel to edit (default: all channels with the bundle)";

/** Adds `olmv1 catalog edge`. */
export function addEdgeCommands(catalog: Command, terminal: Terminal): void {
  const edge = catalog.command("edge").description("Add and remove upgrade edges");
  const add = edge
    .command("add")
    .description("Add an upgrade edge")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "name of the package")
    .option("--from <bundle>", "bundle to upgrade from; the catalog need not contain it")
    .requiredOption("--to <bundle>", "bundle to upgrade to")
    .option("--channel <name>", ONE_CHANNEL)
    .addOption(new Option("--type <type>", "type of edge").choices(["replaces", "skips"]))
    .option("--skip-range <range>", "version range to upgrade from, instead of --from; replaces the existing range");
  addEditOptions(add)
    .addHelpText("after", ADD_EDGE_HELP)
    .action(async (folder: string, packageName: string, options: AddEdgeOptions) => {
      const { runAddEdge } = await import("../commands/catalog/edit.ts");
      await runAddEdge(terminal, folder, packageName, options);
    });
  const remove = edge
    .command("remove")
    .description("Remove an upgrade edge")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "name of the package")
    .option("--from <bundle>", "bundle to upgrade from")
    .requiredOption("--to <bundle>", "bundle to upgrade to")
    .option("--channel <name>", ONE_CHANNEL)
    .option("--skip-range", "remove the version range to upgrade from, instead of --from");
  addEditOptions(remove)
    .addHelpText("after", REMOVE_EDGE_HELP)
    .action(async (folder: string, packageName: string, options: RemoveEdgeOptions) => {
      const { runRemoveEdge } = await import("../commands/catalog/edit.ts");
      await runRemoveEdge(terminal, folder, packageName, options);
    });
}

const PROMOTE_HELP = `${EDIT_NOTES}
Examples:
  olmv1 catalog promote ./catalog etcd etcd.v0.9.2 stable
  olmv1 catalog promote ./catalog etcd etcd.v0.9.2 stable --replaces etcd.v0.9.0 --skips etcd.v0.9.1
`;

/** Adds `olmv1 catalog promote`. */
export function addPromote(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("promote")
    .description("Add a bundle to another channel")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "name of the package")
    .argument("<bundle>", "name of the bundle")
    .argument("<channel>", "name of the channel, created if missing");
  addEditOptions(addEdgeOptions(command))
    .addHelpText("after", PROMOTE_HELP)
    .action(async (root: string, packageName: string, bundle: string, channel: string, options: EditOptions & EdgeOptions) => {
      const { runPromote } = await import("../commands/catalog/edit.ts");
      await runPromote(terminal, { root, package: packageName, bundle, channel }, options);
    });
}

const SET_DEFAULT_CHANNEL_HELP = `${EDIT_NOTES}
Examples:
  olmv1 catalog set-default-channel ./catalog etcd stable
  olmv1 catalog set-default-channel ./catalog etcd stable --dry-run
`;

/** Adds `olmv1 catalog set-default-channel`. */
export function addSetDefaultChannel(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("set-default-channel")
    .description("Set the default channel of a package")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "name of the package")
    .argument("<channel>", "name of the channel");
  addEditOptions(command)
    .addHelpText("after", SET_DEFAULT_CHANNEL_HELP)
    .action(async (root: string, packageName: string, channel: string, options: EditOptions) => {
      const { runSetDefaultChannel } = await import("../commands/catalog/edit.ts");
      await runSetDefaultChannel(terminal, { root, package: packageName, channel }, options);
    });
}

const SKIP_HELP = `
The newer bundle skips the bad bundle. If the newer bundle replaced the bad bundle, it now replaces
the bad bundle's predecessor. Clusters with the bad bundle can upgrade.
${EDIT_NOTES}
Examples:
  olmv1 catalog skip ./catalog etcd etcd.v0.9.1
  olmv1 catalog skip ./catalog etcd etcd.v0.9.1 --by etcd.v0.9.2 --channel stable
`;

/** Adds `olmv1 catalog skip`. */
export function addSkip(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("skip")
    .description("Skip a bad bundle in upgrades")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "name of the package")
    .argument("<bundle>", "name of the bad bundle")
    .option("--by <bundle>", "newer bundle that skips the bad bundle (default: head of each channel)")
    .option("--channel <name>", ONE_CHANNEL);
  addEditOptions(command)
    .addHelpText("after", SKIP_HELP)
    .action(async (root: string, packageName: string, bundle: string, options: EditOptions & { by?: string; channel?: string }) => {
      const { runSkip } = await import("../commands/catalog/edit.ts");
      await runSkip(terminal, { root, package: packageName, bundle }, options);
    });
}

const ZSTREAM_HELP = `
Each bundle gets one successor: the newest patch of its minor version or, for that patch, the newest
patch of the next minor version. skipRange is removed, because it would add a second successor.
${EDIT_NOTES}
Examples:
  olmv1 catalog zstream ./catalog etcd --dry-run
  olmv1 catalog zstream ./catalog etcd --channel stable
`;

/** Adds `olmv1 catalog zstream`. */
export function addZstream(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("zstream")
    .description("Rebuild the upgrade graph of a package by minor versions")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "name of the package")
    .option("--channel <name>", "channel to edit (default: all channels)");
  addEditOptions(command)
    .addHelpText("after", ZSTREAM_HELP)
    .action(async (folder: string, packageName: string, options: EditOptions & { channel?: string }) => {
      const { runZstream } = await import("../commands/catalog/edit.ts");
      await runZstream(terminal, folder, packageName, options);
    });
}

const EXTRACT_HELP = `
Keeps file names, comments and upgrade paths: an entry that replaced an excluded version now replaces
the next older included version and skips the versions in between.

Examples:
  olmv1 catalog extract ./catalog ./small --packages etcd,argocd-operator --heads-only
  olmv1 catalog extract quay.io/operatorhubio/catalog:latest ./small --channels etcd:stable --versions 'etcd:>=0.9.2'
`;

/** Adds `olmv1 catalog extract`. */
export function addExtract(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("extract")
    .description("Extract part of a catalog to a new catalog")
    .argument("<catalog>", CATALOG_SOURCE)
    .argument("<target>", "new or empty folder")
    .option("--packages <names>", "comma-separated list of packages to include", collectCsv, [])
    .option("--channels <names>", "comma-separated list of channels to include, or PACKAGE:CHANNEL for one package", collectCsv, [])
    .option("--versions <range>", "version range to include, or PACKAGE:RANGE for one package; repeatable", collect, [])
    .option("--heads-only", "include only the newest version of each channel")
    .option("--default-channel <name>", "default channel, if the original default channel is excluded");
  const withDryRun = command.option("--dry-run", "print the files as a diff without writing them");
  addRegistryOptions(addOutputOption(withDryRun, ["text", "json", "yaml"]))
    .addHelpText("after", EXTRACT_HELP)
    .action(async (source: string, target: string, options: ExtractOptions) => {
      const { runExtract } = await import("../commands/catalog/extract.ts");
      await runExtract(terminal, source, target, options);
    });
}
