import { createServer, type IncomingMessage, METHODS, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fastify } from "fastify";
import { waitForAbort } from "../../async/concurrency.ts";
import type { HttpMetrics } from "../../serving/httpMetrics.ts";
import type { ServerTls } from "../../serving/serverTls.ts";
import type { StaticAssets } from "../../serving/staticAssets.ts";
import type { Logger } from "../../telemetry/log.ts";
import { QueryThreads } from "../graphql/queryThreads.ts";
import { type GatedEndpoint, registerCatalogRoutes } from "./catalogRoutes.ts";
import { type ClientError, formatRawResponse, respondToClientError } from "./clientErrors.ts";
import type { ContentSource } from "./contentRoutes.ts";
import { Exchanges } from "./exchanges.ts";
import { registerFailureHandlers, registerOtherMethods } from "./failures.ts";
import { compileValidator, readQueryString, type ZodTypeProvider } from "./queryParameters.ts";
import { registerRequestChecks } from "./requestChecks.ts";
import { ResponseCache } from "./responseCache.ts";
import type { CatalogServer } from "./route.ts";
import { registerSender } from "./send.ts";
import { SERVER_LIMITS, type ServerLimits } from "./serverLimits.ts";

/** Counts the open connections of each client, by address. */
class ConnectionCount {
  readonly #most: number;
  readonly #open = new Map<string, number>();

