import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { TerminalError } from "../errors/errors.ts";
import { computeDigest } from "../oci/digest.ts";
import { MediaType, parseManifest } from "../oci/manifest.ts";
import type { ImageWriter } from "../oci/store/imageStore.ts";
import type { FoundImage } from "../oci/store/imageStores.ts";
import type { BackupEnd } from "./backupFile.ts";

/** Type of the artifact, and of its only layer, which is the file of the backup. */
const BACKUP_TYPE = "application/vnd.olmv1.backup.v1+gzip";
/** The configuration of an artifact without one. @see https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md */
const EMPTY_TYPE = "application/vnd.oci.empty.v1+json";
const EMPTY = Buffer.from("{}");

/**
 * Stores a backup file as an OCI artifact.
 * @returns the digest of the artifact
 * @throws Error if the tag exists, because a backup is never replaced; the errors of the writer
 */
export async function pushBackup(writer: ImageWriter, tag: string, path: string, end: BackupEnd, signal: AbortSignal): Promise<string> {
  if ((await writer.has(tag, signal)) !== undefined) throw new Error(`${writer.name}:${tag} exists. Choose another tag for the backup`);
  const { size } = await stat(path);
  const layer = { mediaType: BACKUP_TYPE, digest: `sha256:${await hashFile(path)}`, size };
  const config = { mediaType: EMPTY_TYPE, digest: computeDigest(EMPTY), size: EMPTY.byteLength };
  // oxlint-disable-next-line require-await -- the bytes of a blob are yielded sequentially
  const empty = async function* (): AsyncGenerator<Uint8Array> {
    yield EMPTY;
  };
  await writer.putBlob(config, empty, { signal });
  await writer.putBlob(layer, (offset) => createReadStream(path, { start: offset }), { signal });
  const annotations = { "dev.olmv1.backup.crds": String(end.crds), "dev.olmv1.backup.objects": String(end.objects) };
  const manifest = { schemaVersion: 2, mediaType: MediaType.ociManifest, artifactType: BACKUP_TYPE, config, layers: [layer], annotations };
  const bytes = Buffer.from(JSON.stringify(manifest));
  const digest = computeDigest(bytes);
  await writer.putManifest({ bytes, mediaType: MediaType.ociManifest, digest }, tag, signal);
  return digest;
}

/**
 * Writes the backup file of an OCI artifact to a path that does not exist.
 * @throws TerminalError Blocked if the image is not a backup, or its content does not have the size and digest of the manifest; the errors of the reader
 */
export async function pullBackup({ reader, manifest }: FoundImage, path: string, signal: AbortSignal): Promise<void> {
  const parsed = parseManifest(manifest.bytes, manifest.mediaType);
  const [layer, ...others] = parsed.kind === "manifest" ? parsed.layers : [];
  if (layer?.mediaType !== BACKUP_TYPE || others.length > 0)
    throw new TerminalError("Blocked", `cannot read backup ${reader.name}: it is not a backup of olmv1`);
  let size = 0;
  const limited = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      size += chunk.byteLength;
      if (size > layer.size) break;
      yield chunk;
    }
  };
  await pipeline(reader.blob(layer, signal)(0), limited, createWriteStream(path, { flags: "wx", mode: 0o600 }), { signal });
  const [algorithm = ""] = layer.digest.split(":");
  if (size !== layer.size || `${algorithm}:${await hashFile(path, algorithm)}` !== layer.digest)
    throw new TerminalError("Blocked", `cannot read backup ${reader.name}: its content does not match its digest`);
}

/** Calls `work` with the path of a file that does not exist, in a folder that only this user can read, and removes it afterwards. */
export async function withTemporaryBackup<T>(work: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "olmv1-backup-"));
  try {
    return await work(join(folder, "backup.gz"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function hashFile(path: string, algorithm = "sha256"): Promise<string> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
