import type { KubeObject } from "../../api/k8s.ts";
import { Turns } from "../../async/turns.ts";
import { messageOf } from "../../errors/errors.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { type CompressedRelease, type DecodedRelease, compressedRelease, decompressionFailure, payloadTooLarge, readRelease, unreadable } from "../../release/storage/decode.ts";
import { type EncodeOptions, GZIP_OPTIONS, PAYLOAD_LIMITS, payloadBytes, releaseSecrets } from "../../release/storage/encode.ts";
import { PayloadReader } from "../../release/storage/payloadReader.ts";
import type { ReleaseCodec } from "./releaseStore.ts";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";

/** Bytes of a payload that are in memory at once, on either side of zlib. */
const CHUNK_BYTES = 64 * 1024;

/**
 * Encodes and decodes releases as `encodeRelease` and `decodeRelease` do, without stopping the process and without holding a payload: zlib works in its
 * own threads and passes on 64 KiB at a time, and the rest is done in short turns. It processes one release at a time, in the order of the calls.
 * Not in a worker thread: Node aborts when a thread ends while it creates a stream of zlib, and a thread takes 20 MB.
 */
export class StreamingCodec implements ReleaseCodec {
  #last: Promise<unknown> = Promise.resolve();

  /** @throws as `encodeRelease`. */
  encode(record: ReleaseRecord, options: EncodeOptions): Promise<KubeObject[]> {
    return this.#inTurn(async () => releaseSecrets(record, await compress(record), options));
  }

  /** Returns what `decodeRelease` does. */
  async decode(index: KubeObject, chunks: readonly KubeObject[]): Promise<DecodedRelease> {
    const found = compressedRelease(index, chunks);
    if (found.kind !== "compressed") return found;
    try {
      return readRelease(found, await this.#inTurn(() => read(found)));
    } catch (err) {
      return unreadable(found.index.key, messageOf(err));
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

async function compress(record: ReleaseRecord): Promise<Buffer> {
  const compressed: Buffer[] = [];
  const gzip = createGzip({ ...GZIP_OPTIONS, chunkSize: CHUNK_BYTES });
  await pipeline(payloadChunks(record), gzip, async (pieces: AsyncIterable<Buffer>) => {
    for await (const piece of pieces) compressed.push(piece);
  });
  return Buffer.concat(compressed);
}

/** Yields a payload with its small pieces joined, as each chunk that zlib gets costs a change of threads. */
async function* payloadChunks(record: ReleaseRecord): AsyncGenerator<Buffer> {
  const turns = new Turns();
  let kept: Buffer[] = [];
  let bytes = 0;
  for (const piece of payloadBytes(record)) {
    kept.push(piece);
    bytes += piece.byteLength;
    if (bytes >= CHUNK_BYTES) {
      yield Buffer.concat(kept);
      kept = [];
      bytes = 0;
    }
    await turns.pause();
  }
  yield Buffer.concat(kept);
}

async function read(found: CompressedRelease): Promise<ReleaseRecord> {
  const reader = new PayloadReader(found);
  const turns = new Turns();
  for await (const piece of decompress(found)) {
    reader.add(piece);
    await turns.pause();
  }
  return reader.end();
}

/** @throws Error as `decompressionFailure`. */
async function* decompress(found: CompressedRelease): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  gunzip.end(found.data);
  let bytes = 0;
  try {
    for await (const piece of gunzip as AsyncIterable<Buffer>) {
      bytes += piece.byteLength;
      if (bytes > PAYLOAD_LIMITS.bytes) break;
      yield piece;
    }
  } catch (err) {
    throw decompressionFailure(found, err);
  }
  if (bytes > PAYLOAD_LIMITS.bytes) throw payloadTooLarge(found);
}
