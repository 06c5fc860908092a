import { type Command, InvalidArgumentError, Option } from "commander";
import { addClusterOptions } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { MigrateStorageOptions } from "../commands/crd/migrate.ts";

const RATE_MAX = 10_000;

const MIGRATE_HELP = `
Stores all custom resources of a CRD in its storage version again, and then removes the other versions
from status.storedVersions. An upgrade can only remove a version that is not there. The command changes
no field of a custom resource, and you can run it again after an interruption.
Required permissions: list and patch the custom resources; get the CRD, and patch its status.

Examples:
  olmv1 crd migrate greetings.hello.example.com
  olmv1 crd migrate greetings.hello.example.com --dry-run

Exit codes:
  0  all custom resources are stored in the storage version
  1  the API server rejected custom resources, so status.storedVersions is unchanged
  2  the command failed
`;

/** Adds `olmv1 crd`, with commands for CustomResourceDefinitions. */
export function addCrd(program: Command, terminal: Terminal): void {
  const crd = program.command("crd").description("Migrate the custom resources of CustomResourceDefinitions");
  const command = crd
    .command("migrate")
    .description("Store custom resources in the storage version")
    .argument("<name>", "name of the CustomResourceDefinition")
    .addOption(new Option("--rate <number>", "maximum number of custom resources per second").default(50).argParser(parseRate))
    .option("--dry-run", "print what would be done, without changes");
  addOutputOption(addClusterOptions(command), ["text", "json", "yaml"])
    .addHelpText("after", MIGRATE_HELP)
    .action(async (name: string, options: MigrateStorageOptions) => {
      const { migrateCrdStorage } = await import("../commands/crd/migrate.ts");
      await migrateCrdStorage(terminal, name, options);
    });
}

/** @throws InvalidArgumentError for a number that is not between 1 and 10,000. */
function parseRate(text: string): number {
  const rate = Number(text);
  if (!Number.isInteger(rate) || rate < 1 || rate > RATE_MAX) throw new InvalidArgumentError(`Use a number from 1 to ${RATE_MAX}.`);
  return rate;
}
