import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { HeldFile } from "../content.ts";
import type { Slice } from "../contentIndex.ts";
import type { Answer } from "./answer.ts";

const CHUNK_BYTES = 512 * 1024;

/**
 * Sends an answer and waits until all of it is handed to the connection or the client is gone. Pieces of files pass through two buffers, one being
 * read while the other is written, so memory does not grow with the answer.
 * @throws Error when a file cannot be read; the connection is then cut, since the status has been sent.
 */
export async function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): Promise<void> {
  response.writeHead(status, headers as Record<string, string | number>);
  if (body.kind === "none") response.end();
  else if (body.kind === "bytes") response.end(body.bytes);
  else await sendPieces(response, body.file, body.pieces);
}

async function sendPieces(response: ServerResponse, file: HeldFile, pieces: readonly (Slice | Uint8Array)[]): Promise<void> {
  const buffers = new Buffers();
  try {
    for (const piece of pieces) {
      if (piece instanceof Uint8Array) await write(response, piece);
      else await sendSlice(response, file, piece, buffers);
      if (response.destroyed) return;
    }
    await buffers.idle();
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
  readonly #turn = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)];

  async next(): Promise<Buffer> {
    const buffer = this.#turn.shift() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
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
}
