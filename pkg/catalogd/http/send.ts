import type { ServerResponse } from "node:http";
import type { Slice } from "../store/contentIndex.ts";
import type { HeldFile } from "../store/storedFile.ts";
import { type Answer, bodyBytes } from "./response.ts";

const LARGE_BYTES = 512 * 1024;
const SMALL_BYTES = 64 * 1024;
/** Large buffers that are lent at once: 16 MiB, for as many answers as two cores can send fast. Further answers get small ones. */
const MAX_LARGE = 32;
/** Idle buffers that are kept. */
const MAX_IDLE = 16;

/** Buffers that answers borrow: allocating half a megabyte for each piece of each answer would keep the garbage collector busy. */
export class BufferPool {
  readonly #idle: Buffer[] = [];
  #lent = 0;

  /** How much an answer should write at once now. */
  get chunkBytes(): number {
    return this.#lent < MAX_LARGE ? LARGE_BYTES : SMALL_BYTES;
  }

  take(): Buffer {
    if (this.#lent >= MAX_LARGE) return Buffer.allocUnsafeSlow(SMALL_BYTES);
    this.#lent++;
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
  }

  /** Takes buffers back. @param reusable nobody reads from them any more. */
  give(buffers: readonly Buffer[], reusable: boolean): void {
    const large = buffers.filter(({ length }) => length === LARGE_BYTES);
    this.#lent -= large.length;
    if (reusable) this.#idle.push(...large.slice(0, MAX_IDLE - this.#idle.length));
  }
}

/** Two buffers in turn; each is free again when what was written from it has left. */
class BorrowedBuffers implements Disposable {
  /** Set when all that was written has left: after a client has gone, what it was to get may still be read from the buffers. */
  reusable = false;
  readonly #busy = new Map<Buffer, Promise<void>>();
  readonly #turn: Buffer[] = [];
  readonly #pool: BufferPool;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  async next(): Promise<Buffer> {
    const buffer = (this.#turn.length < 2 ? undefined : this.#turn.shift()) ?? this.#pool.take();
    this.#turn.push(buffer);
    await this.#busy.get(buffer);
    return buffer;
  }

  wrote(buffer: Buffer, done: Promise<void>): void {
    this.#busy.set(buffer, done);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#busy.values());
  }

  [Symbol.dispose](): void {
    this.#pool.give(this.#turn.splice(0), this.reusable);
  }
}

/**
 * Sends an answer and waits until all of it is handed to the connection or the client is gone. Pieces of files pass through two buffers, one being
 * read while the other is written, so memory does not grow with the answer.
 * @returns how many bytes of the body were sent, those of a client that has gone approximately.
 * @throws Error when a file cannot be read; the connection is then cut, since the status has been sent.
 */
export async function sendAnswer(response: ServerResponse, answer: Answer, pool: BufferPool): Promise<number> {
  const { status, headers, body } = answer;
  response.writeHead(status, headers as Record<string, string | number>);
  if (body.kind === "none") response.end();
  else if (body.kind === "file") return sendPieces(response, body.file, body.pieces, pool);
  else if (body.bytes.byteLength <= pool.chunkBytes) response.end(body.bytes);
  else return sendBytes(response, body.bytes, pool);
  return bodyBytes(answer);
}

/** In pieces, of which TLS copies one at a time. */
async function sendBytes(response: ServerResponse, bytes: Uint8Array, pool: BufferPool): Promise<number> {
  const writer = new PieceWriter(response);
  for (let at = 0; at < bytes.byteLength; ) {
    const piece = bytes.subarray(at, at + pool.chunkBytes);
    await writer.write(piece);
    if (writer.isGone) return at;
    at += piece.byteLength;
  }
  response.end();
  return bytes.byteLength;
}

async function sendPieces(
  response: ServerResponse,
  file: HeldFile,
  pieces: readonly (Slice | Uint8Array)[],
  pool: BufferPool,
): Promise<number> {
  using buffers = new BorrowedBuffers(pool);
  const writer = new PieceWriter(response);
  let sent = 0;
  try {
    for (const piece of pieces) {
      if (piece instanceof Uint8Array) {
        await writer.write(piece);
        sent += piece.byteLength;
      } else sent += await sendSlice(writer, file, piece, buffers);
      if (writer.isGone) return sent;
    }
    await buffers.idle();
    if (!writer.isGone) buffers.reusable = true;
    response.end();
    return sent;
  } catch (err) {
    if (writer.isGone) return sent;
    response.destroy();
    throw err;
  }
}

async function sendSlice(writer: PieceWriter, file: HeldFile, { start, end }: Slice, buffers: BorrowedBuffers): Promise<number> {
  let position = start;
  while (position < end && !writer.isGone) {
    const buffer = await buffers.next();
    const bytesRead = await file.read(buffer, 0, Math.min(buffer.length, end - position), position);
    position += bytesRead;
    buffers.wrote(buffer, writer.write(buffer.subarray(0, bytesRead)));
  }
  return position - start;
}

/** Writes the pieces of an answer. */
class PieceWriter {
  readonly #response: ServerResponse;
  /** What waits until a piece is handed to the connection. */
  readonly #waiting = new Set<() => void>();

  constructor(response: ServerResponse) {
    this.#response = response;
    response.once("close", () => {
      for (const resolve of this.#waiting) resolve();
    });
  }

  get isGone(): boolean {
    return this.#response.destroyed;
  }

  /** Resolves when the bytes are handed to the connection; also when the client is gone. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.isGone) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      this.#response.write(bytes, () => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
  }
}
