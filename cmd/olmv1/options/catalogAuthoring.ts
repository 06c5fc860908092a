import { type Command, InvalidArgumentError, Option } from "commander";
import { addFindingOptions, addPushOptions, addRegistryOptions, collect, collectCsv } from "../cli/options.ts";
import { outputOption } from "../cli/output.ts";
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
A folder with manifests/ and metadata/ is a bundle, any other folder a catalog; all else is an image, of which the labels say what it holds. The
objects are those that opm render prints, in its order. How they go together is not looked at; olmv1 catalog validate does that.

Examples:
  olmv1 catalog render quay.io/example/operator-bundle:v1.2.0 -o yaml >> catalog/operator/catalog.yaml
  olmv1 catalog render ./bundle --alpha-image-ref-template 'quay.io/example/{{.Package}}-bundle:v{{.Version}}' -o yaml
  olmv1 catalog render registry.redhat.io/redhat/certified-operator-index:v4.18 --migrate-level bundle-object-to-csv-metadata
`;

/** Adds `olmv1 catalog render`. */
export function addCatalogRender(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("render")
    .description("print what bundles and catalogs have for a file-based catalog")
    .argument(
      "<references...>",
      "each a bundle folder, catalog folder, bundle image or catalog image, also as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]",
    )
    .addOption(
      new Option("-o, --output <format>", "JSON objects one after another, or YAML documents").choices(["json", "yaml"]).default("json"),
    );
  addMigrateOptions(command).option(
    "--alpha-image-ref-template <template>",
    "image of a bundle in a folder, made of {{.Package}}, {{.Name}} and {{.Version}}; default: none",
  );
  addRegistryOptions(command)
    .addHelpText("after", RENDER_HELP)
    .action(async (references: string[], options: RenderCommandOptions) => {
      const { printRenderedCatalog } = await import("../commands/catalog/render.ts");
      await printRenderedCatalog(terminal, references, options);
    });
}

/** Adds the options that say how far bundles are brought to newer forms. */
export function addMigrateOptions(command: Command): Command {
  return command
    .option(
      "--migrate-level <level>",
      "none, or bundle-object-to-csv-metadata: what the ClusterServiceVersion says in place of all manifests",
    )
    .option("--migrate", "the same as the highest level");
}

const COMPOSE_HELP = `
The references file says what goes into the catalog, each reference into a folder of its name:

  name: example-operators
  repo: quay.io/example/catalog
  tag: latest
  references:
  - name: etcd-operator
    image: quay.io/etcd-operator/index@sha256:5891b5b5…
  - name: own
    path: ../catalogs/own      # a folder, from where this file lies
    packages: [gadget]         # these alone; default: all

Nothing is written unless the whole catalog is sound. A package that two references have is an error that names both.

Examples:
  olmv1 catalog compose -f catalog.yaml
  olmv1 catalog compose -f catalog.yaml --output-dir build/catalog --force -o json

Exit codes: 1 the catalogs do not go together.
`;

/** Adds `olmv1 catalog compose`. */
export function addCompose(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("compose")
    .description("put several catalogs together into one")
    .requiredOption("-f, --file <file>", "the references file; - is standard input")
    .option("--output-dir <folder>", "where the catalog is written; default: the name in the references file")
    .addOption(new Option("--format <format>", "of the files that are written").choices(["yaml", "json"]).default("yaml"))
    .option("--force", "write into a folder that is not empty; files of other names stay, and are checked with the rest");
  addRegistryOptions(addMigrateOptions(outputOption(command, ["text", "json", "yaml"])))
    .addHelpText("after", COMPOSE_HELP)
    .action(async (options: ComposeOptions) => {
      const { compose } = await import("../commands/catalog/compose.ts");
      await compose(terminal, options);
    });
}

/** What a catalog can be read from. */
export const CATALOG_SOURCE =
  "folder with a catalog, as it is copied into an image, or a catalog image: in a registry, or in a layout as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]";

const DIFF_HELP = `
Packages, channels, edges, bundles, deprecations and default channels are compared, not files. Breaking for clusters that use the old catalog are: a
package, channel or bundle that went; another default channel; another image or version under a bundle's name; an update that an installed bundle had
and has no longer.

Examples:
  olmv1 catalog diff quay.io/example/catalog:latest ./catalog
  olmv1 catalog diff ./old ./new --fail-on any -o json

