import { type Command, Option } from "commander";
import { addRegistryOptions, collect, collectCsv } from "../cli/options.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { AddBundleOptions } from "../commands/catalog/addBundle.ts";
import type { AddEdgeOptions, DeprecateOptions, EdgeOptions, EditOptions, RemoveEdgeOptions } from "../commands/catalog/edit.ts";
import type { ExtractOptions } from "../commands/catalog/extract.ts";
import { BUNDLE_SOURCE } from "./bundle.ts";
import { addMigrateOptions, CATALOG_SOURCE } from "./catalogAuthoring.ts";

/** The folder of an edit. */
const EDITED_FOLDER = "folder with the catalog";

/** What every edit says of itself. */
const EDIT_MANNERS = `
Only the lines of the change change: comments, order and form of all else stay. The result is checked, and nothing is written when opm would refuse
it for something new. Doing it again changes nothing.
`;

/** Adds the options of `EditOptions`. */
function addEditOptions(command: Command): Command {
  return outputOption(command.option("--dry-run", "change nothing, print the change as a diff"), ["text", "json", "yaml"]);
}

/** Adds the options that say what a new entry of a channel follows. */
function addEdgeOptions(command: Command): Command {
  return command
    .option("--replaces <bundle>", "what it replaces there; default: the head of the channel, where no other edge is given")
    .option("--skips <bundles>", "what it skips there, with commas between", collectCsv, [])
    .option("--skip-range <range>", "versions that can be updated to it directly, such as '>=1.0.0 <1.2.0'");
}

const ADD_BUNDLE_HELP = `
The bundle goes into the file that has the others of its package, or into one of its own where each of these has one. A package or channel that there
is not is created. A bundle of that name with other content is refused: what is published does not change.
${EDIT_MANNERS}
Examples:
  olmv1 catalog add-bundle ./catalog quay.io/example/etcd-bundle@sha256:5891b5b5… --channels stable --migrate
  olmv1 catalog add-bundle ./catalog ./bundle --image 'quay.io/example/etcd-bundle:v{{.Version}}' --channels candidate,stable
  olmv1 catalog add-bundle ./catalog ./bundle --image quay.io/example/etcd-bundle:v1.3.0 --channels stable --replaces etcd.v1.2.0 --skips etcd.v1.2.4
`;

/** Adds `olmv1 catalog add-bundle`. */
export function addAddBundle(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("add-bundle")
    .description("add a bundle to channels of its package")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<bundle>", BUNDLE_SOURCE)
    .requiredOption("--channels <names>", "the channels that it is in, with commas between", collectCsv, [])
    .option("--image <reference>", "where the bundle in a folder is pushed to; {{.Package}}, {{.Name}} and {{.Version}} stand for its own");
  addRegistryOptions(addMigrateOptions(addEditOptions(addEdgeOptions(command))))
    .addHelpText("after", ADD_BUNDLE_HELP)
    .action(async (folder: string, bundle: string, options: AddBundleOptions) => {
      const { runAddBundle } = await import("../commands/catalog/addBundle.ts");
      await runAddBundle(terminal, folder, bundle, options);
    });
}

const DEPRECATE_HELP = `${EDIT_MANNERS}
Examples:
  olmv1 catalog deprecate ./catalog etcd --bundle etcd.v0.9.1 --message 'etcd.v0.9.1 loses data. Update to etcd.v0.9.2.'
  olmv1 catalog deprecate ./catalog etcd --channel alpha --message 'Use channel stable.' --dry-run
  olmv1 catalog deprecate ./catalog etcd --bundle etcd.v0.9.1 --undo
`;

/** Adds `olmv1 catalog deprecate`. */
export function addDeprecate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("deprecate")
    .description("deprecate a package, a channel or a bundle")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package, which is deprecated itself without --channel and --bundle")
    .option("--channel <name>", "a channel of it")
    .option("--bundle <name>", "a bundle of it")
    .option("--message <text>", "what users are told; one that is there already is replaced")
    .option("--undo", "take the deprecation back");
  addEditOptions(command)
    .addHelpText("after", DEPRECATE_HELP)
    .action(async (folder: string, packageName: string, options: DeprecateOptions) => {
      const { runDeprecate } = await import("../commands/catalog/edit.ts");
      await runDeprecate(terminal, folder, packageName, options);
    });
}

