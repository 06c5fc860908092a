import { type Command, Option } from "commander";
import type { ConvertOptions } from "../../catalog/template/convert.ts";
import type { TemplateOptions } from "../../catalog/template/template.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { addMigrateOptions } from "./render.ts";

const AFTER_HELP = `
A template of schema olm.semver lists bundle images as candidate, fast or stable; channels such as stable-v1.2 and their updates follow from the
versions. One of schema olm.template.basic is a catalog of which the bundles are only named by their images; one of olm.template.substitutes is a
catalog with bundles that take the place of others. Without a type the schema decides.

Examples:
  olmv1 catalog template semver template.yaml -o yaml > catalog/operator/catalog.yaml
  olmv1 catalog template template.yaml -o mermaid
  olmv1 catalog template convert basic ./catalog/operator -o yaml > template.yaml
`;

const AFTER_CONVERT = `
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
    .addHelpText("after", AFTER_HELP)
    .action(async (type: string | undefined, file: string | undefined, options: TemplateOptions) => {
      const { template } = await import("../../catalog/template/template.ts");
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
    .addHelpText("after", AFTER_CONVERT)
    .action(async (type: string, source: string | undefined, options: ConvertOptions) => {
      const { convert } = await import("../../catalog/template/convert.ts");
      await convert(terminal, type, source, options);
    });
}
