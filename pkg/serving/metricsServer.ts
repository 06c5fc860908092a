import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { messageOf } from "../errors/errors.ts";
import { parseBindAddress } from "../telemetry/health.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { AccessReviews } from "./accessReviews.ts";
import type { TlsFiles } from "./tlsFiles.ts";

/** What the metrics server is built from. */
export interface MetricsServerInit {
  /** ":8443", "127.0.0.1:0"; "0" serves nothing. */
  bindAddress: string;
  tls: TlsFiles;
  metrics: Pick<Metrics, "text" | "contentType">;
  reviews: Pick<AccessReviews, "check">;
  log: Logger;
}

/** A running metrics server; `url` is empty when nothing is served. */
export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

const PATH = "/metrics";
const HANDSHAKE_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 128;

/**
 * Serves /metrics over HTTPS to those whom RBAC gives the verb get (for HEAD requests: head) on that path: 401 without a token that the API
 * server knows, 403 without the right. A renewed certificate is used for new connections.
 * @throws Error when the address cannot be listened on.
 * @see sigs.k8s.io/controller-runtime pkg/metrics/server
 */
export async function startMetricsServer(init: MetricsServerInit): Promise<MetricsServer> {
  const { bindAddress, tls, log } = init;
  if (bindAddress === "0" || bindAddress === "") return { url: "", close: () => Promise.resolve() };
  const timeouts = { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer({ ...tls.current, ...timeouts }, (request, response) => {
    void answer(request, response, init).catch((err: unknown) => {
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

async function answer(request: IncomingMessage, response: ServerResponse, { metrics, reviews }: MetricsServerInit): Promise<void> {
  const { method = "" } = request;
  request.resume();
  if (request.url?.split("?", 1)[0] !== PATH) return refuse(response, 404, "404 page not found");
  if (method !== "GET" && method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    return refuse(response, 405, "Method Not Allowed");
  }
  const verdict = await reviews.check(request.headers.authorization, { verb: method.toLowerCase(), path: PATH });
  if (!verdict.allowed) return refuse(response, verdict.status, verdict.text);
  const text = Buffer.from(await metrics.text());
  response.writeHead(200, { "content-type": metrics.contentType, "content-length": text.length });
  response.end(method === "HEAD" ? undefined : text);
}

/** An answer as Go's http.Error writes it. */
function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
  response.end(`${text}\n`);
}
