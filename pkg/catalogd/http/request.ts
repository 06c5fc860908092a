import type { ServerResponse } from "node:http";
import type { Readable } from "node:stream";

const GONE = new Error("the client has disconnected");

/**
 * Returns a signal that aborts when the client disconnects. fastify's `request.signal` is not
 * usable, because it aborts as soon as the request has been read.
 */
export function createDisconnectSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort(GONE); // without a reason every response would create an exception with its stack
  if (response.destroyed) leave();
  else response.once("close", leave);
  return gone.signal;
}

/**
 * Returns the whole body of a request. Returns undefined, and does not read the rest, if the body
 * is larger than `maxBytes` or does not arrive within `timeoutMs`, or if the client disconnects.
 */
export async function readRequestBody(
  body: Readable,
  { maxBytes, timeoutMs, signal }: { maxBytes: number; timeoutMs: number; signal: AbortSignal },
): Promise<Buffer | undefined> {
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
  const pieces: Buffer[] = [];
  let size = 0;
  const take = (piece: Buffer): void => {
    size += piece.length;
    pieces.push(piece);
    if (size > maxBytes) resolve(undefined);
  };
  const whole = (): void => resolve(Buffer.concat(pieces));
  const none = (): void => resolve(undefined);
  const timer = setTimeout(none, timeoutMs);
  signal.addEventListener("abort", none, { once: true });
  body.on("data", take).once("end", whole).once("error", none);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", none);
    body
      .off("data", take)
      .off("end", whole)
      .off("error", none)
      .on("error", () => undefined);
    body.pause();
  }
}
