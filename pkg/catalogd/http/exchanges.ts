import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { HttpMetrics } from "../../serving/httpMetrics.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type CatalogServer, toOpenApiPath } from "./route.ts";
import type { ServerLimits } from "./serverLimits.ts";

const MAX_LOGGED_URI = 2_048;

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the first hook. */
    exchange: Exchange;
  }
}

/** Values of a request and its response, for metrics and logs. */
export interface Exchange {
  /**
   * The path of the route in fastify's format, set when the request is accepted. Rejected requests
   * are counted without a route.
   */
  route: string | undefined;
  status: number;
  encoding: string | undefined;
  /** Number of sent body bytes; approximate if the client disconnected. */
  bytes: number;
  /** Records the status and coding of the response. Call before the response headers are written. */
  sending(reply: FastifyReply): void;
  /** Records that the handler has finished its work on the response. */
  settled(): void;
}

/** Dependencies of the request reports. */
export interface ExchangesInit {
  limits: Pick<ServerLimits, "responseMs" | "pipelined">;
  log: Logger;
  metrics?: HttpMetrics | undefined;
}

/**
 * Hooks that process the requests of a connection one at a time, end responses that take too long,
 * and record each request in metrics and logs.
 */
export class Exchanges {
  readonly #init: ExchangesInit;
  /** The most recent response on each connection. */
  readonly #last = new WeakMap<Socket, ServerResponse>();
  /** The number of requests on each connection that wait for the previous response. */
  readonly #waiting = new WeakMap<Socket, number>();
  /**
   * Caches the paths with braces, for metrics, by fastify's paths. Computing a path takes 3% of the
   * time for a 304 response.
   */
  readonly #paths = new Map<string, string>();
  #underWay = 0;
  #draining = false;

  constructor(init: ExchangesInit) {
    this.#init = init;
  }

  /** The number of requests in progress. */
  get underWay(): number {
    return this.#underWay;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Makes each response ask the client to close the connection. */
  drain(): void {
    this.#draining = true;
  }

  /** Returns the most recent response on a connection, complete or not. */
  lastOn(socket: Socket): ServerResponse | undefined {
    return this.#last.get(socket);
  }

  /** Adds the hooks to a server. Call before adding other hooks, so that these hooks process every request. */
  register(server: CatalogServer): void {
    server.decorateRequest("exchange");
    server.addHook("onRoute", ({ url }) => void this.#paths.set(url, toOpenApiPath(url)));
    server.addHook("onRequest", (request, reply, done) => this.#takeTurn(request, reply, done));
    server.addHook("onRequest", (request, reply, done) => {
      this.#start(request, reply);
      reply.header("vary", "Accept-Encoding");
      done();
    });
    // Not called for data that a handler writes to the socket, see ResponseSender.
    server.addHook("onSend", ({ method, exchange }, reply, payload, done) => {
      exchange.sending(reply);
      exchange.bytes = method === "HEAD" || !(payload instanceof Uint8Array) ? 0 : payload.byteLength;
      exchange.settled();
      done(null, payload);
    });
  }

  /**
   * Delays pipelined requests, so that a connection never has several responses in memory. Closes a
   * connection with too many delayed requests, because each of them takes memory.
   */
  #takeTurn({ socket }: FastifyRequest, { raw }: FastifyReply, done: () => void): void {
    const before = this.#last.get(socket);
    this.#last.set(socket, raw);
    const go = (): void => {
      if (!socket.destroyed) done();
    };
    // Not immediately: if an invalid body arrived together with the headers, the parser error must
    // be sent before a handler responds.
    if (!before || before.closed) queueMicrotask(go);
    else if (this.#countWaiting(socket) >= this.#init.limits.pipelined) socket.destroy();
    else {
      this.#waiting.set(socket, this.#countWaiting(socket) + 1);
      // Waits until the previous response is closed, because a response without a socket does not
      // detect that the client has disconnected.
      before.once("close", () => {
        this.#waiting.set(socket, this.#countWaiting(socket) - 1);
        go();
      });
    }
  }

  #countWaiting(socket: Socket): number {
    return this.#waiting.get(socket) ?? 0;
  }

  #start(request: FastifyRequest, reply: FastifyReply): void {
    const { limits, metrics } = this.#init;
    const started = performance.now();
    const deadline = setTimeout(() => reply.raw.destroy(), limits.responseMs).unref();
    let pending = 2;
    const end = (): void => {
      pending--;
      if (pending === 0) this.#report(request, (performance.now() - started) / 1_000);
    };
    request.exchange = {
      route: undefined,
      status: 500,
      encoding: undefined,
      bytes: 0,
      sending: (sent) => {
        request.exchange.status = sent.statusCode;
        const encoding = sent.getHeader("content-encoding");
        request.exchange.encoding = typeof encoding === "string" ? encoding : undefined;
        if (this.#draining) sent.header("connection", "close");
      },
      settled: end,
    };
    // fastify does not call onResponse if the client has disconnected.
    reply.raw.once("close", () => {
      clearTimeout(deadline);
      end();
    });
    this.#underWay++;
    metrics?.started();
  }

  #report({ method, raw, headers, originalUrl, exchange }: FastifyRequest, seconds: number): void {
    const { log, metrics } = this.#init;
    const { route, status, encoding, bytes } = exchange;
    this.#underWay--;
    metrics?.ended({ route: this.#paths.get(route ?? ""), method, status, encoding, bytes, seconds });
    const level = status >= 500 ? "error" : "debug";
    if (!log.isLevelEnabled(level)) return;
    const protocol = `HTTP/${raw.httpVersion}`;
    log[level](
      { host: headers.host, username: "-", method, uri: shortenUri(originalUrl), protocol, status, size: bytes },
      "handled request",
    );
  }
}

/** Shortens a long URI for the log. */
export function shortenUri(url: string): string {
  return url.length > MAX_LOGGED_URI ? `${url.slice(0, MAX_LOGGED_URI)}…` : url;
}
