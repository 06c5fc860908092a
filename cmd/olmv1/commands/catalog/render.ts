import { type Command, Option } from "commander";
import type { RenderCommandOptions } from "../../catalog/render/render.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";

const AFTER_HELP = `
A folder with manifests/ and metadata/ is a bundle, any other folder a catalog; all else is an image, of which the labels say what it holds. The
objects are those that opm render prints, in its order. How they go together is not looked at; olmv1 catalog validate does that.

Examples:
  olmv1 catalog render quay.io/example/operator-bundle:v1.2.0 -o yaml >> catalog/operator/catalog.yaml
  olmv1 catalog render ./bundle --alpha-image-ref-template 'quay.io/example/{{.Package}}-bundle:v{{.Version}}' -o yaml
  olmv1 catalog render registry.redhat.io/redhat/certified-operator-index:v4.18 --migrate-level bundle-object-to-csv-metadata
`;

/** Adds `olmv1 catalog render`. */
export function addRender(catalog: Command, terminal: Terminal): void {
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
    .addHelpText("after", AFTER_HELP)
    .action(async (references: string[], options: RenderCommandOptions) => {
      const { render } = await import("../../catalog/render/render.ts");
      await render(terminal, references, options);
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
