import { type Command, InvalidArgumentError, Option } from "commander";
import {
  addFindingOptions,
  addOptionGroup,
  addPushOptions,
  addRegistryOptions,
  collect,
  collectCsv,
  parseParallel,
} from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { ComposeOptions } from "../commands/catalog/compose.ts";
import type { DiffOptions } from "../commands/catalog/diff.ts";
import type { DockerfileCommandOptions } from "../commands/catalog/dockerfile.ts";
import type { ImagesOptions } from "../commands/catalog/images.ts";
import type { CatalogMigrateOptions } from "../commands/catalog/migrate.ts";
import type { CatalogMirrorOptions } from "../commands/catalog/mirror.ts";
import type { RenderCommandOptions } from "../commands/catalog/render.ts";
import type { ServeOptions } from "../commands/catalog/serve.ts";
import type { ConvertTemplateOptions, TemplateOptions } from "../commands/catalog/template.ts";
import type { CatalogValidateOptions } from "../commands/catalog/validate.ts";

const RENDER_HELP = `
Prints the same objects as opm render, in the same order. A folder with manifests/ and metadata/ is a
bundle; any other folder is a catalog. A reference that is not a folder is an image, whose labels show
whether it contains a bundle or a catalog.

Examples:
  olmv1 catalog render quay.io/example/operator-bundle:v1.2.0 -o yaml >> catalog/operator/catalog.yaml
  olmv1 catalog render ./bundle --alpha-image-ref-template 'quay.io/example/{{.Package}}-bundle:v{{.Version}}' -o yaml
  olmv1 catalog render registry.redhat.io/redhat/certified-operator-index:v4.18 --migrate-level bundle-object-to-csv-metadata
`;

/** Adds `olmv1 catalog render`. */
export function addCatalogRender(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("render")
    .description("Render bundles and catalogs as a file-based catalog")
    .argument("<references...>", "bundle folder, catalog folder, bundle image, catalog image, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]")
    .addOption(
      new Option("-o, --output <format>", "output format: JSON objects or YAML documents").choices(["json", "yaml"]).default("json"),
    );
  addMigrateOptions(command).option(
    "--alpha-image-ref-template <template>",
    "image of bundles in folders; can contain {{.Package}}, {{.Name}} and {{.Version}} (default: none)",
  );
  addRegistryOptions(command)
    .addHelpText("after", RENDER_HELP)
    .action(async (references: string[], options: RenderCommandOptions) => {
      const { printRenderedCatalog } = await import("../commands/catalog/render.ts");
      await printRenderedCatalog(terminal, references, options);
    });
}

/** Adds the options for the conversion of bundles to newer formats. */
export function addMigrateOptions(command: Command): Command {
  return addOptionGroup(command, "conversion", [
    new Option(
      "--migrate-level <level>",
      "none, or bundle-object-to-csv-metadata to replace the manifests with ClusterServiceVersion metadata",
    ),
    new Option("--migrate", "same as --migrate-level bundle-object-to-csv-metadata"),
  ]);
}

const COMPOSE_HELP = `
Each entry in the references file becomes a folder in the catalog:

  name: example-operators
  repo: quay.io/example/catalog
  tag: latest
  references:
  - name: etcd-operator
    image: quay.io/etcd-operator/index@sha256:5891b5b5…
  - name: own
    path: ../catalogs/own      # folder, relative to this file
    packages: [gadget]         # optional; default: all packages

Writes nothing unless the whole catalog is valid. A package in two references is an error.

Examples:
  olmv1 catalog compose -f catalog.yaml
  olmv1 catalog compose -f catalog.yaml --output-dir build/catalog --force -o json

Exit codes:
  0  success
  1  the catalogs cannot be combined
  2  the command failed
`;

/** Adds `olmv1 catalog compose`. */
export function addCompose(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("compose")
    .description("Combine several catalogs into one")
    .requiredOption("-f, --file <file>", "references file, or - for standard input")
    .option("--output-dir <folder>", "folder for the catalog (default: name in the references file)")
    .addOption(new Option("--format <format>", "file format").choices(["yaml", "json"]).default("yaml"))
    .option("--force", "write to a non-empty folder; its other files are kept, and checked too");
  addRegistryOptions(addMigrateOptions(addOutputOption(command, ["text", "json", "yaml"])))
    .addHelpText("after", COMPOSE_HELP)
    .action(async (options: ComposeOptions) => {
      const { compose } = await import("../commands/catalog/compose.ts");
      await compose(terminal, options);
    });
}

