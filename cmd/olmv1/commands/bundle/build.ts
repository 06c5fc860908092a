import type { Command } from "commander";
import type { Terminal } from "../../cli/terminal.ts";
import { addBuildOptions } from "../buildOptions.ts";

const AFTER_HELP = `
It writes the image straight to the registry, or to a layout; no container engine is needed. The image has one layer with the files of the manifests and
metadata, and as labels what metadata/annotations.yaml says. There is no time, user or host in it: the same bundle has the same digest.

What is printed is the image by digest.

Examples:
  olmv1 bundle build ./bundle -t quay.io/team/operator-bundle:v1.2.0
  olmv1 bundle build ./bundle -t oci-archive:bundle.tar:v1.2.0

Exit codes: 0 it is built; 1 the bundle is not valid; 2 it could not be built or pushed.
`;

/** Adds `olmv1 bundle build`. */
export function addBuild(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("build")
    .description("make the image of a bundle, without a container engine")
    .argument("<directory>", "folder with manifests/ and metadata/");
  addBuildOptions(command, async (directory, options) => {
    const { build } = await import("../../bundle/build.ts");
    await build(terminal, directory, options);
  }).addHelpText("after", AFTER_HELP);
}
