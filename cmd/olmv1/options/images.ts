import type { Command } from "commander";
import type { ExpectedLabel } from "../../../pkg/authoring/build/publishImage.ts";
import { addPushOptions, collect } from "../cli/options.ts";
import { outputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { BuildOptions } from "../commands/catalog/build.ts";
import type { PushOptions } from "../commands/push.ts";

/** Where an image comes from, or goes. */
const PLACE = "image such as quay.io/team/app:v1, or oci:PATH[:TAG] for an OCI layout, or oci-archive:PATH[:TAG] for the tar of one";

/** Declares the options of `BuildOptions`, and what is done with them. */
function addBuildOptions(command: Command, work: (directory: string, options: BuildOptions) => Promise<void>): Command {
  command
    .requiredOption("-t, --tag <destination>", PLACE)
    .option("--label <key=value>", "a label of the image; may be given more than once", collect)
    .option("--annotation <key=value>", "an annotation of its manifest; may be given more than once", collect)
    .option("--force", "build it though it is not valid");
  return addPushOptions(outputOption(command, ["text", "json", "yaml", "name"])).action(work);
}

/** Declares a command that pushes images of one kind. @param examples two lines or more */
function addPushCommand(parent: Command, terminal: Terminal, expected: ExpectedLabel, examples: string): void {
  const command = parent
    .command("push")
    .description(`copy the image of a ${expected.what} to a registry or a layout`)
    .argument("<source>", PLACE)
    .argument("<destination>", "where it goes, in the same form")
    .option("--force", `push it though it has no label of a ${expected.what}`);
  addPushOptions(outputOption(command, ["text", "json", "yaml", "name"]))
    .addHelpText(
      "after",
      `\nThe digest stays; of an image for several platforms all are copied. What is there already is not sent again.\n\nExamples:\n${examples}`,
    )
    .action(async (source: string, destination: string, options: PushOptions) => {
      const { push } = await import("../commands/push.ts");
      await push(terminal, source, destination, expected, options);
    });
}

const BUILD_BUNDLE_HELP = `
It writes the image straight to the registry, or to a layout; no container engine is needed. The image has one layer with the files of the manifests and
metadata, and as labels what metadata/annotations.yaml says. There is no time, user or host in it: the same bundle has the same digest.

What is printed is the image by digest.

Examples:
  olmv1 bundle build ./bundle -t quay.io/team/operator-bundle:v1.2.0
  olmv1 bundle build ./bundle -t oci-archive:bundle.tar:v1.2.0

Exit codes: 0 it is built; 1 the bundle is not valid; 2 it could not be built or pushed.
`;

/** Adds `olmv1 bundle build`. */
export function addBundleBuild(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("build")
    .description("make the image of a bundle, without a container engine")
    .argument("<directory>", "folder with manifests/ and metadata/");
  addBuildOptions(command, async (directory, options) => {
    const { buildBundle } = await import("../commands/bundle/build.ts");
    await buildBundle(terminal, directory, options);
  }).addHelpText("after", BUILD_BUNDLE_HELP);
}

const BUNDLE_IMAGE = { what: "bundle", label: "operators.operatorframework.io.bundle.mediatype.v1" };
const PUSH_BUNDLE_EXAMPLES = `  olmv1 bundle push oci-archive:bundle.tar:v1.2.0 quay.io/team/operator-bundle:v1.2.0
  olmv1 bundle push quay.io/team/operator-bundle:v1.2.0 localhost:5000/operator-bundle:v1.2.0 --insecure
`;

/** Adds `olmv1 bundle push`. */
export function addBundlePush(bundle: Command, terminal: Terminal): void {
  addPushCommand(bundle, terminal, BUNDLE_IMAGE, PUSH_BUNDLE_EXAMPLES);
}

const BUILD_CATALOG_HELP = `
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
export function addCatalogBuild(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("build")
    .description("make the image of a catalog, without a container engine")
    .argument("<directory>", "folder with the catalog");
  addBuildOptions(command, async (directory, options) => {
    const { buildCatalog } = await import("../commands/catalog/build.ts");
    await buildCatalog(terminal, directory, options);
  }).addHelpText("after", BUILD_CATALOG_HELP);
}

const CATALOG_IMAGE = { what: "catalog", label: "operators.operatorframework.io.index.configs.v1" };
const PUSH_CATALOG_EXAMPLES = `  olmv1 catalog push oci:build/catalog:v1 quay.io/team/catalog:v1
  olmv1 catalog push quay.io/team/catalog@sha256:… quay.io/team/catalog:stable
`;

/** Adds `olmv1 catalog push`. */
export function addCatalogPush(catalog: Command, terminal: Terminal): void {
  addPushCommand(catalog, terminal, CATALOG_IMAGE, PUSH_CATALOG_EXAMPLES);
}