/** Describes a reference to a catalog. */
export const CATALOG_SOURCE = "catalog folder, catalog image, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]";

const DIFF_HELP = `
Breaking changes: a package, channel, channel entry or bundle is removed; the default channel, or the
image or version of a bundle, changes; or a bundle can no longer be upgraded.

Examples:
  olmv1 catalog diff quay.io/example/catalog:latest ./catalog
  olmv1 catalog diff ./old ./new --fail-on any -o json

Exit codes:
  0  success
  1  there are changes of the --fail-on kind
  2  the command failed
`;

/** Adds `olmv1 catalog diff`. */
export function addDiff(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("diff")
    .description("Compare two catalogs and flag breaking changes")
    .argument("<before>", `old catalog: ${CATALOG_SOURCE}`)
    .argument("<after>", "new catalog, in the same format")
    .addOption(new Option("--fail-on <kind>", "changes that cause exit code 1").choices(["breaking", "any", "never"]).default("breaking"));
  addRegistryOptions(addOutputOption(command, ["text", "json", "yaml"]))
    .addHelpText("after", DIFF_HELP)
    .action(async (before: string, after: string, options: DiffOptions) => {
      const { diff } = await import("../commands/catalog/diff.ts");
      await diff(terminal, before, after, options);
    });
}

const OPM = "quay.io/operator-framework/opm:latest";

const DOCKERFILE_HELP = `
Writes the same file as opm generate dockerfile: <folder>.Dockerfile, next to the folder. For OLM v1,
base image scratch is sufficient.

Examples:
  olmv1 catalog dockerfile ./catalog
  olmv1 catalog dockerfile ./catalog --base-image scratch --extra-labels vendor=example,release=3
`;

/** Adds `olmv1 catalog dockerfile`. */
export function addDockerfile(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("dockerfile")
    .description("Write a Dockerfile for a catalog image")
    .argument("<folder>", "catalog folder")
    .option("-i, --base-image <image>", `base image (default: ${OPM})`)
    .option("-b, --builder-image <image>", `image that builds the cache (default: ${OPM})`)
    .addOption(new Option("--binary-image <image>", "old name of --base-image; also sets --builder-image").hideHelp())
    .addOption(
      new Option("-l, --extra-labels <labels>", "comma-separated image labels, as key=value").argParser(addLabel).default([], "none"),
    )
    .option("--force", "overwrite an existing file");
  addOutputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", DOCKERFILE_HELP)
    .action(async (folder: string, options: DockerfileCommandOptions) => {
      const { runDockerfile } = await import("../commands/catalog/dockerfile.ts");
      await runDockerfile(terminal, folder, options);
    });
}

/** Appends the labels of a repeatable option. */
function addLabel(text: string, before: readonly string[]): string[] {
  return [...before, ...text.split(",").filter((label) => label !== "")];
}

const IMAGES_HELP = `
Examples:
  olmv1 catalog images ./catalog
  olmv1 catalog images ./catalog --packages clusterlogging --versions '4.3.x' -o name
  olmv1 catalog images quay.io/operatorhubio/catalog:latest --bundles 'clusterlogging.4.3*' -o json
`;

/** Adds `olmv1 catalog images`. */
export function addImages(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("images")
    .description("List bundle images and related images of a catalog")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--packages <names>", "comma-separated list of packages to include", collectCsv, [])
    .option("--versions <range>", "version range to include, or PACKAGE:RANGE for one package; repeatable", collect, [])
    .option("--bundles <names>", "comma-separated list of bundles to include; a trailing * matches any suffix", collectCsv, []);
  addRegistryOptions(addOutputOption(command, ["text", "name", "json", "yaml"]))
    .addHelpText("after", IMAGES_HELP)
    .action(async (source: string, options: ImagesOptions) => {
      const { printImages } = await import("../commands/catalog/images.ts");
      await printImages(terminal, source, options);
    });
}

const MIGRATE_HELP = `
Converts package manifests (one or several folders with a file such as etcd.package.yaml and a
folder per version), or rewrites a catalog with one file per package. Writes nothing if the input is
invalid. OLM v1 needs bundle images: --bundles-dir writes bundles that you can build and push.

Examples:
  olmv1 catalog migrate ./etcd ./catalog --bundle-image-template 'quay.io/example/{{.Package}}-bundle:v{{.Version}}' --bundles-dir ./bundles
  olmv1 catalog migrate quay.io/operatorhubio/catalog:latest ./catalog --migrate

Exit codes:
  0  success
  1  the package manifests or the resulting catalog are invalid
  2  the command failed
`;

