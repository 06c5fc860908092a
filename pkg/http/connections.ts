import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { shareSecureContext } from "./secureContext.ts";
import { CONNECT_TIMEOUT_MS, limitConnecting, limitPauses, TCP_PROBE_MS } from "./timeouts.ts";
import type { Connections, ConnectionsOptions, HttpBody, HttpRequest, HttpResponse } from "./types.ts";

const DUMP_LIMIT = 128 * 1024;

/** Connections of Node's own HTTP/1.1 client. */
class Http1Connections implements Connections {
  readonly #plain: HttpAgent;
  /** Created for the first request with TLS, because its context takes time. */
  #tls: HttpsAgent | undefined;
  readonly #createTls: () => HttpsAgent;
  readonly #connectTimeoutMs: number;

  constructor({
    tls,
    lookup,
    perServer = Number.POSITIVE_INFINITY,
    keepAliveMs,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
  }: ConnectionsOptions) {
    const common = {
      keepAlive: true,
      keepAliveInitialDelay: TCP_PROBE_MS,
      keepAliveMsecs: TCP_PROBE_MS,
      timeout: keepAliveMs,
      maxSockets: perServer,
      ...(lookup ? { lookup } : {}),
    };
    this.#plain = new HttpAgent(common);
    this.#createTls = () => new HttpsAgent({ ...common, ...shareSecureContext(tls) });
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  async request(url: URL, { method, headers, body, signal, headersTimeoutMs, bodyTimeoutMs }: HttpRequest): Promise<HttpResponse> {
    signal?.throwIfAborted();
    // Node does not add Content-Length to a DELETE request with a body.
    const length = typeof body === "string" || body instanceof Uint8Array ? { "content-length": String(Buffer.byteLength(body)) } : {};
    const options = { method, headers: { ...length, ...headers } };
    const request =
      url.protocol === "https:"
        ? httpsRequest(url, { ...options, agent: (this.#tls ??= this.#createTls()) })
        : httpRequest(url, { ...options, agent: this.#plain });
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      request.on("response", resolve);
      request.on("error", (err) => reject(signal?.aborted ? signal.reason : err));
    });
    limitConnecting(request, this.#connectTimeoutMs);
    limitPauses(request, headersTimeoutMs, bodyTimeoutMs);
    request.once("close", abortWith(signal, request));
    if (body instanceof Readable) {
      // A pipe does not destroy its source when the request fails.
      request.once("close", () => body.destroy());
      body.once("error", (err) => request.destroy(err)).pipe(request);
    } else request.end(body ?? undefined);
    const message = await response;
    return {
      statusCode: message.statusCode ?? 0,
      headers: readHeaders(message),
      body: Object.assign(message, { dump: dumpBody }) as HttpBody,
    };
  }

  close(): Promise<void> {
    for (const agent of this.#opened()) {
      // Without keep-alive, Node's agents close the connection after a response.
      Object.assign(agent, { keepAlive: false });
      for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
    }
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    for (const agent of this.#opened()) agent.destroy();
    return Promise.resolve();
  }

  #opened(): HttpAgent[] {
    return [this.#plain, ...(this.#tls ? [this.#tls] : [])];
  }
}

/** Destroys the request and the body of its response when the signal aborts. @returns a function that stops listening. */
function abortWith(signal: AbortSignal | undefined, request: ClientRequest): () => void {
  if (!signal) return () => undefined;
  let message: IncomingMessage | undefined;
  request.once("response", (begun) => {
    message = begun;
  });
  const abort = (): void => {
    const reason = signal.reason instanceof Error ? signal.reason : new Error("the request was aborted", { cause: signal.reason });
    message?.destroy(reason);
    request.destroy(reason);
  };
  signal.addEventListener("abort", abort, { once: true });
  return () => signal.removeEventListener("abort", abort);
}

/** Converts a header that was sent once to a string, and a repeated header to an array. */
function readHeaders({ headersDistinct }: IncomingMessage): HttpResponse["headers"] {
  return Object.fromEntries(
    Object.entries(headersDistinct).flatMap(([name, values = []]) =>
      values.length > 0 ? [[name, values.length === 1 ? values[0] : values]] : [],
    ),
  );
}

async function dumpBody(this: IncomingMessage, { limit }: { limit: number } = { limit: DUMP_LIMIT }): Promise<void> {
  let left = limit;
  try {
    for await (const chunk of this) {
      left -= (chunk as Uint8Array).byteLength;
      if (left < 0) return;
    }
  } catch {
    // The rest of an aborted body is not needed.
  }
}

/**
 * Opens connections on demand, with Node's client for HTTP/1.1 and undici for HTTP/2 and proxies. undici is loaded on first use, because it takes 15
 * MB of memory, mostly for its WebAssembly parser.
 */
export function openConnections(options: ConnectionsOptions): Connections {
  return options.proxy === undefined && options.http2 !== true ? new Http1Connections(options) : new UndiciOnDemand(options);
}

class UndiciOnDemand implements Connections {
  readonly #options: ConnectionsOptions;
  #opened: Promise<Connections> | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  async request(url: URL, request: HttpRequest): Promise<HttpResponse> {
    this.#opened ??= import("./undici.ts").then(({ UndiciConnections }) => new UndiciConnections(this.#options));
    return (await this.#opened).request(url, request);
  }

  async close(): Promise<void> {
    await (await this.#opened)?.close();
  }

  async destroy(): Promise<void> {
    await (await this.#opened)?.destroy();
  }
}
