import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getErrorMessage } from "../errors/errors.ts";
import { parseBindAddress } from "../telemetry/health.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { AccessReviews } from "./accessReviews.ts";
import type { ServerTls } from "./serverTls.ts";

/** Options of the metrics server. */
export interface MetricsServerInit {
  /** ":8443", "127.0.0.1:0"; "0" disables the server. */
  bindAddress: string;
  tls: ServerTls;
  metrics: Pick<Metrics, "text" | "contentType">;
  reviews: Pick<AccessReviews, "check">;
  log: Logger;
  /** Pages to serve in addition to the metrics. */
  pages?: readonly Page[];
}

/** Serves all paths with one prefix. */
export interface Page {
  /** Starts and ends with a slash. */
  readonly prefix: string;
  /** @param name the path after the prefix: the name of an object, at most 253 characters. */
  answer(name: string, signal: AbortSignal): Promise<PageResponse>;
}

/** The JSON response, or an HTTP status and the text of the response. */
export type PageResponse = { readonly json: unknown } | { readonly status: 404 | 503; readonly text: string };

/** A running metrics server; `url` is empty if it is disabled. */
export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

const PATH = "/metrics";
const HANDSHAKE_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 128;
/** Maximum number of concurrent page requests, which may read from other servers. */
const MAX_PAGES = 8;
/** Maximum length and allowed characters of an object's name. */
const MAX_NAME = 253;
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/**
 * Serves /metrics over HTTPS to clients with RBAC permission for the verb get (head for HEAD
 * requests) on this path. Responds with 401 unless the API server accepts the client's token, and
 * with 403 if the permission is missing. Pages are served in the same way, each path with its own
 * permission. New connections use a renewed certificate.
 * @throws Error if it cannot listen on the address.
 * @see sigs.k8s.io/controller-runtime v0.24.1 pkg/metrics/server
 */
export async function startMetricsServer(init: MetricsServerInit): Promise<MetricsServer> {
  const { bindAddress, tls, log } = init;
  if (bindAddress === "0" || bindAddress === "") return { url: "", close: () => Promise.resolve() };
  const timeouts = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const answer = createHandler(init);
  const server = createServer({ ...tls.current, ...timeouts }, (request, response) => {
    void answer(request, response).catch((err: unknown) => {
      log.error({ reason: getErrorMessage(err) }, "cannot serve metrics");
      if (response.headersSent) response.destroy();
      else refuse(response, 500, "Internal Server Error");
    });
  });
  server.maxConnections = MAX_CONNECTIONS;
  const { host, port } = parseBindAddress(bindAddress);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const stopReloading = tls.onChange((certificate) => server.setSecureContext(certificate));
  const { address, port: bound, family } = server.address() as AddressInfo;
  return {
    url: `https://${family === "IPv6" ? `[${address}]` : address}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        stopReloading();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function createHandler({ metrics, reviews, pages = [] }: MetricsServerInit): RequestHandler {
  let underWay = 0;
  const pageText = async (page: Page, name: string): Promise<{ text: string } | { status: 404 | 429 | 503; text: string }> => {
    if (underWay >= MAX_PAGES) return { status: 429, text: "Too Many Requests" };
    underWay += 1;
    try {
      const found = await page.answer(name, AbortSignal.timeout(REQUEST_TIMEOUT_MS));
      return "json" in found ? { text: `${JSON.stringify(found.json)}\n` } : found;
    } finally {
      underWay -= 1;
    }
  };
  return async (request, response) => {
    const { method = "" } = request;
    request.resume();
    const path = request.url?.split("?", 1)[0] ?? "";
    const requested = path === PATH ? "metrics" : findPage(path, pages);
    if (!requested) return refuse(response, 404, "404 page not found");
    if (method !== "GET" && method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return refuse(response, 405, "Method Not Allowed");
    }
    const decision = await reviews.check(request.headers.authorization, { verb: method.toLowerCase(), path });
    if (!decision.allowed) return refuse(response, decision.status, decision.text);
    if (requested === "metrics") return send(response, method, metrics.contentType, await metrics.text());
    const found = await pageText(requested.page, requested.name);
    if ("status" in found) return refuse(response, found.status, found.text);
    response.setHeader("cache-control", "no-store");
    send(response, method, "application/json", found.text);
  };
}

/**
 * Returns the page for a path. Does not normalize the path, because the API server reviews the
 * unchanged path.
 */
function findPage(path: string, pages: readonly Page[]): { page: Page; name: string } | undefined {
  const page = pages.find(({ prefix }) => path.startsWith(prefix));
  const name = page ? path.slice(page.prefix.length) : "";
  return page && NAME.test(name) && name.length <= MAX_NAME ? { page, name } : undefined;
}

function send(response: ServerResponse, method: string, contentType: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(200, { "content-type": contentType, "content-length": body.length });
  response.end(method === "HEAD" ? undefined : body);
}

/** Sends an error in the format of Go's http.Error. */
function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
  response.end(`${text}\n`);
}
