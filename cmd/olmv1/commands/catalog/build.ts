import type { Command } from "commander";
import type { Terminal } from "../../cli/terminal.ts";
import { addBuildOptions } from "../buildOptions.ts";

const AFTER_HELP = `
It writes the image straight to the registry, or to a layout; no container engine is needed. The image has one layer with the files of the catalog below
/configs, without those that an .indexignore excludes, and the label that catalogd looks for. There is no time, user or host in it: the same catalog has the
same digest. It serves ClusterCatalogs; a CatalogSource of OLM classic needs an image with opm in it.

What is printed is the image by digest.

Examples:
  olmv1 catalog build ./catalog -t quay.io/team/catalog:v1
  olmv1 catalog build ./catalog -t oci:build/catalog:v1 --label quay.expires-after=2w
  olmv1 catalog build ./catalog -t localhost:5000/catalog:latest --insecure -o json

Exit codes: 0 it is built; 1 the catalog is not valid; 2 it could not be built or pushed.
`;

/** Adds `olmv1 catalog build`. */
export function addBuild(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("build")
    .description("make the image of a catalog, without a container engine")
    .argument("<directory>", "folder with the catalog");
  addBuildOptions(command, async (directory, options) => {
    const { build } = await import("../../catalog/build.ts");
    await build(terminal, directory, options);
  }).addHelpText("after", AFTER_HELP);
}
