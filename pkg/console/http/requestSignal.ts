import type { FastifyReply } from "fastify";

/** Returns a signal that aborts after a time, or when the client disconnects before the response is sent. */
export function createRequestSignal(reply: Pick<FastifyReply, "raw">, timeoutMs: number): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort(new Error("the client disconnected"));
  });
  return AbortSignal.any([gone.signal, AbortSignal.timeout(timeoutMs)]);
}
