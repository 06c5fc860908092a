import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import type { Callers } from "../consoleContext.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";
import { createRequestSignal } from "../http/requestSignal.ts";

/** Maximum time of a request, unless its route has another one, in milliseconds. */
const TIMEOUT_MS = 60_000;

declare module "fastify" {
  interface FastifyRequest {
    /** The identity of the caller. */
    identity: ClusterIdentity;
    /** Aborts when the client disconnects, or after the time of the route. Unlike `signal` of fastify, it does not abort after the body was read. */
    deadline: AbortSignal;
  }
  interface FastifyContextConfig {
    /** Maximum time of a request in milliseconds; by default one minute. */
    readonly timeoutMs?: number;
  }
}

/**
 * Identifies the caller of each request to the routes that are registered after it in the same scope, before the input is read. Browsers store none of
 * the responses, unless a route says so.
 */
export function identifyCallers(scope: ConsoleRoutes, callers: Pick<Callers, "identify">): void {
  scope.decorateRequest("identity");
  scope.decorateRequest("deadline");
  scope.addHook("onRequest", async (request, reply) => {
    request.identity = callers.identify(request.headers);
    request.deadline = createRequestSignal(reply, request.routeOptions.config.timeoutMs ?? TIMEOUT_MS);
    reply.header("cache-control", "no-store");
  });
}
