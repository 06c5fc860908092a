import type { Command } from "commander";
import type { AddBundleOptions } from "../../catalog/edit/addBundle.ts";
import { listed } from "../../cli/several.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { BUNDLE_SOURCE } from "../bundle/source.ts";
import { addEdgeOptions, addEditOptions, EDIT_MANNERS, EDITED_FOLDER } from "./editOptions.ts";
import { addMigrateOptions } from "./render.ts";

const AFTER_HELP = `
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
    .requiredOption("--channels <names>", "the channels that it is in, with commas between", listed, [])
    .option("--image <reference>", "where the bundle in a folder is pushed to; {{.Package}}, {{.Name}} and {{.Version}} stand for its own");
  addRegistryOptions(addMigrateOptions(addEditOptions(addEdgeOptions(command))))
    .addHelpText("after", AFTER_HELP)
    .action(async (folder: string, bundle: string, options: AddBundleOptions) => {
      const { runAddBundle } = await import("../../catalog/edit/addBundle.ts");
      await runAddBundle(terminal, folder, bundle, options);
    });
}
