import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../errors/errors.ts";
import { BlobFile } from "./blobFile.ts";
import type { BlobSource } from "./imageSource.ts";
import type { Descriptor } from "./manifest.ts";
import { isSilence, isTransient, TrickleError } from "./networkError.ts";
import { Verifier } from "./verify.ts";

/** How often a broken download is taken up again, and from when on one is too slow, see Limits. */
export interface DownloadLimits {
  readonly attempts: number;
  readonly backoffMs: number;
  readonly stallMs: number;
  readonly trickleBytes: number;
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
 * Downloads a blob into a new file at `path`, checking size and digest on the way; a connection that breaks is taken up where it broke. A
 * source that has an alternative is left as soon as it is silent or trickles.
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
    using pace = new Pace(signal, limits);
    const { body, offset } = await from.blob(blob, before, pace.signal);
    if (from.hasAlternative) pace.watch();
    if (offset !== before) {
      verifier.reset();
      await sink.restart();
    }
    try {
      for await (const chunk of body) {
        verifier.update(chunk);
        pace.received += chunk.byteLength;
        await sink.write(chunk);
      }
      break;
    } catch (err) {
      signal.throwIfAborted();
      // Progress earns new patience, so that a large layer survives a connection that breaks every few megabytes.
      failures = verifier.received > before ? 1 : failures + 1;
      const isLeft = from.hasAlternative === true && isSilence(err);
      if (isLeft || !isTransient(err) || failures >= limits.attempts) throw new Error(`fetching blob: ${messageOf(err)}`, { cause: err });
      await sleep(limits.backoffMs * 2 ** (failures - 1), undefined, { signal });
    }
  }
  verifier.finish();
}

/** Aborts the download of a body that trickles: no single pause is too long, but the body would never end. */
class Pace implements Disposable {
  /** Bytes since the last look. */
  received = 0;
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

  /** Begins once the body begins: waiting for the response has limits of its own. */
  watch(): void {
    const { stallMs, trickleBytes } = this.#limits;
    this.#timer = setInterval(() => {
      if (this.received < trickleBytes) this.#controller.abort(new TrickleError(trickleBytes, stallMs));
      this.received = 0;
    }, stallMs);
    this.#timer.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#parent.removeEventListener("abort", this.#follow);
  }
}
