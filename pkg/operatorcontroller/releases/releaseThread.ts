import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { KubeObject } from "../../api/k8s.ts";
import { type Ask, movable, TaskThread, type TaskThreadLimits, ThreadLimitExceeded } from "../../async/taskThread.ts";
import { Turns } from "../../async/turns.ts";
import type { Clock } from "../../controller/clock.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../errors/goQuote.ts";
import {
  type CompressedRelease,
  compressedRelease,
  type DecodedRelease,
  decompressionFailure,
  GUNZIP_OPTIONS,
  readPayload,
  readRelease,
  unreadable,
} from "../../release/decode.ts";
import { type EncodeOptions, GZIP_OPTIONS, PayloadBytes, releaseSecrets } from "../../release/encode.ts";
import { objectFrom, payloadPieces, type ReleaseParts } from "../../release/payload.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import type { PayloadRequest, PayloadResponse } from "./releaseMessage.ts";
import type { ReleaseCodec } from "./releaseStore.ts";

type AskThread = Ask<PayloadRequest, PayloadResponse>;

const gzipped = promisify(gzip);
const gunzipped = promisify(gunzip);

const LIMITS: TaskThreadLimits = { heapMib: 192, deadlineMs: 60_000, idleMs: 3_000 };
/** The main thread reads a payload of at most so many bytes itself: a thread takes longer to start. */
const MAIN_THREAD_BYTES = 1024 * 1024;

/**
 * Encodes and decodes releases as `encodeRelease` and `decodeRelease` do, without stopping the main thread: zlib works in its own threads, large
 * payloads are read in a worker thread, and all else is done in short turns, for one release at a time. The worker thread never compresses, as Node aborts when a thread ends
 * while it creates a stream of zlib.
 */
export class ReleaseThread implements ReleaseCodec {
  readonly #thread: TaskThread<PayloadRequest, PayloadResponse>;

  constructor(clock: Clock, limits: TaskThreadLimits = LIMITS) {
    this.#thread = new TaskThread(import.meta.dirname, "releaseWorker", limits, clock);
  }

  /** Whether the thread is running. */
  get isRunning(): boolean {
    return this.#thread.isRunning;
  }

  /** @throws as `encodeRelease`. */
  encode(record: ReleaseRecord, options: EncodeOptions): Promise<KubeObject[]> {
    return this.#thread.run(async () => {
      const payload = new PayloadBytes(record.name);
      const turns = new Turns();
      for (const piece of payloadPieces(record)) {
        payload.add(piece);
        await turns.pause();
      }
      return releaseSecrets(record, await gzipped(payload.all(), GZIP_OPTIONS), options);
    });
  }

  /**
   * Returns what `decodeRelease` does; unreadable as well for a payload that takes more memory than the thread has.
   * @throws RetryableError Retrying for one that takes too long.
   */
  async decode(index: KubeObject, chunks: readonly KubeObject[]): Promise<DecodedRelease> {
    const found = compressedRelease(index, chunks);
    if (found.kind !== "compressed") return found;
    try {
      return readRelease(found, await this.#thread.run((ask) => readRecord(ask, found)));
    } catch (err) {
      if (err instanceof RetryableError) throw err;
      return unreadable(found.index.key, messageOf(err));
    }
  }

  /** Ends the thread. */
  end(): Promise<void> {
    return this.#thread.end();
  }
}

async function readRecord(ask: AskThread, found: CompressedRelease): Promise<ReleaseRecord> {
  const payload = await decompress(found);
  const isSmall = payload.byteLength <= MAIN_THREAD_BYTES;
  const { head, lines } = isSmall ? readPayload(payload, found) : await readInThread(ask, found, payload);
  const objects: KubeObject[] = [];
  const turns = new Turns();
  for (const [i, line] of lines.entries()) {
    objects.push(objectFrom(line, i));
    await turns.pause();
  }
  return { ...head, objects };
}

async function readInThread(ask: AskThread, { labels, index: { key: secret } }: CompressedRelease, payload: Buffer): Promise<ReleaseParts> {
  const response = await ask({ payload, labels, secret }, movable([payload])).catch((err: unknown) => {
    if (!(err instanceof ThreadLimitExceeded)) throw err;
    const text = `failed to decode release from index secret ${goQuote(secret)}: ${messageOf(err)}`;
    throw err.limit === "time" ? new RetryableError("Retrying", text, { cause: err }) : new Error(text, { cause: err });
  });
  if (response.kind === "failed") throw new Error(response.message);
  return response.parts;
}

async function decompress(found: CompressedRelease): Promise<Buffer> {
  try {
    return await gunzipped(found.data, GUNZIP_OPTIONS);
  } catch (err) {
    throw decompressionFailure(found, err);
  }
}