Exit codes: 0 there is nothing that --fail-on names; 1 there is; 2 a catalog cannot be read.
`;

/** Adds `olmv1 catalog diff`. */
export function addDiff(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("diff")
    .description("tell what is different in a catalog, and what of it breaks clusters")
    .argument("<before>", CATALOG_SOURCE)
    .argument("<after>", "the same")
    .addOption(
      new Option("--fail-on <what>", "which differences make it exit with 1").choices(["breaking", "any", "never"]).default("breaking"),
    );
  addRegistryOptions(outputOption(command, ["text", "json", "yaml"]))
    .addHelpText("after", DIFF_HELP)
    .action(async (before: string, after: string, options: DiffOptions) => {
      const { diff } = await import("../commands/catalog/diff.ts");
      await diff(terminal, before, after, options);
    });
}

const OPM = "quay.io/operator-framework/opm:latest";

const DOCKERFILE_HELP = `
The file is the one that opm generate dockerfile writes, beside the folder and called after it. With base image scratch the image holds the catalog
and its cache only, which is all that OLM v1 needs.

Examples:
  olmv1 catalog dockerfile ./catalog
  olmv1 catalog dockerfile ./catalog --base-image scratch --extra-labels vendor=example,release=3
`;

/** Adds `olmv1 catalog dockerfile`. */
export function addDockerfile(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("dockerfile")
    .description("write the Dockerfile of a catalog image")
    .argument("<folder>", "folder with the catalog")
    .option("-i, --base-image <image>", `what the image is made on; default: ${OPM}`)
    .option("-b, --builder-image <image>", `what makes the catalog's cache; default: ${OPM}`)
    .addOption(new Option("--binary-image <image>", "the former name of --base-image, for the builder as well").hideHelp())
    .addOption(new Option("-l, --extra-labels <labels>", "such as key=value, with commas between").argParser(addLabel).default([], "none"))
    .option("--force", "replace the file where there is one");
  outputOption(command, ["text", "json", "yaml"])
    .addHelpText("after", DOCKERFILE_HELP)
    .action(async (folder: string, options: DockerfileCommandOptions) => {
      const { dockerfile } = await import("../commands/catalog/dockerfile.ts");
      await dockerfile(terminal, folder, options);
    });
}

/** May be given more than once. */
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
    .description("list the images of bundles and those that they name")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--packages <names>", "of these packages alone, with commas between", collectCsv, [])
    .option("--versions <range>", "of versions in this range alone; PACKAGE:RANGE for those of one package", collect, [])
    .option("--bundles <names>", "of these bundles alone, with commas between; * at the end stands for anything", collectCsv, []);
  addRegistryOptions(outputOption(command, ["text", "name", "json", "yaml"]))
    .addHelpText("after", IMAGES_HELP)
    .action(async (source: string, options: ImagesOptions) => {
      const { listImages } = await import("../commands/catalog/images.ts");
      await listImages(terminal, source, options);
    });
}

const MIGRATE_HELP = `
A package in the package manifest format is a folder with a file such as etcd.package.yaml and a folder for each version; several such packages may lie
in one folder. Channels follow from currentCSV, and from replaces, skips and olm.skipRange of the ClusterServiceVersions. A catalog image or folder is
written anew, with a file for each package. What is wrong is told all at once, and then nothing is written.

OLM v1 installs bundle images only: with --bundles-dir the versions are written as bundles, to be built and pushed as the template says.

Examples:
  olmv1 catalog migrate ./etcd ./catalog --bundle-image-template 'quay.io/example/{{.Package}}-bundle:v{{.Version}}' --bundles-dir ./bundles
  olmv1 catalog migrate quay.io/operatorhubio/catalog:latest ./catalog --migrate

Exit codes: 1 the packages, or the catalog that they make, are not sound.
`;

