import { type Command, Option } from "commander";
import type { MigrateOptions } from "../../catalog/migrate/migrate.ts";
import { outputOption } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { addRegistryOptions } from "../../registryOptions.ts";
import { addMigrateOptions } from "./render.ts";

const AFTER_HELP = `
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
export function addMigrate(catalog: Command, terminal: Terminal): void {
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
    .addHelpText("after", AFTER_HELP)
    .action(async (source: string, folder: string, options: MigrateOptions) => {
      const { migrate } = await import("../../catalog/migrate/migrate.ts");
      await migrate(terminal, source, folder, options);
    });
}
