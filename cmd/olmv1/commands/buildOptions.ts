import type { Command } from "commander";
import type { BuildOptions } from "../catalog/build.ts";
import { outputOption } from "../cli/output.ts";
import { several } from "../cli/several.ts";
import { addPushOptions } from "../registryOptions.ts";

/** Where an image comes from, or goes. */
export const PLACE = "image such as quay.io/team/app:v1, or oci:PATH[:TAG] for an OCI layout, or oci-archive:PATH[:TAG] for the tar of one";

/** Declares the options of `BuildOptions`, and what is done with them. */
export function addBuildOptions(command: Command, work: (directory: string, options: BuildOptions) => Promise<void>): Command {
  command
    .requiredOption("-t, --tag <destination>", PLACE)
    .option("--label <key=value>", "a label of the image; may be given more than once", several)
    .option("--annotation <key=value>", "an annotation of its manifest; may be given more than once", several)
    .option("--force", "build it though it is not valid");
  return addPushOptions(outputOption(command, ["text", "json", "yaml", "name"])).action(work);
}
