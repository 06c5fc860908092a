import { createServer, type IncomingMessage, METHODS, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { fastify } from "fastify";
import type { ServerTls } from "../../serving/serverTls.ts";
import type { Logger } from "../../telemetry/log.ts";
import { QueryThreads } from "../graphql/queryThreads.ts";
import { type GatedEndpoint, registerCatalogRoutes } from "./catalogRoutes.ts";
import { type ClientError, rawResponse, respondToClientError } from "./clientErrors.ts";
import type { ContentSource } from "./contentRoutes.ts";
import { Exchanges } from "./exchanges.ts";
import { registerFailureHandlers, registerOtherMethods } from "./failures.ts";
import type { HttpMetrics } from "./httpMetrics.ts";
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

  /** @param most of one client. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Counts a connection until it closes; false when its client has too many already. */
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

/** What the content server is built from. */
export interface ContentServerOptions {
  source: ContentSource;
  log: Logger;
  /** Certificate, key and which connections are accepted; plain HTTP without. */
  tls?: ServerTls | undefined;
  metrics?: HttpMetrics;
  cache?: ResponseCache;
  /** Those that are not given are the usual ones. */
  limits?: Partial<ServerLimits>;
  /** Endpoints that are not served. */
  without?: ReadonlySet<GatedEndpoint>;
  /** Whether catalogs can be queried with GraphQL; default true. Without, such queries are answered with 503. */
  graphql?: boolean;
}

/** A server that accepts requests. */
export interface ContentServer {
  readonly address: AddressInfo;
  /** Whether it was told to drain or to close. */
  readonly draining: boolean;
  /** From now on every answer tells its client to close the connection; requests are still accepted. */
  drain(): void;
  /** Stops accepting, lets requests under way end for up to `graceMs`, then cuts them. */
  close(graceMs?: number): Promise<void>;
}

/** How often requests that do not arrive are looked for. */
const CHECK_MS = 1_000;
const GRACE_MS = 20_000;

/**
 * Serves catalogs: `/catalogs/{catalog}/api/v1/all` and the other endpoints of `registerCatalogRoutes`. Nothing is parsed on a request but its headers:
 * responses are byte ranges of content files, conditional on tags. HTTP/1.1 and 1.0 only, as the Go server.
 * @throws Error when the address cannot be listened on.
 * @see operator-controller df2c201d internal/catalogd/server/handlers.go
 */
export async function startContentServer(
  { host, port }: { host: string; port: number },
  options: ContentServerOptions,
): Promise<ContentServer> {
  const { source, log, tls, metrics, cache = new ResponseCache(), without = new Set(), graphql = true } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const queries = new QueryThreads();
  const exchanges = new Exchanges({ limits, log, metrics });
  const app = newApp({ limits, log, tls, exchanges });
  exchanges.register(app);
  registerRequestChecks(app, { limits, exchanges });
  registerSender(app, { limits, log });
  registerFailureHandlers(app, log);
  const routes = registerCatalogRoutes(app, { source, cache, graphs: queries, queries: graphql ? queries : undefined, without });
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

/** Where a path leads that the router cannot read: nothing is served there. */
const UNREADABLE = "/";

/** A fastify server without routes, that takes paths, methods and queries as the Go server does. */
function newApp({ limits, log, tls, exchanges }: AppInit): CatalogServer {
  const app = fastify({
    logger: false, // it would create a logger for each request; `Exchanges` logs
    exposeHeadRoutes: false, // routes name HEAD themselves
    return503OnClosing: false,
    routerOptions: {
      // Longer ones are within the limit of the headers, and rejected as URLs that are too long.
      maxParamLength: limits.headerBytes,
      querystringParser: readQueryString,
      // An escape that is not one, or no path: fastify calls no hooks for these unless they lead to a handler.
      onBadUrl: (_path, request, response) => {
        Object.assign(request, { originalUrl: request.url, url: UNREADABLE });
        app.routing(request, response);
      },
    },
    serverFactory: (listener) => newServer(tls, limits, listener),
    clientErrorHandler: (error, socket) => {
      const err = error as Error as ClientError; // fastify's type has the packet as JSON, it is a buffer
      const status = respondToClientError(err, socket, exchanges.lastOn(socket));
      log.debug({ reason: err.code ?? err.message, status }, "request cannot be read");
    },
  });
  // Of all methods, so that other methods are told from other paths. None has a body that fastify reads: the endpoint that takes one reads it itself,
  // whatever its Content-Type, and a body that comes with another method is left unread.
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
  // Without a listener the connection is cut; progress of a write that is under way counts, however slow.
  server.setTimeout(limits.stallMs);
  server.maxConnections = limits.connections;
  const clients = new ConnectionCount(limits.connectionsPerClient);
  server.on("request", listener);
  // The endpoint that reads the body says that it may come; a refusal comes at once.
  server.on("checkContinue", listener);
  server.on("connection", (socket: Socket) => {
    if (!clients.add(socket)) socket.destroy();
  });
  // Idle connections make room for those that want something.
  server.on("drop", () => server.closeIdleConnections());
  server.on("connect", (_request: IncomingMessage, socket: Socket) => socket.end(rawResponse(404, "404 page not found")));
  return server;
}

/** How a content server stops. Milliseconds. */
export interface StopTimes {
  /** Serving goes on so long, with answers that ask clients to close: those who send requests here have to learn that there is nobody. */
  delayMs: number;
  /** Then requests under way have so long to end. */
  graceMs: number;
}

/** Lets a server serve until `signal` aborts, then stops it so that no request fails whose client heeds `Connection: close`. */
export async function serveUntil(signal: AbortSignal, server: Pick<ContentServer, "drain" | "close">, times: StopTimes): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  server.drain();
  await delay(times.delayMs);
  await server.close(times.graceMs);
}
