import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { messageOf } from "../errors/errors.ts";
import { parseBindAddress } from "../telemetry/health.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { AccessReviews } from "./accessReviews.ts";
import type { ServerTls } from "./serverTls.ts";

/** What the metrics server is built from. */
export interface MetricsServerInit {
  /** ":8443", "127.0.0.1:0"; "0" serves nothing. */
  bindAddress: string;
  tls: ServerTls;
  metrics: Pick<Metrics, "text" | "contentType">;
  reviews: Pick<AccessReviews, "check">;
  log: Logger;
  /** Served beside the metrics. */
  pages?: readonly Page[];
}

/** Answers for all paths below one. */
export interface Page {
  /** Begins and ends with a slash. */
  readonly prefix: string;
  /** @param name what follows the prefix: the name of an object, at most 253 characters. */
  answer(name: string, signal: AbortSignal): Promise<PageAnswer>;
}

/** JSON, or an HTTP status with the text to answer with. */
export type PageAnswer = { readonly json: unknown } | { readonly status: 404 | 503; readonly text: string };

/** A running metrics server; `url` is empty when nothing is served. */
export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

const PATH = "/metrics";
const HANDSHAKE_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 128;
/** Answers of pages that may be under way at once: they may have to read from other servers. */
const MAX_PAGES = 8;
/** No name of an object is longer, or written with other characters. */
const MAX_NAME = 253;
const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/**
 * Serves /metrics over HTTPS to those whom RBAC gives the verb get (for HEAD requests: head) on that path: 401 without a token that the API
 * server knows, 403 without the right. Pages are served in the same way, each path with a right of its own. A renewed certificate is used for
 * new connections.
 * @throws Error when the address cannot be listened on.
 * @see sigs.k8s.io/controller-runtime v0.24.1 pkg/metrics/server
 */
export async function startMetricsServer(init: MetricsServerInit): Promise<MetricsServer> {
  const { bindAddress, tls, log } = init;
  if (bindAddress === "0" || bindAddress === "") return { url: "", close: () => Promise.resolve() };
  const timeouts = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const answer = answerFrom(init);
  const server = createServer({ ...tls.current, ...timeouts }, (request, response) => {
    void answer(request, response).catch((err: unknown) => {
      log.error({ reason: messageOf(err) }, "metrics could not be served");
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

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

function answerFrom({ metrics, reviews, pages = [] }: MetricsServerInit): Answer {
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
    const asked = path === PATH ? "metrics" : pageOf(path, pages);
    if (!asked) return refuse(response, 404, "404 page not found");
    if (method !== "GET" && method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return refuse(response, 405, "Method Not Allowed");
    }
    const verdict = await reviews.check(request.headers.authorization, { verb: method.toLowerCase(), path });
    if (!verdict.allowed) return refuse(response, verdict.status, verdict.text);
    if (asked === "metrics") return send(response, method, metrics.contentType, await metrics.text());
    const found = await pageText(asked.page, asked.name);
    if ("status" in found) return refuse(response, found.status, found.text);
    response.setHeader("cache-control", "no-store");
    send(response, method, "application/json", found.text);
  };
}

/** The page that a path is of. A path is taken as it is written, since the API server is asked about it that way. */
function pageOf(path: string, pages: readonly Page[]): { page: Page; name: string } | undefined {
  const page = pages.find(({ prefix }) => path.startsWith(prefix));
  const name = page ? path.slice(page.prefix.length) : "";
  return page && NAME.test(name) && name.length <= MAX_NAME ? { page, name } : undefined;
}

function send(response: ServerResponse, method: string, contentType: string, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(200, { "content-type": contentType, "content-length": body.length });
  response.end(method === "HEAD" ? undefined : body);
}

/** An answer as Go's http.Error writes it. */
function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
  response.end(`${text}\n`);
}
