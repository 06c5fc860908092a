import type { FastifyReply } from "fastify";

/** Returns a signal that aborts when the client disconnects before the response is complete, or after a time. */
export function createRequestSignal({ raw }: Pick<FastifyReply, "raw">, timeoutMs: number): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => {
    if (!raw.writableEnded) gone.abort(new Error("the page was closed"));
  });
  return AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMs)]);
}
