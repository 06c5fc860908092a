import type { Command } from "commander";
import type { SchemaOptions } from "../../bundle/configSchema.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { BUNDLE_SOURCE } from "./source.ts";

const AFTER_HELP = `
Examples:
  olmv1 bundle config-schema ./bundle > schema.json
  olmv1 bundle config-schema quay.io/example/operator-bundle:v1.2.0 --namespace operators
`;

/** Adds `olmv1 bundle config-schema`: what `spec.config.inline` may hold for a bundle. */
export function addConfigSchema(bundle: Command, terminal: Terminal): void {
  const command = bundle
    .command("config-schema")
    .description("print the JSON Schema (draft-07) of spec.config.inline for a bundle, for editors and other validators")
    .argument("<bundle>", BUNDLE_SOURCE)
    .option("--namespace <name>", "spec.namespace of the ClusterExtension: then the schema says whether that one may be watched");
  addRegistryOptions(command)
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, options: SchemaOptions) => {
      const { showConfigSchema } = await import("../../bundle/configSchema.ts");
      await showConfigSchema(terminal, source, options);
    });
}