const ADD_EDGE_HELP = `${EDIT_MANNERS}
Without --type it is a replaces where the bundle replaces nothing yet, else a skips.

Examples:
  olmv1 catalog edge add ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0
  olmv1 catalog edge add ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0 --type skips --channel stable
  olmv1 catalog edge add ./catalog etcd --to etcd.v1.3.0 --skip-range '>=1.0.0 <1.3.0'
`;

const REMOVE_EDGE_HELP = `${EDIT_MANNERS}
Examples:
  olmv1 catalog edge remove ./catalog etcd --from etcd.v1.2.4 --to etcd.v1.3.0
  olmv1 catalog edge remove ./catalog etcd --to etcd.v1.3.0 --skip-range --channel stable
`;

const ONE_CHANNEL = "this channel alone; default: every one that has the bundle";

/** Adds `olmv1 catalog edge`. */
export function addEdgeCommands(catalog: Command, terminal: Terminal): void {
  const edge = catalog.command("edge").description("change what can be updated to what");
  const add = edge
    .command("add")
    .description("let a bundle follow another one, or a range of versions")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .option("--from <bundle>", "what can be updated; the catalog need not have it")
    .requiredOption("--to <bundle>", "what it can be updated to")
    .option("--channel <name>", ONE_CHANNEL)
    .addOption(new Option("--type <type>", "the kind of edge").choices(["replaces", "skips"]))
    .option("--skip-range <range>", "versions that can be updated, in place of --from; the range that is there is replaced");
  addEditOptions(add)
    .addHelpText("after", ADD_EDGE_HELP)
    .action(async (folder: string, packageName: string, options: AddEdgeOptions) => {
      const { runAddEdge } = await import("../commands/catalog/edit.ts");
      await runAddEdge(terminal, folder, packageName, options);
    });
  const remove = edge
    .command("remove")
    .description("take an update away")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .option("--from <bundle>", "what could be updated")
    .requiredOption("--to <bundle>", "what it could be updated to")
    .option("--channel <name>", ONE_CHANNEL)
    .option("--skip-range", "take the range of versions away, in place of --from");
  addEditOptions(remove)
    .addHelpText("after", REMOVE_EDGE_HELP)
    .action(async (folder: string, packageName: string, options: RemoveEdgeOptions) => {
      const { runRemoveEdge } = await import("../commands/catalog/edit.ts");
      await runRemoveEdge(terminal, folder, packageName, options);
    });
}

const PROMOTE_HELP = `${EDIT_MANNERS}
Examples:
  olmv1 catalog promote ./catalog etcd etcd.v0.9.2 stable
  olmv1 catalog promote ./catalog etcd etcd.v0.9.2 stable --replaces etcd.v0.9.0 --skips etcd.v0.9.1
`;

/** Adds `olmv1 catalog promote`. */
export function addPromote(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("promote")
    .description("make a bundle an entry of another channel too")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .argument("<bundle>", "name of the bundle")
    .argument("<channel>", "the channel, which is created where there is none");
  addEditOptions(addEdgeOptions(command))
    .addHelpText("after", PROMOTE_HELP)
    .action(async (root: string, packageName: string, bundle: string, channel: string, options: EditOptions & EdgeOptions) => {
      const { runPromote } = await import("../commands/catalog/edit.ts");
      await runPromote(terminal, { root, package: packageName, bundle, channel }, options);
    });
}

const SET_DEFAULT_CHANNEL_HELP = `${EDIT_MANNERS}
Examples:
  olmv1 catalog set-default-channel ./catalog etcd stable
  olmv1 catalog set-default-channel ./catalog etcd stable --dry-run
`;

