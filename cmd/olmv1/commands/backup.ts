import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { backUpExtension } from "../../../pkg/backup/backUpExtension.ts";
import type { BackupEnd } from "../../../pkg/backup/backupFile.ts";
import { recordBackup } from "../../../pkg/backup/backupRecord.ts";
import { type RestoreCount, restoreBackup } from "../../../pkg/backup/restoreBackup.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { buildExtensionRef } from "../../../pkg/rollout/extensions.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount } from "../../../pkg/text/lists.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import type { ClusterOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 backup`. */
export interface BackupOptions extends ClusterOptions {
  file?: string;
  output: Output;
}

/** Options of `olmv1 restore`. */
export interface RestoreBackupOptions extends ClusterOptions {
  dryRun?: boolean;
  output: Output;
}

/** Runs `olmv1 backup`. */
export async function backup(terminal: Terminal, name: string, { file, output, ...cluster }: BackupOptions): Promise<void> {
  const path = file ?? `${name}-${new Date().toISOString().slice(0, 10)}.backup.gz`;
  await withCluster(cluster, async (client) => {
    const { crds, objects, sha256 } = await writeAndRecord(terminal, client, name, path);
    const text = `${name}: wrote ${formatCount(crds, "CRD")} and ${formatCount(objects, "custom resource")} to ${path}\nTo create them again: olmv1 restore ${path}\n`;
    await print(terminal, output, {
      data: { extension: name, file: path, crds, objects, sha256 },
      text: () => escapeControlCharacters(text),
    });
  });
}

/**
 * Writes a backup, and records it in an annotation of the extension if it exists. Prints a warning if it cannot be recorded.
 * @throws as `backUpExtension`
 */
export async function writeAndRecord(terminal: Terminal, client: Client, name: string, path: string): Promise<BackupEnd> {
  const createdAt = new Date().toISOString();
  const written = await withProgress(terminal, "reading custom resources", (progress) =>
    backUpExtension(client, {
      extension: name,
      path,
      createdAt,
      signal: terminal.signal,
      report: (count) => progress.now(`read ${formatCount(count, "custom resource")}`),
    }),
  ).catch((err: unknown) => {
    if ((err as NodeJS.ErrnoException).code === "EEXIST")
      throw new Error(`${goQuote(path)} exists. Choose another path for the backup`, { cause: err });
    throw err;
  });
  try {
    const extension = await client.get<ClusterExtension>(buildExtensionRef(name), { signal: terminal.signal });
    if (extension) await recordBackup(client, extension, { createdAt, ...written }, terminal.signal);
  } catch (err) {
    terminal.signal.throwIfAborted();
    terminal.err(escapeControlCharacters(`cannot record the backup in ClusterExtension ${name}: ${getErrorMessage(err)}\n`));
  }
  return written;
}

/** Runs `olmv1 restore`. */
export async function restore(
  terminal: Terminal,
  path: string,
  { dryRun = false, output, ...cluster }: RestoreBackupOptions,
): Promise<void> {
  await withCluster(cluster, async (client) => {
    const { backup: found, count } = await withProgress(terminal, "creating custom resources", (progress) =>
      restoreBackup(client, {
        path,
        dryRun,
        signal: terminal.signal,
        report: ({ created, existing, failed }) => progress.now(`created ${created}, ${existing} exist, ${failed} failed`),
      }),
    );
    const { extension, createdAt, objects } = found;
    const title = `backup of ${extension} from ${createdAt}: ${formatCount(objects, "custom resource")}`;
    await print(terminal, output, {
      data: { file: path, extension, createdAt, objects, dryRun, ...count },
      text: () => escapeControlCharacters(`${title}\n${formatRestore(count, dryRun)}`),
    });
    if (count.failed > 0) terminal.exit(EXIT.no);
  });
}

function formatRestore({ created, existing, failed, removedOwners, errors }: RestoreCount, dryRun: boolean): string {
  return [
    `${dryRun ? "would be created" : "created"}: ${created}`,
    `unchanged, because they exist: ${existing}`,
    ...(removedOwners > 0 ? [`references to owners that do not exist, removed: ${removedOwners}`] : []),
    `failed: ${failed}`,
    ...errors.map((error) => `  ${error}`),
    ...(failed > 0 ? ["Correct the causes, and run the command again: it creates only what does not exist."] : []),
    "",
  ].join("\n");
}