/** Adds `olmv1 catalog migrate`. */
export function addCatalogMigrate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("migrate")
    .description("write package manifests, or another catalog, as a file-based catalog")
    .argument(
      "<source>",
      "folder with package manifests, catalog folder or catalog image, also as oci:FOLDER[:TAG] or oci-archive:FILE[:TAG]",
    )
    .argument("<folder>", "where the catalog is written; an empty one")
    .addOption(new Option("--format <format>", "of the files that are written").choices(["yaml", "json"]).default("yaml"))
    .option(
      "--bundle-image-template <template>",
      "image of each version of package manifests, made of {{.Package}}, {{.Name}} and {{.Version}}",
    )
    .option("--bundles-dir <folder>", "where versions of package manifests are written as registry+v1 bundles; an empty one");
  addRegistryOptions(addMigrateOptions(outputOption(command, ["text", "json", "yaml"])))
    .addHelpText("after", MIGRATE_HELP)
    .action(async (source: string, folder: string, options: CatalogMigrateOptions) => {
      const { migrate } = await import("../commands/catalog/migrate.ts");
      await migrate(terminal, source, folder, options);
    });
}

const MIRROR_HELP = `
It copies the image of every bundle, the images that the bundles name, signatures of these where there are any, and at last the catalog. Digests stay, and
images for several platforms keep them all. What the mirror has already is not sent again, so what was stopped is gone on with by running it once more. Of a
part of a catalog the catalog is made anew, with that part alone.

Where no machine reaches both registries, mirror to oci:FOLDER, carry that folder, and mirror it from there to the registry: an OCI layout with the catalog,
all images with their signatures, and their names. A copy that was stopped goes on where it was, within a blob too.

Repository a/b of any registry becomes REGISTRY/PATH/a-b. In the folder of --to-dir are written: mapping.txt (source=destination, as oc image mirror reads it),
images.txt, registries.conf for both servers and for podman, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, and the ClusterCatalog.

Examples:
  olmv1 catalog mirror quay.io/operatorhubio/catalog:latest mirror.internal:5000/olm --packages argocd-operator
  olmv1 catalog mirror ./catalog mirror.internal:5000/olm --channels foo:stable --versions 'foo:>=1.2' --dry-run
  olmv1 catalog mirror quay.io/operatorhubio/catalog:latest oci:/media/disk/olm --packages argocd-operator
  olmv1 catalog mirror oci:/media/disk/olm mirror.internal:5000/olm --block-sources
  olmv1 catalog mirror quay.io/team/catalog:v1 localhost:5000 --insecure --continue-on-error -o json

Exit codes: 0 all is in the mirror; 1 something is not, with --continue-on-error; 2 something cannot be read, copied or written.
`;

/** Adds `olmv1 catalog mirror`. */
export function addMirror(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("mirror")
    .description("copy a catalog and all its images to another registry, with what makes clusters use them")
    .argument("<catalog>", `${CATALOG_SOURCE}; also what was mirrored to oci:FOLDER`)
    .argument("<target>", "where to: REGISTRY[:PORT][/PATH], or oci:FOLDER, to be carried to a registry")
    .option("--packages <names>", "these packages alone, with commas between", collectCsv)
    .option("--channels <names>", "these channels alone, with commas between; PACKAGE:CHANNEL for those of one package", collectCsv)
    .option("--versions <range>", "versions in this range alone; PACKAGE:RANGE for those of one package", collect)
    .option("--manifests-only", "write the files, and copy nothing")
    .option("--dry-run", "write and copy nothing; print where each image would go")
    .option("--continue-on-error", "go on with the other images when one cannot be copied")
    .option("--block-sources", "write rules under which the sources are not asked at all")
    .option("--name <name>", "name of the objects; default: that of the folder or repository")
    .option("--to-dir <path>", "folder of the files; default: <name>-manifests")
    .option("--parallel <number>", "images that are copied at once", countFrom, 4);
  addPushOptions(outputOption(command, ["text", "json", "yaml"]))
    .addHelpText("after", MIRROR_HELP)
    .action(async (source: string, target: string, options: CatalogMirrorOptions) => {
      const { mirror } = await import("../commands/catalog/mirror.ts");
      await mirror(terminal, source, target, options);
    });
}

function countFrom(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= 32) return count;
  throw new InvalidArgumentError("It is a number from 1 to 32.");
}

const SERVE_HELP = `
It answers what catalogd answers, from the same code, until Ctrl-C; the address of the catalog is printed first. When a file of the folder changes it is read
again, once nothing has changed for a moment. Of a change that cannot be read it says what is wrong, and goes on serving what it read before.

Examples:
  olmv1 catalog serve ./catalog
  olmv1 catalog serve quay.io/operatorhubio/catalog:latest --port 8080
  curl -s "http://127.0.0.1:8080/catalogs/catalog/api/v1/metas?schema=olm.package"

Exit codes: 0 ended by Ctrl-C; 2 the catalog cannot be read, or the address is taken.
`;

