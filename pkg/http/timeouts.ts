import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Dispatcher } from "undici";

/** Default time until a connection is ready. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** Interval of TCP keep-alive probes, to detect a dead peer while a watch sends no events. */
export const TCP_PROBE_MS = 30_000;
const RESPONSE_TIMEOUT_MS = 300_000;

/** Fails a new connection that is not ready in time. A reused connection is always ready. */
export function limitConnecting(request: ClientRequest, timeoutMs: number): void {
  request.once("socket", (socket: Socket) => {
    if (!socket.connecting) return;
    // Node sets the keep-alive time of the agent as the timeout of a new connection.
    socket.setTimeout(0);
    const timer = setTimeout(() => request.destroy(timeoutError("CONNECT", `no connection within ${timeoutMs} ms`)), timeoutMs);
    const ready = (): void => clearTimeout(timer);
    onReady(socket, ready);
    socket.once("close", ready);
  });
}

/**
 * Fails a response that does not start in time or whose body stalls. Pauses of the reader do not
 * count.
 */
export function limitPauses(request: ClientRequest, headersMs = RESPONSE_TIMEOUT_MS, bodyMs = RESPONSE_TIMEOUT_MS): void {
  request.once("socket", (socket: Socket) => {
    let message: IncomingMessage | undefined;
    const expire = (): void => {
      if (!message) request.destroy(timeoutError("HEADERS", `no response within ${headersMs} ms`));
      else if (message.readableLength === 0) message.destroy(timeoutError("BODY", `no data within ${bodyMs} ms`));
      // The timer of a socket fires once, and starts again only with its next data.
      else socket.setTimeout(bodyMs);
    };
    socket.on("timeout", expire);
    request.once("close", () => socket.off("timeout", expire));
    if (socket.connecting) onReady(socket, () => socket.setTimeout(headersMs));
    else socket.setTimeout(headersMs);
    request.once("response", (begun) => {
      message = begun;
      // Without a listener, Node would drop an error that occurs before the body is read.
      begun.on("error", () => undefined);
      socket.setTimeout(bodyMs);
    });
  });
}

/** Calls `ready` when a new connection can send a request. */
function onReady(socket: Socket, ready: () => void): void {
  socket.once("encrypted" in socket ? "secureConnect" : "connect", ready);
}

/** Uses undici's codes, so that both clients fail in the same way. */
function timeoutError(what: "CONNECT" | "HEADERS" | "BODY", message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code: `UND_ERR_${what}_TIMEOUT` });
}

/**
 * Fails a response of undici whose body stalls, in place of undici's own limit. Pauses of the reader do not count.
 *
 * undici sets the timeout of the HTTP/2 stream. Node.js does not clear it when the connection breaks, because `Http2Stream.setTimeout` ignores a
 * destroyed stream (Node.js 24.21). The timer then keeps the stream and its request in memory for up to ten minutes: 3 KB for each watch and each
 * restart of the API server.
 */
export function limitBodyPauses(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) =>
    dispatch({ ...options, bodyTimeout: 0 }, new BodyPauses(handler, options.bodyTimeout ?? RESPONSE_TIMEOUT_MS));
}

class BodyPauses implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(handler: Dispatcher.DispatchHandler, timeoutMs: number) {
    this.#handler = handler;
    this.#timeoutMs = timeoutMs;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders, text?: string): void {
    this.#timer ??= setTimeout(() => this.#expire(controller), this.#timeoutMs).unref();
    this.#handler.onResponseStart?.(controller, status, headers, text);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#timer?.refresh();
    this.#handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    clearTimeout(this.#timer);
    this.#handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    clearTimeout(this.#timer);
    this.#handler.onResponseError?.(controller, error);
  }

  #expire(controller: Dispatcher.DispatchController): void {
    if (controller.paused) this.#timer?.refresh();
    else controller.abort(timeoutError("BODY", `no data within ${this.#timeoutMs} ms`));
  }
}
