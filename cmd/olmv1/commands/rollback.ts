import type { Command } from "commander";
import { addReleaseOptions } from "../cli/clusterOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { addWaitOptions } from "../cli/waitOptions.ts";
import { addRegistryOptions } from "../registryOptions.ts";
import type { RollbackOptions } from "../rollback/rollback.ts";

const AFTER_HELP = `
The extension goes back to the objects of that revision, CustomResourceDefinitions excepted, and stays there until --cancel; it waits until
those are on the cluster and ready, and tells what comes about. Ctrl-C ends the waiting only: the cluster goes on by itself.
A ServiceAccount that olmv1 install made gets the rights back which only that revision needs; of another one the extension says what it lacks.
It reads the ClusterExtension and the Secrets of the system namespace (get, list), and patches annotations of the ClusterExtension.

Examples:
  olmv1 rollback argocd            # to the release before the deployed one
  olmv1 rollback argocd 3
  olmv1 rollback argocd --no-wait
  olmv1 rollback argocd --cancel   # follow the catalogs again

Exit codes: 0 it is there and ready, or --no-wait; 1 it did not come right in time; 2 it could not be done.
`;

/** Adds `olmv1 rollback`: takes an extension back to a release that it had, and keeps it there. */
export function addRollback(program: Command, terminal: Terminal): void {
  const command = program
    .command("rollback")
    .description("take an extension back to an earlier revision and keep it there")
    .argument("<name>", "name of the ClusterExtension")
    .argument("[revision]", "number of the release to go back to; default: the one before the deployed one")
    .option("--cancel", "follow the catalogs again");
  addRegistryOptions(addReleaseOptions(addWaitOptions(command, "it is ready")))
    .addHelpText("after", AFTER_HELP)
    .action(async (name: string, revision: string | undefined, options: RollbackOptions) => {
      const { rollback } = await import("../rollback/rollback.ts");
      await rollback(terminal, name, revision, options);
    });
}
