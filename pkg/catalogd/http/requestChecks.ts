import type { FastifyReply } from "fastify";
import type { Exchanges } from "./exchanges.ts";
import { ProblemError } from "./problem.ts";
import type { CatalogServer } from "./route.ts";
import type { ServerLimits } from "./serverLimits.ts";

/** Dependencies of the request checks. */
export interface RequestChecksInit {
  limits: Pick<ServerLimits, "requests" | "urlLength" | "queryPieces">;
  exchanges: Pick<Exchanges, "underWay">;
}

/**
 * Adds the hook that checks every request before its handler runs. Rejects URLs that are too long
 * and requests beyond the concurrency limit, and redirects to the clean form of a path.
 */
export function registerRequestChecks(server: CatalogServer, { limits, exchanges }: RequestChecksInit): void {
  server.addHook("onRequest", ({ method, originalUrl: url, raw, routeOptions: { config }, exchange }, reply, done) => {
    if (exchanges.underWay > limits.requests) throw createOverloadedError();
    if (url.length > limits.urlLength)
      throw new ProblemError("UrlTooLong", `the URL is too long: ${url.length} characters, maximum ${limits.urlLength}`);
    if (url === "*" && method === "OPTIONS") {
      reply.header("content-length", 0).send();
      return;
    }
    const { path, query } = requestTarget(url);
    const clean = cleanPath(path);
    if (clean !== path) {
      redirect(reply, method, url.includes("?") ? `${clean}?${query}` : clean);
      return;
    }
    // The router cannot parse the URL, see `onBadUrl` of the server.
    if (url === "*" || url !== raw.url) throw new ProblemError("BadRequest", "400 Bad Request");
    exchange.route = config.url;
    if (config.operation && hasMore(query, "&", limits.queryPieces))
      throw new ProblemError("InvalidQuery", `the query has too many parameters: maximum ${limits.queryPieces}`);
    done();
  });
}

/** Creates the error for a request beyond the limit of requests in progress. */
export function createOverloadedError(): ProblemError {
  return new ProblemError("Overloaded", "too many requests are in progress. Try again later", { headers: { "retry-after": 1 } });
}

/**
 * Returns the path and the query (without its `?`) of a request target, as received. For an
 * absolute URL, as sent to proxies, uses only the part after the host.
 */
function requestTarget(url: string): { readonly path: string; readonly query: string } {
  const local = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const mark = local.indexOf("?");
  return mark < 0 ? { path: local, query: "" } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}

/** Returns the path without empty, `.` and `..` segments, like Go's mux. Keeps a trailing slash. */
function cleanPath(path: string): string {
  if (!path.startsWith("/") || !(path.includes("//") || path.includes("/."))) return path;
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  const slash = segments.length > 0 && path.endsWith("/") ? "/" : "";
  return `/${segments.join("/")}${slash}`;
}

/** Redirects to the clean form of a path. @see Go 1.26 net/http/server.go, Redirect */
function redirect(reply: FastifyReply, method: string, location: string): FastifyReply {
  reply.code(307).header("location", location);
  if (method !== "GET" && method !== "HEAD") return reply.header("content-length", 0).send();
  const target = location
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&#34;")
    .replaceAll("'", "&#39;");
  return reply.type("text/html; charset=utf-8").send(Buffer.from(`<a href="${target}">Temporary Redirect</a>.\n\n`));
}

/** Returns whether a text contains a character more often than `count` times. */
function hasMore(text: string, character: string, count: number): boolean {
  let at = -1;
  for (let i = 0; i < count; i++) {
    at = text.indexOf(character, at + 1);
    if (at < 0) return false;
  }
  return true;
}
