import type { Logger } from "../../telemetry/log.ts";
import { shortenUri } from "./exchanges.ts";
import { redirectToPage } from "./pageRoutes.ts";
import { ProblemError, respondWithProblemDetails, respondWithProblemText, wantsProblemDetails } from "./problem.ts";
import { type CatalogRoute, type CatalogServer, listMethods } from "./route.ts";

/** Sets the handlers for errors and unknown paths. Redirects browsers from `/` to the web page. */
export function registerFailureHandlers(server: CatalogServer, log: Logger): void {
  server.setErrorHandler((err, request, reply) => {
    const { exchange, headers, originalUrl, routeOptions } = request;
    if (!(err instanceof ProblemError)) log.error({ err, uri: shortenUri(originalUrl), code: 500 }, "HTTP error");
    const problem = err instanceof ProblemError ? err : new ProblemError("InternalError", "500 Internal Server Error");
    const inDetails = (exchange.route !== undefined && routeOptions.config.failures === "problem") || wantsProblemDetails(headers.accept);
    return reply.respond(inDetails ? respondWithProblemDetails(problem, originalUrl) : respondWithProblemText(problem));
  });
  server.setNotFoundHandler(({ method, originalUrl, headers }, reply) => {
    const redirect = redirectToPage(method, originalUrl, headers.accept);
    if (redirect) return reply.respond(redirect);
    throw new ProblemError("PathNotFound", "this path does not exist. For the endpoints, see /openapi.json", {
      text: "404 page not found",
    });
  });
}

/**
 * Registers a 405 response for all methods that a path does not support, because fastify would
 * respond with 404.
 */
export function registerOtherMethods(server: CatalogServer, routes: readonly CatalogRoute[]): void {
  for (const [url, samePath] of Map.groupBy(routes, (route) => route.url)) {
    const methods = samePath.flatMap(listMethods);
    const failures = samePath.every(({ config }) => config.failures === "problem") ? "problem" : "text";
    const text = "Method Not Allowed";
    // The Go server does not send Allow.
    const headers = failures === "problem" ? { allow: methods.join(", ") } : {};
    server.route({
      method: server.supportedMethods.filter((method) => method !== "CONNECT" && !methods.includes(method)),
      url,
      config: { failures },
      handler: () => {
        throw new ProblemError("MethodNotAllowed", `this path supports ${methods.join(", ")}`, { text, headers });
      },
    });
  }
}
