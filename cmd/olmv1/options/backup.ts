import type { Command } from "commander";
import { addClusterOptions, addPushOptions } from "../cli/options.ts";
import { addOutputOption } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { BackupOptions, RestoreBackupOptions } from "../commands/backup.ts";

const BACKUP_HELP = `
Writes the CRDs of an extension and all their custom resources to a compressed file with a checksum,
without managedFields. Other objects, such as Secrets, are not part of it. The file contains what the
custom resources contain: keep it where you would keep their manifests.
Required permissions: list CRDs and the custom resources; get and patch the ClusterExtension, to record
the backup in an annotation.

Examples:
  olmv1 backup argocd
  olmv1 backup argocd --file /backups/argocd.gz
  olmv1 backup argocd --to oci://registry.example.com/backups/argocd:2026-01-31
`;

const RESTORE_HELP = `
Creates the custom resources of a backup: owners first, each with its status and with references to the
new owners. Verifies the checksum first. Does not change custom resources that exist, so you can run it
again. The CRDs must exist: install the extension before, and suspend the operator if it should not
reconcile half of its custom resources.
Required permissions: get CRDs; get and create the custom resources, and patch their status.

Examples:
  olmv1 restore argocd-2026-01-31.backup.gz --dry-run
  olmv1 restore argocd-2026-01-31.backup.gz
  olmv1 restore --from oci://registry.example.com/backups/argocd:2026-01-31

Exit codes:
  0  all custom resources of the backup exist
  1  custom resources could not be created
  2  the command failed
`;

/** Adds `olmv1 backup` and `olmv1 restore`. */
export function addBackup(program: Command, terminal: Terminal): void {
  const command = program
    .command("backup")
    .description("Write the custom resources of an extension to a file")
    .argument("<name>", "name of the ClusterExtension")
    .option("--file <path>", "file to write; must not exist (default: <name>-<date>.backup.gz)")
    .option("--to <image>", "image reference to push the backup to, in place of a file; its tag must not exist");
  addOutputOption(addPushOptions(addClusterOptions(command)), ["text", "json", "yaml"])
    .addHelpText("after", BACKUP_HELP)
    .action(async (name: string, options: BackupOptions) => {
      const { backup } = await import("../commands/backup.ts");
      await backup(terminal, name, options);
    });
  const restored = program
    .command("restore")
    .description("Create the custom resources of a backup")
    .argument("[file]", "path of the backup")
    .option("--from <image>", "image reference of the backup, in place of a file")
    .option("--dry-run", "send all requests as a dry run");
  addOutputOption(addPushOptions(addClusterOptions(restored)), ["text", "json", "yaml"])
    .addHelpText("after", RESTORE_HELP)
    .action(async (file: string | undefined, options: RestoreBackupOptions) => {
      const { restore } = await import("../commands/backup.ts");
      await restore(terminal, file, options);
    });
}
