import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { HeldFile } from "../content.ts";
import type { Slice } from "../contentIndex.ts";
import type { Answer } from "./answer.ts";

const CHUNK_BYTES = 512 * 1024;
/** Idle buffers that are kept: 8 MiB, for as many answers at once as two cores can encrypt. */
const MAX_IDLE_BUFFERS = 16;

/** Buffers that answers borrow: allocating half a megabyte for each piece of each answer would keep the garbage collector busy. */
export class BufferPool {
  readonly #idle: Buffer[] = [];

  take(): Buffer {
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
  }

  /** Takes buffers back that nobody reads from any more. */
  give(buffers: readonly Buffer[]): void {
    this.#idle.push(...buffers.slice(0, MAX_IDLE_BUFFERS - this.#idle.length));
  }
}

/**
 * Sends an answer and waits until all of it is handed to the connection or the client is gone. Pieces of files pass through two buffers, one being
 * read while the other is written, so memory does not grow with the answer.
 * @throws Error when a file cannot be read; the connection is then cut, since the status has been sent.
 */
export async function sendAnswer(response: ServerResponse, { status, headers, body }: Answer, pool: BufferPool): Promise<void> {
  response.writeHead(status, headers as Record<string, string | number>);
  if (body.kind === "none") response.end();
  else if (body.kind === "bytes") response.end(body.bytes);
  else await sendPieces(response, body.file, body.pieces, pool);
}

async function sendPieces(
  response: ServerResponse,
  file: HeldFile,
  pieces: readonly (Slice | Uint8Array)[],
  pool: BufferPool,
): Promise<void> {
  const buffers = new Buffers(pool);
  try {
    for (const piece of pieces) {
      if (piece instanceof Uint8Array) await write(response, piece);
      else await sendSlice(response, file, piece, buffers);
      if (response.destroyed) return;
    }
    await buffers.idle();
    if (!response.destroyed) buffers.giveBack();
    response.end();
  } catch (err) {
    if (response.destroyed) return;
    response.destroy();
    throw err;
  }
}

async function sendSlice(response: ServerResponse, { handle }: HeldFile, { start, end }: Slice, buffers: Buffers): Promise<void> {
  for (let position = start; position < end && !response.destroyed; ) {
    const buffer = await buffers.next();
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, end - position), position);
    if (bytesRead === 0) throw new Error("the content file is shorter than its index says");
    position += bytesRead;
    buffers.wrote(buffer, write(response, buffer.subarray(0, bytesRead)));
  }
}

/** Resolves when the bytes are handed to the connection; also when the client is gone. */
function write(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  const closed = new AbortController();
  const written = new Promise<void>((resolve) => response.write(bytes, () => resolve()));
  const gone = once(response, "close", { signal: closed.signal }).then(
    () => undefined,
    () => undefined,
  );
  return Promise.race([written, gone]).finally(() => closed.abort());
}

/** Two buffers in turn; each is free again when what was written from it has left. */
class Buffers {
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

  /** Not after the client has gone: what it was to get may still be read from the buffers. */
  giveBack(): void {
    this.#pool.give(this.#turn.splice(0));
  }
}
