import { createServer, type Server } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fastify } from "fastify";
import { getErrorMessage } from "../../errors/errors.ts";
import { SECURITY_HEADERS } from "../../serving/securityHeaders.ts";
import type { ServerTls } from "../../serving/serverTls.ts";
import type { StaticAssets } from "../../serving/staticAssets.ts";
import type { Logger } from "../../telemetry/log.ts";
import { redactSecrets } from "../../text/redact.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { toConsoleProblem } from "../http/consoleError.ts";
import { registerPages } from "../http/pageRoutes.ts";
import { findForgery, type HostPolicy } from "../http/requestGuards.ts";
import { compileConsoleValidator } from "../http/requestInput.ts";
import { registerApi } from "./routes.ts";

/** Maximum size of a request body in bytes. */
const BODY_MAX = 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** Maximum length of a name in a path, in characters. */
const MAX_PARAM = 1_024;

/** Options of the console server. */
export interface ConsoleServerOptions {
  readonly context: ConsoleContext;
  readonly assets: StaticAssets;
  /** Returns the accepted hosts for the port that the server listens on. */
  readonly hostPolicy: (port: number) => HostPolicy;
  /** Certificate and key; plain HTTP if absent. */
  readonly tls?: ServerTls | undefined;
  readonly log: Logger;
}

/** A running console server. */
export interface ConsoleServer extends AsyncDisposable {
  readonly address: AddressInfo;
}

/**
 * Serves the console: its pages at all paths, and its API under /api. Every request passes the guards against requests of other sites; every request
 * to the API except the login needs the caller's identity.
 * @throws Error if it cannot listen on the address
 */
export async function startConsoleServer(
  { host, port }: { readonly host: string; readonly port: number },
  { context, assets, hostPolicy, tls, log }: ConsoleServerOptions,
): Promise<ConsoleServer> {
  let policy: HostPolicy = { hosts: new Set() };
  const app = fastify({
    logger: false,
    bodyLimit: BODY_MAX,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM }, // names in catalogs are longer than the standard of 100
    forceCloseConnections: true,
    serverFactory: (listener): Server => (tls ? createTlsServer({ ...tls.current }, listener) : createServer(listener)),
  });
  app.setValidatorCompiler(compileConsoleValidator);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    const { host: name, origin, "sec-fetch-site": fetchSite, "content-type": contentType } = request.headers;
    const site = typeof fetchSite === "string" ? fetchSite : undefined;
    const forgery = findForgery({ method: request.method, host: name, origin, fetchSite: site, contentType }, policy);
    if (forgery === undefined) return;
    log.warn({ method: request.method, reason: forgery }, "request rejected");
    await reply.code(403).send({ kind: "forbidden", message: forgery });
  });
  app.setErrorHandler(async (err, request, reply) => {
    const { status, problem } = toConsoleProblem(err);
    const level = status >= 500 && problem.kind === "failed" ? "error" : "debug";
    log[level]({ route: request.routeOptions.url, status, reason: redactSecrets(getErrorMessage(err)) }, "request failed");
    await reply.code(status).header("cache-control", "no-store").send(problem);
  });
  registerApi(app, context);
  registerPages(app, assets);
  await app.listen({ host, port });
  const address = app.server.address() as AddressInfo;
  policy = hostPolicy(address.port);
  const stopReloading = tls?.onChange((certificate) => (app.server as TlsServer).setSecureContext(certificate));
  return {
    address,
    [Symbol.asyncDispose]: async () => {
      stopReloading?.();
      context[Symbol.dispose]();
      await app.close();
      await context.catalogs.close();
    },
  };
}