  /** @param most maximum number of connections of one client. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a connection until it closes. Returns false if the client has too many connections. */
  add(socket: Socket): boolean {
    const client = socket.remoteAddress;
    if (client === undefined) return false;
    const open = this.#open.get(client) ?? 0;
    if (open >= this.#most) return false;
    this.#open.set(client, open + 1);
    socket.once("close", () => {
      const left = (this.#open.get(client) ?? 1) - 1;
      if (left > 0) this.#open.set(client, left);
      else this.#open.delete(client);
    });
    return true;
  }
}

/** Options of the content server. */
export interface ContentServerOptions {
  source: ContentSource;
  log: Logger;
  /** Certificate, key and TLS settings; plain HTTP if absent. */
  tls?: ServerTls | undefined;
  metrics?: HttpMetrics;
  cache?: ResponseCache;
  /** Limits that override the defaults. */
  limits?: Partial<ServerLimits>;
  /** Disabled endpoints. */
  without?: ReadonlySet<GatedEndpoint>;
  /** The built files of the web page at /ui, which gets 404 without them. */
  page?: StaticAssets | undefined;
  /** Whether GraphQL queries are enabled; default true. If false, they get 503. */
  graphql?: boolean;
}

/** A running server. */
export interface ContentServer {
  readonly address: AddressInfo;
  /** Whether draining or closing has started. */
  readonly draining: boolean;
  /**
   * Makes each response ask the client to close the connection. The server continues to accept
   * requests.
   */
  drain(): void;
  /**
   * Stops accepting connections, waits up to `graceMs` for requests in progress, then closes their
   * connections.
   */
  close(graceMs?: number): Promise<void>;
}

/** Interval for checking whether requests arrive in time. */
const CHECK_MS = 1_000;
const GRACE_MS = 20_000;

/**
 * Serves catalogs: `/catalogs/{catalog}/api/v1/all` and the other endpoints of
 * `registerCatalogRoutes`. Handlers do not parse content: responses are byte ranges of content
 * files, with entity tags for conditional requests. Supports only HTTP/1.1 and 1.0, like the Go
 * server.
 * @throws Error if it cannot listen on the address.
 * @see operator-controller df2c201d internal/catalogd/server/handlers.go
 */
export async function startContentServer(
  { host, port }: { host: string; port: number },
  options: ContentServerOptions,
): Promise<ContentServer> {
  const { source, log, tls, metrics, cache = new ResponseCache(), without = new Set(), page, graphql = true } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const queries = new QueryThreads();
  const exchanges = new Exchanges({ limits, log, metrics });
  const app = newApp({ limits, log, tls, exchanges });
  exchanges.register(app);
  registerRequestChecks(app, { limits, exchanges });
  registerSender(app, { limits, log });
  registerFailureHandlers(app, log);
  const routes = registerCatalogRoutes(app, { source, cache, graphs: queries, queries: graphql ? queries : undefined, without, page });
  registerOtherMethods(app, routes);
  await app.listen({ host, port });
  const { server } = app;
  server.on("error", (err) => log.error({ err }, "content server"));
  const stopReloading = tls?.onChange((certificate) => (server as TlsServer).setSecureContext(certificate));
  return {
    address: server.address() as AddressInfo,
    get draining() {
      return exchanges.draining;
    },
    drain: () => exchanges.drain(),
    close: async (graceMs = GRACE_MS) => {
      stopReloading?.();
      exchanges.drain();
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      await app.close();
      await queries.close();
      clearTimeout(timer);
    },
  };
}

interface AppInit {
  limits: ServerLimits;
  log: Logger;
  tls: ServerTls | undefined;
  exchanges: Exchanges;
}

/** Path that replaces a path that the router cannot parse. No route has it. */
const UNREADABLE = "/";

/**
 * Creates a fastify server without routes that handles paths, methods and queries like the Go
 * server.
 */
function newApp({ limits, log, tls, exchanges }: AppInit): CatalogServer {
  const app = fastify({
    logger: false, // it would create a logger for each request; `Exchanges` logs
    exposeHeadRoutes: false, // routes declare HEAD explicitly
    return503OnClosing: false,
    routerOptions: {
      // Not limited here: URLs that are too long are rejected with 414.
      maxParamLength: limits.headerBytes,
      querystringParser: readQueryString,
      // Routes URLs with an invalid escape or without a path to a handler, because otherwise
      // fastify calls no hooks for them.
      onBadUrl: (_path, request, response) => {
        Object.assign(request, { originalUrl: request.url, url: UNREADABLE });
        app.routing(request, response);
      },
    },
    serverFactory: (listener) => newServer(tls, limits, listener),
    clientErrorHandler: (error, socket) => {
      const err = error as Error as ClientError; // fastify's type declares the packet as JSON, but it is a buffer
      const status = respondToClientError(err, socket, exchanges.lastOn(socket));
      log.debug({ reason: err.code ?? err.message, status }, "invalid request");
    },
  });
  // Registers all methods, to distinguish a wrong method from an unknown path. fastify reads no
  // bodies: the endpoint that accepts a body reads it itself, with any Content-Type. Bodies of
  // other requests are not read.
  for (const method of METHODS) app.addHttpMethod(method, { overrideExisting: true });
  app.setValidatorCompiler(compileValidator);
  return app.withTypeProvider<ZodTypeProvider>();
}

function newServer(tls: ServerTls | undefined, limits: ServerLimits, listener: RequestListener): Server {
  const shared = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.requestMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, limits.requestMs),
    insecureHTTPParser: false,
    noDelay: true,
  };
  const server: Server = tls
    ? createTlsServer({ ...shared, ...tls.current, handshakeTimeout: limits.handshakeMs, ALPNProtocols: ["http/1.1"] })
    : createServer(shared);
  // Without a listener, Node closes the connection. Even a slow write counts as progress.
  server.setTimeout(limits.stallMs);
  server.maxConnections = limits.connections;
  const clients = new ConnectionCount(limits.connectionsPerClient);
  server.on("request", listener);
  // The endpoint that reads the body sends 100 Continue; a rejection is sent immediately.
  server.on("checkContinue", listener);
  server.on("connection", (socket: Socket) => {
    if (!clients.add(socket)) socket.destroy();
  });
  // Closes idle connections to make room for active clients.
  server.on("drop", () => server.closeIdleConnections());
  server.on("connect", (_request: IncomingMessage, socket: Socket) => socket.end(formatRawResponse(404, "404 page not found")));
  return server;
}

/** Time limits for stopping a content server, in milliseconds. */
export interface StopTimes {
  /**
   * Time for which the server still accepts requests and asks clients to close connections, because
   * clients need time to notice that this replica is stopping.
   */
  delayMs: number;
  /** Time after that for requests in progress to finish. */
  graceMs: number;
}

/**
 * Runs a server until `signal` aborts, then stops it without failing requests from clients that
 * respect `Connection: close`.
 */
export async function serveUntil(signal: AbortSignal, server: Pick<ContentServer, "drain" | "close">, times: StopTimes): Promise<void> {
  await waitForAbort(signal);
  server.drain();
  await delay(times.delayMs);
  await server.close(times.graceMs);
}
