import { type Command, Option } from "commander";
import type { ExpectedLabel } from "../../../pkg/authoring/build/publishImage.ts";
import { addOptionGroup, addPushOptions, collect } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { BuildOptions } from "../commands/catalog/build.ts";
import type { PushOptions } from "../commands/push.ts";

/** Describes a reference to an image. */
const PLACE = "image such as quay.io/team/app:v1, OCI layout oci:PATH[:TAG], or OCI archive oci-archive:PATH[:TAG]";

/** Adds the options of `BuildOptions` and the action of a build command. */
function addBuildOptions(command: Command, work: (folder: string, options: BuildOptions) => Promise<void>): Command {
  addOptionGroup(command, "build", [
    new Option("-t, --tag <destination>", PLACE).makeOptionMandatory(),
    new Option("--label <key=value>", "label of the image; repeatable").argParser(collect),
    new Option("--annotation <key=value>", "annotation of the image manifest; repeatable").argParser(collect),
    new Option("--force", "build even if the content is invalid"),
  ]);
  return addPushOptions(addOutputOption(command, ["text", "json", "yaml", "name"])).action(work);
}

/** Adds a command that pushes images of one kind. @param examples at least two lines */
function addPushCommand(parent: Command, terminal: Terminal, expected: ExpectedLabel, examples: string): void {
  const command = parent
    .command("push")
    .description(`Copy a ${expected.what} image to a registry or an OCI layout`)
    .argument("<source>", PLACE)
    .argument("<destination>", "destination, in the same format")
    .option("--force", `push even if the image has no ${expected.what} label`);
  addPushOptions(addOutputOption(command, ["text", "json", "yaml", "name"]))
    .addHelpText("after", `\nKeeps the digest, copies all platforms, and skips existing content.\n\nExamples:\n${examples}`)
    .action(async (source: string, destination: string, options: PushOptions) => {
      const { push } = await import("../commands/push.ts");
      await push(terminal, source, destination, expected, options);
    });
}

const BUILD_BUNDLE_HELP = `
Writes the image to a registry or an OCI layout and prints its digest. The image has one layer with
manifests and metadata, and the labels in metadata/annotations.yaml. With the same Node.js release, the
same files produce the same digest.

Examples:
  olmv1 bundle build ./bundle -t quay.io/team/operator-bundle:v1.2.0
  olmv1 bundle build ./bundle -t oci-archive:bundle.tar:v1.2.0

Exit codes:
  0  success
  1  the bundle is invalid
  2  the command failed
`;

/** Adds `olmv1 bundle build`. */
export function addBundleBuild(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("build")
    .description("Build a bundle image without a container engine")
    .argument("<folder>", "folder with manifests/ and metadata/");
  addBuildOptions(command, async (folder, options) => {
    const { buildBundle } = await import("../commands/bundle/build.ts");
    await buildBundle(terminal, folder, options);
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
Writes the image to a registry or an OCI layout and prints its digest. The image has one layer with
the files of the catalog in /configs, except those that .indexignore excludes, and the label that
catalogd requires. With the same Node.js release, the same files produce the same digest.
CatalogSources of OLM v0 need an image that contains opm instead.

Examples:
  olmv1 catalog build ./catalog -t quay.io/team/catalog:v1
  olmv1 catalog build ./catalog -t oci:build/catalog:v1 --label quay.expires-after=2w
  olmv1 catalog build ./catalog -t localhost:5000/catalog:latest --insecure -o json

Exit codes:
  0  success
  1  the catalog is invalid
  2  the command failed
`;

/** Adds `olmv1 catalog build`. */
export function addCatalogBuild(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("build")
    .description("Build a catalog image without a container engine")
    .argument("<folder>", "catalog folder");
  addBuildOptions(command, async (folder, options) => {
    const { buildCatalog } = await import("../commands/catalog/build.ts");
    await buildCatalog(terminal, folder, options);
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
