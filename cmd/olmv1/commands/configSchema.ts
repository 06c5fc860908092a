import type { Command } from "commander";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { userConfigSchema } from "../../../pkg/render/userConfigSchema.ts";
import { BundleReader, type ReaderOptions } from "../rbac/bundleReader.ts";
import { addRegistryOptions } from "../registryOptions.ts";

interface SchemaOptions extends ReaderOptions {
  namespace?: string;
}

/** Adds `config-schema`: what `spec.config.inline` may hold for a bundle. */
export function addConfigSchema(bundle: Command): void {
  const command = bundle
    .command("config-schema")
    .description("print the JSON Schema (draft-07) of spec.config.inline for a bundle, for editors and other validators")
    .argument("<bundle>", "bundle folder (manifests/ and metadata/) or bundle image")
    .option("--namespace <name>", "spec.namespace of the ClusterExtension: then the schema says whether that one may be watched");
  addRegistryOptions(command).action(async (source: string, options: SchemaOptions) => {
    const reader = new BundleReader(options);
    try {
      const { csv } = await reader.bundle(source).catch((err: unknown) => {
        throw wrapError(`${source}: `, err);
      });
      process.stdout.write(`${JSON.stringify(userConfigSchema(csv, options.namespace), undefined, 2)}\n`);
    } finally {
      await reader.close();
    }
  });
}
