import { createServer, type IncomingMessage, METHODS, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import type { ServerTls } from "../../serving/serverTls.ts";
import type { Logger } from "../../telemetry/log.ts";
import { QueryThreads } from "../graphql/queryThreads.ts";
import { AnswerCache } from "./answerCache.ts";
import { answerClientError, type ClientError, rawAnswer } from "./clientErrors.ts";
import { type ContentSource, catalogListRoute, contentRoutes, findingsRoutes } from "./contentRoutes.ts";
import { type GraphqlRouteDependencies, graphqlRoutes } from "./graphqlRoutes.ts";
import { type GraphRouteDependencies, graphRoutes } from "./graphRoutes.ts";
import type { HttpMetrics } from "./httpMetrics.ts";
import { openApiRoute } from "./openApi.ts";
import { packagesRoutes } from "./packagesRoutes.ts";
import { pageRoutes } from "./pageRoutes.ts";
import { type Destination, RequestHandler } from "./requestHandler.ts";
import { fastifyPath, type Route } from "./route.ts";
import { searchRoute } from "./searchRoute.ts";
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

/** What the endpoints are built from. */
export type RouteDependencies = GraphRouteDependencies & GraphqlRouteDependencies;

/** All endpoints of the content server: it serves them, and the OpenAPI document and the reference are made of them. */
export function catalogRoutes(dependencies: RouteDependencies): Route[] {
  const routes: Route[] = [
    ...contentRoutes(dependencies),
    ...graphqlRoutes(dependencies),
    ...findingsRoutes(dependencies),
    catalogListRoute(dependencies),
    ...packagesRoutes(dependencies),
    ...graphRoutes(dependencies),
    searchRoute(dependencies),
    ...pageRoutes(dependencies.cache),
  ];
  return [...routes, openApiRoute(routes, dependencies.cache)];
}

/** What the content server is built from. */
export interface ContentServerOptions {
  source: ContentSource;
  log: Logger;
  /** Certificate, key and which connections are accepted; plain HTTP without. */
  tls?: ServerTls | undefined;
  metrics?: HttpMetrics;
  cache?: AnswerCache;
  /** Those that are not given are the usual ones. */
  limits?: Partial<ServerLimits>;
  /** Ids of the operations that are not served. */
  without?: ReadonlySet<string>;
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
 * Serves catalogs: `/catalogs/{catalog}/api/v1/all` and the other endpoints of `catalogRoutes`. Nothing is parsed on a request but its headers: answers
 * are byte ranges of content files, conditional on tags. HTTP/1.1 and 1.0 only, as the Go server.
 * @throws Error when the address cannot be listened on.
 * @see operator-controller df2c201d internal/catalogd/server/handlers.go
 */
export async function startContentServer(
  { host, port }: { host: string; port: number },
  options: ContentServerOptions,
): Promise<ContentServer> {
  const { source, log, tls, metrics, cache = new AnswerCache(), without = new Set(), graphql = true } = options;
  const limits = { ...SERVER_LIMITS, ...options.limits };
  const queries = new QueryThreads();
  const routes = catalogRoutes({ source, cache, graphs: queries, queries: graphql ? queries : undefined }).filter(
    ({ operation }) => !without.has(operation.id),
  );
  const handler = new RequestHandler({ limits, log, metrics });
  const app = routerOf(routes, handler, { limits, log, tls });
  await app.listen({ host, port });
  const { server } = app;
  server.on("error", (err) => log.error({ err }, "content server"));
  const stopReloading = tls?.onChange((certificate) => (server as TlsServer).setSecureContext(certificate));
  return {
    address: server.address() as AddressInfo,
    get draining() {
      return handler.draining;
    },
    drain: () => handler.drain(),
    close: async (graceMs = GRACE_MS) => {
      stopReloading?.();
      handler.drain();
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      await app.close();
      await queries.close();
      clearTimeout(timer);
    },
  };
}

interface RouterInit {
  limits: ServerLimits;
  log: Logger;
  tls: ServerTls | undefined;
}

/** The routes in fastify, which finds them by method and path; the answers are the handler's, without fastify's parsing and sending. */
function routerOf(routes: readonly Route[], handler: RequestHandler, { limits, log, tls }: RouterInit): FastifyInstance {
  const handle = (request: FastifyRequest, reply: FastifyReply, destination: Destination | undefined): void => {
    reply.hijack();
    handler.handle(request.raw, reply.raw, destination);
  };
  const app: FastifyInstance = fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: limits.urlLength },
    serverFactory: (listener) => newServer(tls, limits, listener),
    clientErrorHandler: (error, socket) => {
      const err = error as Error as ClientError; // fastify's type has the packet as JSON, it is a buffer
      const status = answerClientError(err, socket, handler.lastOn(socket));
      log.debug({ reason: err.code ?? err.message, status }, "request cannot be read");
    },
    // An escape that is none.
    frameworkErrors: (_err, request, reply) => handle(request, reply, undefined),
  });
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  for (const [path, samePath] of Map.groupBy(routes, ({ path: one }) => one)) {
    for (const method of app.supportedMethods.filter((one) => one !== "CONNECT")) {
      const route = samePath.find(({ methods }) => (methods as readonly string[]).includes(method));
      const config: RouteConfig = { route, samePath };
      app.route({ method, url: fastifyPath(path), config, handler: answeredBefore });
    }
  }
  app.setNotFoundHandler(answeredBefore);
  // Before fastify looks at the body.
  app.addHook("onRequest", (request, reply) => {
    const { route, samePath = [] } = request.routeOptions.config as Partial<RouteConfig>;
    handle(request, reply, { route, samePath, params: (request.params ?? {}) as Destination["params"] });
  });
  return app;
}

/** What fastify keeps of a path and method. */
type RouteConfig = Pick<Destination, "route" | "samePath">;

/** Requests have been answered when fastify would have them handled. */
function answeredBefore(): never {
  throw new Error("a request that was not answered");
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
  server.on("connect", (_request: IncomingMessage, socket: Socket) => socket.end(rawAnswer(404, "404 page not found")));
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