/** Adds `olmv1 catalog migrate`. */
export function addCatalogMigrate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("migrate")
    .description("Convert package manifests or a catalog to a file-based catalog")
    .argument("<source>", "folder with package manifests, catalog folder, catalog image, oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]")
    .argument("<folder>", "empty folder for the catalog")
    .addOption(new Option("--format <format>", "file format").choices(["yaml", "json"]).default("yaml"))
    .option(
      "--bundle-image-template <template>",
      "image of each bundle from package manifests; can contain {{.Package}}, {{.Name}} and {{.Version}}",
    )
    .option("--bundles-dir <folder>", "empty folder for registry+v1 bundles from the package manifests");
  addRegistryOptions(addMigrateOptions(addOutputOption(command, ["text", "json", "yaml"])))
    .addHelpText("after", MIGRATE_HELP)
    .action(async (source: string, folder: string, options: CatalogMigrateOptions) => {
      const { migrate } = await import("../commands/catalog/migrate.ts");
      await migrate(terminal, source, folder, options);
    });
}

const MIRROR_HELP = `
Copies bundle images, related images and their signatures, then the catalog image. If you select a part
of the catalog, the command builds an image with only this part. To resume after an error, run the
command again. If no machine can reach both registries, mirror to oci:FOLDER, move the folder, and
mirror from it. Repository a/b becomes REGISTRY/PATH/a-b. The command writes to --to-dir:

  mapping.txt      source=destination, for oc image mirror
  images.txt       the source images
  registries.conf  for catalogd, operator-controller and podman

It also writes the objects ClusterCatalog, ImageContentSourcePolicy, ImageDigestMirrorSet and
ImageTagMirrorSet.

Examples:
  olmv1 catalog mirror quay.io/operatorhubio/catalog:latest mirror.internal:5000/olm --packages argocd-operator
  olmv1 catalog mirror ./catalog mirror.internal:5000/olm --channels foo:stable --versions 'foo:>=1.2' --dry-run
  olmv1 catalog mirror quay.io/operatorhubio/catalog:latest oci:/media/disk/olm --packages argocd-operator
  olmv1 catalog mirror oci:/media/disk/olm mirror.internal:5000/olm --block-sources

Exit codes:
  0  success
  1  some images could not be copied, with --continue-on-error
  2  the command failed
`;

/** Adds `olmv1 catalog mirror`. */
export function addMirror(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("mirror")
    .description("Mirror a catalog and its images to another registry")
    .argument("<catalog>", `${CATALOG_SOURCE}; or an earlier mirror in oci:FOLDER`)
    .argument("<target>", "REGISTRY[:PORT][/PATH], or oci:FOLDER to transfer the images to a registry later")
    .option("--packages <names>", "comma-separated list of packages to include", collectCsv)
    .option("--channels <names>", "comma-separated list of channels to include, or PACKAGE:CHANNEL for one package", collectCsv)
    .option("--versions <range>", "version range to include, or PACKAGE:RANGE for one package; repeatable", collect)
    .option("--manifests-only", "only write the files in --to-dir; copy no images")
    .option("--dry-run", "only print the destination of each image")
    .option("--continue-on-error", "continue with other images after an error")
    .option("--block-sources", "write mirror rules that block access to the source registries")
    .option("--name <name>", "name of the generated objects (default: name of the folder or repository)")
    .option("--to-dir <path>", "folder for the generated files (default: <name>-manifests)")
    .option("--parallel <number>", "number of concurrent copies", parseParallel, 4);
  addPushOptions(addOutputOption(command, ["text", "json", "yaml"]))
    .addHelpText("after", MIRROR_HELP)
    .action(async (source: string, target: string, options: CatalogMirrorOptions) => {
      const { mirror } = await import("../commands/catalog/mirror.ts");
      await mirror(terminal, source, target, options);
    });
}

const SERVE_HELP = `
Prints the URL of the catalog and serves it until Ctrl-C. Reloads the folder when its files change. If
the new content is invalid, prints the errors and continues to serve the previous content.

Examples:
  olmv1 catalog serve ./catalog
  olmv1 catalog serve quay.io/operatorhubio/catalog:latest --port 8080
  curl -s "http://127.0.0.1:8080/catalogs/catalog/api/v1/metas?schema=olm.package"

Exit codes:
  0  you stopped the command with Ctrl-C
  2  the command failed
`;

