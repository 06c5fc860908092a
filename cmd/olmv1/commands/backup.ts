import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { type ImageOptions, withImages } from "../../../pkg/authoring/build/publishImage.ts";
import { backUpExtension } from "../../../pkg/backup/backUpExtension.ts";
import type { BackupEnd } from "../../../pkg/backup/backupFile.ts";
import { pullBackup, pushBackup, withTemporaryBackup } from "../../../pkg/backup/backupImage.ts";
import { type RestoreCount, restoreBackup } from "../../../pkg/backup/restoreBackup.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { KindNotServed } from "../../../pkg/kube/errors.ts";
import { parseDestination, parsePlace } from "../../../pkg/oci/imagePlace.ts";
import { formatRepository } from "../../../pkg/oci/reference.ts";
import { type BackupRecord, recordBackup } from "../../../pkg/operatorcontroller/crds/backupRecord.ts";
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
export interface BackupOptions extends ClusterOptions, ImageOptions {
  file?: string;
  /** Image reference to push the backup to, in place of a file. */
  to?: string;
  output: Output;
}

/** Options of `olmv1 restore`. */
export interface RestoreBackupOptions extends ClusterOptions, ImageOptions {
  /** Image reference of the backup, in place of a file. */
  from?: string;
  dryRun?: boolean;
  output: Output;
}

/** Runs `olmv1 backup`. */
export async function backup(terminal: Terminal, name: string, options: BackupOptions): Promise<void> {
  const { file, to, output } = options;
  if (file !== undefined && to !== undefined) throw new Error("cannot use --file with --to: choose one of them");
  const path = file ?? `${name}-${new Date().toISOString().slice(0, 10)}.backup.gz`;
  await withCluster(options, async (client) => {
    const written: BackupEnd & { readonly image?: string } =
      to === undefined ? await writeAndRecord(terminal, client, name, path) : await publish(terminal, client, name, to, options);
    const { crds, objects, sha256, image } = written;
    const restoring = image === undefined ? path : `--from ${image}`;
    const text = `${name}: wrote ${formatCount(crds, "CRD")} and ${formatCount(objects, "custom resource")} to ${image ?? path}\nTo create them again: olmv1 restore ${restoring}\n`;
    await print(terminal, output, {
      data: { extension: name, ...(image === undefined ? { file: path } : { image }), crds, objects, sha256 },
      text: () => escapeControlCharacters(text),
    });
  });
}

/** Pushes a backup, and records it when it is pushed. @returns its reference by digest @throws as `backUpExtension` and `pushBackup` */
async function publish(
  terminal: Terminal,
  client: Client,
  name: string,
  to: string,
  options: ImageOptions,
): Promise<BackupEnd & { readonly image: string }> {
  const place = parseDestination(withoutScheme(to));
  if (place.kind !== "registry")
    throw new Error(`cannot push the backup to ${goQuote(to)}: it is not an image reference. Use --file for a file`);
  return withTemporaryBackup(async (path) => {
    const end = await write(terminal, client, name, path);
    const digest = await withImages(options, terminal, (stores) =>
      stores.writing(place, terminal.signal, (writer) => pushBackup(writer, place.ref.tag ?? "latest", path, end, terminal.signal)),
    );
    await record(terminal, client, name, end);
    return { ...end, image: `${formatRepository(place.ref)}@${digest}` };
  });
}

/** Removes the scheme of an image reference such as oci://quay.io/team/backup:v1. */
function withoutScheme(text: string): string {
  return text.replace(/^oci:\/\//, "");
}

/**
 * Writes a backup, and records it in an annotation of the extension if it exists. Prints a warning if it cannot be recorded.
 * @throws as `backUpExtension`
 */
export async function writeAndRecord(terminal: Terminal, client: Client, name: string, path: string): Promise<BackupEnd> {
  const written = await write(terminal, client, name, path);
  await record(terminal, client, name, written);
  return written;
}

function write(terminal: Terminal, client: Client, name: string, path: string): Promise<BackupRecord> {
  return withProgress(terminal, "reading custom resources", (progress) =>
    backUpExtension(client, {
      extension: name,
      path,
      signal: terminal.signal,
      report: (count) => progress.now(`read ${formatCount(count, "custom resource")}`),
    }),
  ).catch((err: unknown) => {
    if ((err as NodeJS.ErrnoException).code === "EEXIST")
      throw new Error(`${goQuote(path)} exists. Choose another path for the backup`, { cause: err });
    throw err;
  });
}

async function record(terminal: Terminal, client: Client, name: string, backupRecord: BackupRecord): Promise<void> {
  try {
    const extension = await client.get<ClusterExtension>(buildExtensionRef(name), { signal: terminal.signal });
    if (extension) await recordBackup(client, extension, backupRecord, terminal.signal);
  } catch (err) {
    terminal.signal.throwIfAborted();
    if (err instanceof KindNotServed) return; // without ClusterExtensions, there is nothing to record it in
    terminal.err(escapeControlCharacters(`cannot record the backup in ClusterExtension ${name}: ${getErrorMessage(err)}\n`));
  }
}

/** Runs `olmv1 restore`. */
export async function restore(terminal: Terminal, file: string | undefined, options: RestoreBackupOptions): Promise<void> {
  const { from } = options;
  if ((file === undefined) === (from === undefined)) throw new Error("cannot restore: specify either a file or --from with an image");
  if (from === undefined) return restoreFile(terminal, file ?? "", file ?? "", options);
  return withTemporaryBackup(async (path) => {
    const place = parsePlace(withoutScheme(from));
    await withImages(options, terminal, (stores) =>
      stores.withImage(place, terminal.signal, (found) => pullBackup(found, path, terminal.signal)),
    );
    await restoreFile(terminal, path, from, options);
  });
}

/** @param shown where the backup is from */
async function restoreFile(
  terminal: Terminal,
  path: string,
  shown: string,
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
      data: { file: shown, extension, createdAt, objects, dryRun, ...count },
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
    ...(failed > 0 ? ["Correct the causes, and run the command again: it restores only missing objects and statuses."] : []),
    "",
  ].join("\n");
}
