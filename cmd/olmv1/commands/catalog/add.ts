import { type Command, InvalidArgumentError, Option } from "commander";
import { addClusterOptions } from "../../cli/clusterOptions.ts";
import { durationOption } from "../../cli/duration.ts";
import { outputOption } from "../../cli/output.ts";
import { several } from "../../cli/several.ts";
import type { Terminal } from "../../cli/terminal.ts";
import type { AddOptions } from "../../clusterCatalog/add.ts";

const AFTER_HELP = `
It creates a ClusterCatalog, which catalogd pulls and serves to the whole cluster. With --wait it ends when the catalog is served, or
at once when catalogd reports an error that a retry does not cure: the image does not exist (404), may not be pulled (401, 403) or is not a catalog.

Examples:
  olmv1 catalog add community quay.io/operatorhubio/catalog:latest --poll-interval 10m --wait
  olmv1 catalog add internal registry.example.com/catalogs/internal:v1 --priority 100 --label team=platform
  olmv1 catalog add internal registry.example.com/catalogs/internal:v1 --dry-run=client -o yaml

Exit codes: 0 it is created, and served with --wait; 1 it is created and not served; 2 it could not be created.
`;

/** Adds `olmv1 catalog add`. */
export function addAdd(catalog: Command, terminal: Terminal): void {
  const command = catalog
    .command("add")
    .description("add a catalog to the cluster")
    .argument("<name>", "name of the ClusterCatalog")
    .argument("<image>", "image with a file-based catalog, with a tag or a digest")
    .addOption(durationOption("--poll-interval", "time between two lookups of the tag, in whole minutes (default: never)"))
    .option("--priority <number>", "decides between catalogs that have the same package: the highest wins; default: 0", integer)
    .option("--label <key=value>", "a label, for selectors of extensions; repeatable", several, [])
    .option("--wait", "wait until the catalog is served")
    .addOption(durationOption("--timeout", "how long --wait waits", "5m"))
    .addOption(
      new Option("--dry-run <where>", "only print what would be created: checked here, or by the server").choices(["client", "server"]),
    );
  outputOption(addClusterOptions(command), ["text", "name", "json", "yaml"])
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, image: string, options: AddOptions) => {
      const { add } = await import("../../clusterCatalog/add.ts");
      await add(terminal, name, image, options);
    });
}

function integer(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError("It is a whole number.");
  return number;
}