/** Adds `olmv1 catalog serve`. */
export function addServe(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("serve")
    .description("Serve a catalog on this machine with the HTTP API of catalogd")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--address <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0: any free port", parsePort, 0)
    .option("--name <name>", "name of the catalog in URLs (default: name of the folder or repository)")
    .option("--no-watch", "do not reload the folder after changes");
  addRegistryOptions(command)
    .addHelpText("after", SERVE_HELP)
    .action(async (source: string, options: ServeOptions) => {
      const { serve } = await import("../commands/catalog/serve.ts");
      await serve(terminal, source, options);
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("Use a number from 0 to 65535.");
}

const TEMPLATE_HELP = `
An olm.semver template lists bundle images as candidate, fast or stable; channels such as stable-v1.2
and their upgrade edges are derived from the versions. An olm.template.basic template is a catalog that
refers to bundles by image. An olm.template.substitutes template contains a catalog, and a list of
bundle images that substitute bundles in the catalog.

Examples:
  olmv1 catalog template semver template.yaml -o yaml > catalog/operator/catalog.yaml
  olmv1 catalog template template.yaml -o mermaid
  olmv1 catalog template convert basic ./catalog/operator -o yaml > template.yaml
`;

const CONVERT_HELP = `
A basic template contains only the image of each bundle; all other objects are unchanged. A substitutes
template contains the whole catalog.

Examples:
  olmv1 catalog template convert basic ./catalog/operator -o yaml > template.yaml
  olmv1 catalog render quay.io/example/catalog:latest | olmv1 catalog template convert basic
`;

/** Adds `olmv1 catalog template` with its subcommand. */
export function addTemplate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("template")
    .description("Render a catalog from a template")
    .argument("[type]", "semver, basic or substitutes (default: from the schema in the file)")
    .argument("[file]", "template file, or - for standard input (default: -)")
    .addOption(
      new Option("-o, --output <format>", "output format: JSON objects, YAML documents, or a Mermaid diagram of the upgrades")
        .choices(["json", "yaml", "mermaid"])
        .default("json"),
    );
  addRegistryOptions(addMigrateOptions(command))
    .addHelpText("after", TEMPLATE_HELP)
    .action(async (type: string | undefined, file: string | undefined, options: TemplateOptions) => {
      const { runTemplate } = await import("../commands/catalog/template.ts");
      await runTemplate(
        terminal,
        [type, file].filter((arg) => arg !== undefined),
        options,
      );
    });
  addConvert(command, terminal);
}

function addConvert(template: Command, terminal: Terminal): void {
  template
    .command("convert")
    .description("Convert a catalog to a template")
    .argument("<type>", "basic or substitutes")
    .argument("[source]", "catalog folder or file, or - for standard input (default: -)")
    .addOption(new Option("-o, --output <format>", "output format: JSON object or YAML document").choices(["json", "yaml"]).default("json"))
    .addHelpText("after", CONVERT_HELP)
    .action(async (type: string, source: string | undefined, options: ConvertTemplateOptions) => {
      const { convertToTemplate } = await import("../commands/catalog/template.ts");
      await convertToTemplate(terminal, type, source, options);
    });
}

const VALIDATE_HELP = `
Reports errors (opm validate also rejects the catalog), warnings about probable mistakes, and notes (severity
info); see docs/reference/catalog-rules.md.

Examples:
  olmv1 catalog validate ./catalog
  olmv1 catalog validate ./catalog --fail-on warning --ignore skip-range-without-replaces
  olmv1 catalog validate ./catalog --check-images -o sarif > catalog.sarif
  olmv1 catalog validate quay.io/example/catalog:latest -o json

Exit codes:
  0  success
  1  a finding has the severity of --fail-on or higher
  2  the command failed
`;

/** Adds `olmv1 catalog validate`. */
export function addCatalogValidate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("validate")
    .description("Check a file-based catalog for errors")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--check-images", "also check that every image exists in its registry");
  addRegistryOptions(addFindingOptions(command))
    .addHelpText("after", VALIDATE_HELP)
    .action(async (source: string, options: CatalogValidateOptions) => {
      const { validateCatalog } = await import("../commands/catalog/validate.ts");
      await validateCatalog(terminal, source, options);
    });
}