/** Adds `olmv1 catalog set-default-channel`. */
export function addSetDefaultChannel(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("set-default-channel")
    .description("make a channel the default of its package")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .argument("<channel>", "a channel of it");
  addEditOptions(command)
    .addHelpText("after", SET_DEFAULT_CHANNEL_HELP)
    .action(async (root: string, packageName: string, channel: string, options: EditOptions) => {
      const { runSetDefaultChannel } = await import("../commands/catalog/edit.ts");
      await runSetDefaultChannel(terminal, { root, package: packageName, channel }, options);
    });
}

const SKIP_HELP = `
The newer bundle skips the bad one and, where it replaced that, replaces what the bad one did: clusters that have the bad one leave it, no other comes
to it.
${EDIT_MANNERS}
Examples:
  olmv1 catalog skip ./catalog etcd etcd.v0.9.1
  olmv1 catalog skip ./catalog etcd etcd.v0.9.1 --by etcd.v0.9.2 --channel stable
`;

/** Adds `olmv1 catalog skip`. */
export function addSkip(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("skip")
    .description("let a newer bundle take the place of a bad one")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .argument("<bundle>", "name of the bad bundle")
    .option("--by <bundle>", "the newer one; default: the head of each channel")
    .option("--channel <name>", "this channel alone; default: every one that has the bundle");
  addEditOptions(command)
    .addHelpText("after", SKIP_HELP)
    .action(async (root: string, packageName: string, bundle: string, options: EditOptions & { by?: string; channel?: string }) => {
      const { runSkip } = await import("../commands/catalog/edit.ts");
      await runSkip(terminal, { root, package: packageName, bundle }, options);
    });
}

const ZSTREAM_HELP = `
Every patch release updates to the newest of its minor version, that one to the newest of the next minor version, and every bundle, also one that only
the old graph names, has a single replacement. A skipRange would give versions a second one and goes.
${EDIT_MANNERS}
Examples:
  olmv1 catalog zstream ./catalog etcd --dry-run
  olmv1 catalog zstream ./catalog etcd --channel stable
`;

/** Adds `olmv1 catalog zstream`. */
export function addZstream(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("zstream")
    .description("make update graphs by minor versions")
    .argument("<folder>", EDITED_FOLDER)
    .argument("<package>", "the package")
    .option("--channel <name>", "this channel alone; default: all");
  addEditOptions(command)
    .addHelpText("after", ZSTREAM_HELP)
    .action(async (folder: string, packageName: string, options: EditOptions & { channel?: string }) => {
      const { runZstream } = await import("../commands/catalog/edit.ts");
      await runZstream(terminal, folder, packageName, options);
    });
}

const EXTRACT_HELP = `
Files keep their names and comments. Update graphs stay valid: what replaced a version that is not taken replaces the one before it and skips what is
between, so that every bundle that is installed still has its update.

Examples:
  olmv1 catalog extract ./catalog ./small --packages etcd,argocd-operator --heads-only
  olmv1 catalog extract quay.io/operatorhubio/catalog:latest ./small --channels etcd:stable --versions 'etcd:>=0.9.2'
`;

/** Adds `olmv1 catalog extract`. */
export function addExtract(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("extract")
    .description("write a part of a catalog as a catalog of its own")
    .argument("<catalog>", CATALOG_SOURCE)
    .argument("<target>", "folder to write to, which is new or empty")
    .option("--packages <names>", "these packages alone, with commas between", collectCsv, [])
    .option("--channels <names>", "these channels alone, with commas between; PACKAGE:CHANNEL for those of one package", collectCsv, [])
    .option("--versions <range>", "versions in this range alone; PACKAGE:RANGE for those of one package", collect, [])
    .option("--heads-only", "the newest version of each channel alone")
    .option("--default-channel <name>", "default channel where the package's own is not taken");
  addRegistryOptions(addEditOptions(command))
    .addHelpText("after", EXTRACT_HELP)
    .action(async (source: string, target: string, options: ExtractOptions) => {
      const { runExtract } = await import("../commands/catalog/extract.ts");
      await runExtract(terminal, source, target, options);
    });
}