/** Adds `olmv1 catalog serve`. */
export function addServe(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("serve")
    .description("serve a catalog over catalogd's HTTP API on this machine")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--address <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port to listen on; 0 takes any", portFrom, 0)
    .option("--name <name>", "name of the catalog in addresses; default: that of the folder or repository")
    .option("--no-watch", "do not look for changes of the folder");
  addRegistryOptions(command)
    .addHelpText("after", SERVE_HELP)
    .action(async (source: string, options: ServeOptions) => {
      const { serve } = await import("../commands/catalog/serve.ts");
      await serve(terminal, source, options);
    });
}

function portFrom(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("It is a number up to 65535.");
}

const TEMPLATE_HELP = `
A template of schema olm.semver lists bundle images as candidate, fast or stable; channels such as stable-v1.2 and their updates follow from the
versions. One of schema olm.template.basic is a catalog of which the bundles are only named by their images; one of olm.template.substitutes is a
catalog with bundles that take the place of others. Without a type the schema decides.

Examples:
  olmv1 catalog template semver template.yaml -o yaml > catalog/operator/catalog.yaml
  olmv1 catalog template template.yaml -o mermaid
  olmv1 catalog template convert basic ./catalog/operator -o yaml > template.yaml
`;

const CONVERT_HELP = `
In a basic template only the image of a bundle is kept, and all else as it stands; one of type substitutes holds the whole catalog.

Examples:
  olmv1 catalog template convert basic ./catalog/operator -o yaml > template.yaml
  olmv1 catalog render quay.io/example/catalog:latest | olmv1 catalog template convert basic
`;

/** Adds `olmv1 catalog template` with its subcommand. */
export function addTemplate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("template")
    .description("print the catalog that a template stands for")
    .argument("[type]", "semver, basic or substitutes; or the file, of which the schema says what it is")
    .argument("[file]", "the template; - or none is standard input")
    .addOption(
      new Option("-o, --output <format>", "JSON objects, YAML documents, or the updates as a Mermaid diagram")
        .choices(["json", "yaml", "mermaid"])
        .default("json"),
    );
  addRegistryOptions(addMigrateOptions(command))
    .addHelpText("after", TEMPLATE_HELP)
    .action(async (type: string | undefined, file: string | undefined, options: TemplateOptions) => {
      const { template } = await import("../commands/catalog/template.ts");
      await template(
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
    .description("print the template that stands for a catalog")
    .argument("<type>", "basic or substitutes")
    .argument("[source]", "catalog folder or file; - or none is standard input")
    .addOption(new Option("-o, --output <format>", "a JSON object, or a YAML document").choices(["json", "yaml"]).default("json"))
    .addHelpText("after", CONVERT_HELP)
    .action(async (type: string, source: string | undefined, options: ConvertTemplateOptions) => {
      const { convertToTemplate } = await import("../commands/catalog/template.ts");
      await convertToTemplate(terminal, type, source, options);
    });
}

const VALIDATE_HELP = `
Errors are what opm validate refuses, all at once and with file and line; warnings are most likely mistakes: in the update graph, in dependencies,
misspelt fields; remarks may be meant so. Every rule with its code: docs/reference/catalog-rules.md. catalogd serves catalogs with errors and says
so in condition Valid, unless it runs with --catalog-validation=Strict; what cannot be read at all it never serves.

Examples:
  olmv1 catalog validate ./catalog
  olmv1 catalog validate ./catalog --fail-on warning --ignore skip-range-without-replaces
  olmv1 catalog validate ./catalog --check-images -o sarif > catalog.sarif
  olmv1 catalog validate quay.io/example/catalog:latest -o json

Exit codes: 0 nothing was found that --fail-on names; 1 something was; 2 the catalog cannot be read.
`;

/** Adds `olmv1 catalog validate`. */
export function addCatalogValidate(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("validate")
    .description("check a file-based catalog")
    .argument("<catalog>", CATALOG_SOURCE)
    .option("--check-images", "ask the registries for every image that a bundle names");
  addRegistryOptions(addFindingOptions(command))
    .addHelpText("after", VALIDATE_HELP)
    .action(async (source: string, options: CatalogValidateOptions) => {
      const { validateCatalog } = await import("../commands/catalog/validate.ts");
      await validateCatalog(terminal, source, options);
    });
}
