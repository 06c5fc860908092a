import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { systemClock } from "../../async/clock.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { BundleCache, type BundleCacheLimits } from "../../operatorcontroller/bundles/bundleCache.ts";
import { ConstraintCache, loadCelRules } from "../../operatorcontroller/dependencies/constraintCache.ts";
import { HintSearchThread } from "../../operatorcontroller/dependencies/hintSearch.ts";
import type { HttpMetrics } from "../../serving/httpMetrics.ts";
import { SECURITY_HEADERS } from "../../serving/securityHeaders.ts";
import type { ServerTls } from "../../serving/serverTls.ts";
import type { StaticAssets } from "../../serving/staticAssets.ts";
import type { Logger } from "../../telemetry/log.ts";
import { redactSecrets } from "../../text/redact.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { toConsoleProblem } from "../http/consoleError.ts";
import { registerPages } from "../http/pageRoutes.ts";
import { findForgery, type HostPolicy, isApiPath } from "../http/requestGuards.ts";
import { compileConsoleValidator } from "../http/requestInput.ts";
import { EventStreams } from "../live/eventStreams.ts";
import { registerApi } from "./routes.ts";

/** Maximum size of a request body in bytes. */
const BODY_MAX = 1024 * 1024;
/** Maximum size of the headers of a request in bytes: a proxy may pass its session cookies in addition to two tokens. */
const HEADERS_MAX = 64 * 1024;
/** Names of Kubernetes objects have up to 253 characters. */
const PARAMETER_MAX = 1024;
/** Time in which a request must arrive, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 75_000;
const GRACE_MS = 2_000;
/** Keeps bundles while users fill in forms, but no renderings: each change of a form gives the bundle another configuration. */
const KEPT_BUNDLES: BundleCacheLimits = { maxBytes: 16 * 1024 * 1024, maxBundles: 8, keepMs: 10 * 60_000, maxRenderings: 0 };

/** Options of the console server. */
export interface ConsoleServerOptions {
  /** What the routes need; the server closes callers and catalogs. */
  readonly context: Omit<ConsoleContext, "streams" | "search">;
  readonly assets: StaticAssets;
  /** Returns the accepted hosts for the port that the server listens on. */
  readonly hostPolicy: (port: number) => HostPolicy;
  /** Certificate and key; plain HTTP if absent. */
  readonly tls?: ServerTls | undefined;
  readonly metrics?: HttpMetrics;
  /** Maximum time for requests in progress to finish when the server stops, in milliseconds. */
  readonly graceMs?: number;
}

/** A running console server. */
export interface ConsoleServer extends AsyncDisposable {
  readonly address: AddressInfo;
  /** Number of open event streams. */
  readonly streamCount: number;
}

/**
 * Serves the console: its pages at all paths, and its API under /api. Every request passes the guards against requests of other sites; every request
 * to the API except the login needs the caller's identity.
 * @throws Error if it cannot listen on the address
 */
export async function startConsoleServer(
  { host, port }: { readonly host: string; readonly port: number },
  { context, assets, hostPolicy, tls, metrics, graceMs = GRACE_MS }: ConsoleServerOptions,
): Promise<ConsoleServer> {
  const { log, callers, catalogs } = context;
  const streams = new EventStreams();
  let policy: HostPolicy = { hosts: new Set() };
  const app = fastify({
    logger: false,
    bodyLimit: BODY_MAX,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: { maxParamLength: PARAMETER_MAX },
    serverFactory: (listener) => createHttpServer(tls, listener),
    frameworkErrors: (err, request, reply) => {
      reply.headers(SECURITY_HEADERS);
      sendProblem(err, request, reply, log);
    },
  });
  app.setValidatorCompiler(compileConsoleValidator);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    if (metrics) observeResponse(request, reply, metrics);
    const forgery = findForgery(readGuarded(request), policy);
    if (forgery === undefined) return;
    log.warn({ method: request.method, reason: forgery }, "request rejected");
    await reply.code(403).header("cache-control", "no-store").send({ kind: "forbidden", message: forgery });
  });
  app.setErrorHandler((err, request, reply) => sendProblem(err, request, reply, log));
  const registry = { ...context.registry, bundleCache: new BundleCache(systemClock, KEPT_BUNDLES) };
  const constraints = new ConstraintCache(loadCelRules);
  const search = new HintSearchThread(constraints, systemClock);
  registerApi(app, { ...context, registry, search: { constraints, search }, streams });
  registerPages(app, assets);
  await app.listen({ host, port });
  const address = app.server.address() as AddressInfo;
  policy = hostPolicy(address.port);
  const stopReloading = tls?.onChange((certificate) => (app.server as TlsServer).setSecureContext(certificate));
  return {
    address,
    get streamCount() {
      return streams.size;
    },
    [Symbol.asyncDispose]: async () => {
      stopReloading?.();
      streams[Symbol.dispose]();
      callers[Symbol.dispose]();
      const timer = setTimeout(() => app.server.closeAllConnections(), graceMs);
      await app.close();
      clearTimeout(timer);
      await search.end();
      await catalogs.close();
    },
  };
}

function createHttpServer(tls: ServerTls | undefined, listener: RequestListener): Server {
  const limits = {
    maxHeaderSize: HEADERS_MAX,
    headersTimeout: REQUEST_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    insecureHTTPParser: false,
    noDelay: true,
  };
  return tls ? createTlsServer({ ...limits, ...tls.current, ALPNProtocols: ["http/1.1"] }, listener) : createServer(limits, listener);
}

function readGuarded({ method, url, routeOptions, headers }: FastifyRequest) {
  const { host, origin, "sec-fetch-site": fetchSite, "content-type": contentType } = headers;
  // The router decodes escapes in the path, such as `/%61pi`.
  const isApi = isApiPath(url) || isApiPath(routeOptions.url ?? "");
  return { method, isApi, host, origin, fetchSite: typeof fetchSite === "string" ? fetchSite : undefined, contentType };
}

function sendProblem(err: unknown, request: FastifyRequest, reply: FastifyReply, log: Logger): void {
  const { status, problem } = toConsoleProblem(err);
  const isGone = reply.raw.destroyed; // the page was closed
  const level = status >= 500 && problem.kind === "failed" && !isGone ? "error" : "debug";
  log[level]({ route: request.routeOptions.url, status, reason: redactSecrets(getErrorMessage(err)) }, "request failed");
  void reply.code(status).header("cache-control", "no-store").send(problem);
}

/** Counts a response when it ends, or when the client disconnects. */
function observeResponse({ routeOptions, method }: FastifyRequest, reply: FastifyReply, metrics: HttpMetrics): void {
  const started = performance.now();
  metrics.started();
  reply.raw.once("close", () => {
    const { url } = routeOptions;
    const encoding = reply.raw.getHeader("content-encoding");
    metrics.ended({
      route: url === undefined || !isApiPath(url) ? "pages" : url,
      method,
      status: reply.raw.statusCode,
      encoding: typeof encoding === "string" ? encoding : undefined,
      bytes: Number(reply.raw.getHeader("content-length") ?? 0),
      seconds: (performance.now() - started) / 1_000,
    });
  });
}
