import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { getErrorMessage } from "../../errors/errors.ts";
import { Verifier } from "../digest.ts";
import type { Descriptor } from "../manifest.ts";
import type { BlobSource } from "./imageSource.ts";
import { FetchError, isSilence, isTransient, TrickleError } from "./networkError.ts";

/** Bytes per write; bytes that arrive during a write are collected for the next one. */
const WRITE_BYTES = 1024 * 1024;

/**
 * A file for a blob that is being received. Writes and receives concurrently; buffers at most two
 * MiB.
 */
export class BlobFile {
  readonly #file: FileHandle;
  #collected: Uint8Array[] = [];
  #bytes = 0;
  /** File position of the next write. */
  #position = 0;
  #writing: Promise<void> = Promise.resolve();

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Creates a new file. @throws Error if it already exists. */
  static async create(path: string): Promise<BlobFile> {
    return new BlobFile(await open(path, "wx", 0o600));
  }

  /**
   * Appends bytes; the caller must not change them afterwards. @throws Error if previous bytes
   * could not be written.
   */
  async write(chunk: Uint8Array): Promise<void> {
    this.#collected.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes >= WRITE_BYTES) await this.#writeOut();
  }

  /** Writes all buffered bytes. @throws Error if they could not be written. */
  async flush(): Promise<void> {
    await this.#writeOut();
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined); // already reported by write or flush
    await this.#file.close();
  }

  async #writeOut(): Promise<void> {
    await this.#writing;
    const position = this.#position;
    const chunks = this.#collected.splice(0);
    this.#position += this.#bytes;
    this.#bytes = 0;
    this.#writing = writeAll(this.#file, chunks, position);
    this.#writing.catch(() => undefined); // reported by the next write or flush
  }
}

/** On a disk that is nearly full, a write may be incomplete. */
async function writeAll(file: FileHandle, chunks: readonly Uint8Array[], position: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks, position);
  let skip = bytesWritten;
  let at = position;
  for (const chunk of chunks) {
    for (let done = Math.min(skip, chunk.byteLength); done < chunk.byteLength; )
      done += (await file.write(chunk, done, chunk.byteLength - done, at + done)).bytesWritten;
    skip = Math.max(skip - chunk.byteLength, 0);
    at += chunk.byteLength;
  }
}

/** How often a broken download is resumed, and the minimum rate, see Limits. */
export interface DownloadLimits {
  readonly attempts: number;
  readonly backoffMs: number;
  readonly stallMs: number;
  readonly trickleBytes: number;
}

/** Reads and verifies a small blob in memory. @throws as {@link downloadBlob} */
export async function readBlob(from: BlobSource, blob: Descriptor, limits: DownloadLimits, signal: AbortSignal): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of blobBytes(from, blob, 0, limits, signal)) parts.push(chunk);
  return Buffer.concat(parts);
}

/**
 * Downloads a blob into a new file at `path`, like `blobBytes`. On success, the file contains
 * exactly the blob; on failure, its content is undefined.
 * @throws as `blobBytes`
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
    for await (const chunk of blobBytes(from, blob, 0, limits, signal)) await file.write(chunk);
    await file.flush();
  } finally {
    await file.close();
  }
}

/**
 * Yields a blob from the offset `start`. Resumes broken connections. Gives up immediately on a slow
 * or silent source if there is an alternative. Verifies size and digest if `start` is 0.
 * @throws FetchError `fetching blob: …`; Error `Digest did not match, …`, or if the blob is larger
 * than in its descriptor
 */
export async function* blobBytes(
  from: BlobSource,
  blob: Descriptor,
  start: number,
  limits: DownloadLimits,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const verifier = start === 0 ? new Verifier(blob) : undefined;
  let position = start;
  for (let failures = 0; ; ) {
    const before = position;
    using pace = new Pace(signal, limits);
    const { body, offset } = await from.blob(blob, before, pace.signal);
    pace.watch();
    let skip = before - offset;
    try {
      for await (const chunk of body) {
        pace.received += chunk.byteLength;
        const fresh = chunk.subarray(Math.min(skip, chunk.byteLength));
        skip -= chunk.byteLength - fresh.byteLength;
        if (fresh.byteLength === 0) continue;
        verifier?.update(fresh);
        position += fresh.byteLength;
        pace.hold();
        yield fresh;
        pace.resume();
      }
      break;
    } catch (err) {
      signal.throwIfAborted();
      if (position >= blob.size && isTransient(err)) break; // registries reject a request for an empty range
      // Progress resets the number of failures, so that a large layer survives a connection that
      // breaks every few megabytes. A few bytes within a long time are not progress.
      failures = position > before && !(err instanceof TrickleError) ? 1 : failures + 1;
      const isLeft = from.hasAlternative === true && isSilence(err);
      if (isLeft || !(isTransient(err) || isSilence(err)) || failures >= limits.attempts)
        throw new FetchError(`fetching blob: ${getErrorMessage(err)}`, { cause: err });
      await sleep(limits.backoffMs * 2 ** (failures - 1), undefined, { signal });
    }
  }
  verifier?.finish();
}

/**
 * Aborts the download of a body that arrives too slowly. The timeout for pauses does not detect a
 * server that sends a few bytes at a time.
 */
class Pace implements Disposable {
  /** Bytes since the last check. */
  received = 0;
  /**
   * Start of the receiver's current work, and the duration of its work since the last check, in
   * milliseconds.
   */
  #heldSince: number | undefined;
  #held = 0;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #limits: DownloadLimits;
  readonly #follow = (): void => this.#controller.abort(this.#parent.reason);
  #timer: NodeJS.Timeout | undefined;

  constructor(parent: AbortSignal, limits: DownloadLimits) {
    this.#parent = parent;
    this.#limits = limits;
    if (parent.aborted) this.#follow();
    else parent.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The receiver is processing data: the source is not the bottleneck. */
  hold(): void {
    this.#heldSince = performance.now();
  }

  /** Waiting for the source again. */
  resume(): void {
    if (this.#heldSince !== undefined) this.#held += performance.now() - this.#heldSince;
    this.#heldSince = undefined;
  }

  #takeHeld(): number {
    const isHeld = this.#heldSince !== undefined;
    this.resume();
    if (isHeld) this.hold();
    const held = this.#held;
    this.#held = 0;
    return held;
  }

  /** Starts when the body starts, because waiting for the response has its own limits. */
  watch(): void {
    const { stallMs, trickleBytes } = this.#limits;
    this.#timer = setInterval(() => {
      const isReceiverSlow = this.#takeHeld() > stallMs / 2; // for example a registry to which the blob is copied
      if (this.received < trickleBytes && !isReceiverSlow) this.#controller.abort(new TrickleError(trickleBytes, stallMs));
      this.received = 0;
    }, stallMs);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }
}
