import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../errors/errors.ts";
import { BlobFile } from "./blobFile.ts";
import type { BlobSource } from "./imageSource.ts";
import type { Descriptor } from "./manifest.ts";
import { isTransient } from "./networkError.ts";
import { Verifier } from "./verify.ts";

/** How often a broken download is taken up again, see Limits. */
export interface DownloadLimits {
  readonly attempts: number;
  readonly backoffMs: number;
}

/** A small blob in memory, checked. @throws as {@link downloadBlob} */
export async function readBlob(from: BlobSource, blob: Descriptor, limits: DownloadLimits, signal: AbortSignal): Promise<Buffer> {
  let parts: Uint8Array[] = [];
  await fetchBlob(from, blob, limits, signal, {
    restart: () => {
      parts = [];
    },
    write: (chunk) => {
      parts.push(chunk);
    },
  });
  return Buffer.concat(parts);
}

/**
 * Downloads a blob into a new file at `path`, checking size and digest on the way; a connection that breaks is taken up where it broke.
 * When this returns, the file holds exactly the blob; when it throws, the file is worth nothing.
 * @throws Error `fetching blob: …`, `Digest did not match, …`, or when there is more than the descriptor states
 */
export async function downloadBlob(
  from: BlobSource,
  blob: Descriptor,
  path: string,
  limits: DownloadLimits,
  signal: AbortSignal,
): Promise<void> {
  const file = await BlobFile.create(path);
  try {
    await fetchBlob(from, blob, limits, signal, file);
    await file.flush();
  } finally {
    await file.close();
  }
}

interface Sink {
  restart(): void | Promise<void>;
  write(chunk: Uint8Array): void | Promise<void>;
}

async function fetchBlob(from: BlobSource, blob: Descriptor, limits: DownloadLimits, signal: AbortSignal, sink: Sink): Promise<void> {
  const verifier = new Verifier(blob);
  for (let failures = 0; ; ) {
    const before = verifier.received;
    const { body, offset } = await from.blob(blob, before, signal);
    if (offset !== before) {
      verifier.reset();
      await sink.restart();
    }
    try {
      for await (const chunk of body) {
        verifier.update(chunk);
        await sink.write(chunk);
      }
      break;
    } catch (err) {
      signal.throwIfAborted();
      // Progress earns new patience, so that a large layer survives a connection that breaks every few megabytes.
      failures = verifier.received > before ? 1 : failures + 1;
      if (!isTransient(err) || failures >= limits.attempts) throw new Error(`fetching blob: ${messageOf(err)}`, { cause: err });
      await sleep(limits.backoffMs * 2 ** (failures - 1), undefined, { signal });
    }
  }
  verifier.finish();
}
