import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { queryObjects } from "node:v8";
import { expect, test, vi } from "vitest";
import { serverCertificate } from "../../test/support/serverCertificate.ts";
import { openConnections } from "./connections.ts";

const CLIENTS = 8;

test.for([
  ["HTTP/1.1", false],
  ["HTTP/2", true],
] as const)("connections of the client for %s share one TLS context when they are open at the same time", async ([, http2]) => {
  const { cert, key } = await serverCertificate("127.0.0.1");
  const waiting: ServerResponse[] = [];
  // Serves HTTP/1.1 only, so that each request needs a connection.
  const server = createServer({ cert, key }, (_request, response) => void waiting.push(response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const connections = openConnections({ tls: { ca: cert }, keepAliveMs: 10_000, http2 });
  const { constructor: Context } = createSecureContext() as SecureContext & { constructor: new () => unknown };
  try {
    const before = queryObjects(Context, { format: "count" });
    const pending = Array.from({ length: CLIENTS }, () => connections.request(url, { method: "GET" }));
    await vi.waitFor(() => expect(waiting).toHaveLength(CLIENTS));
    expect(queryObjects(Context, { format: "count" }) - before).toBeLessThanOrEqual(1);
    for (const response of waiting) response.end();
    for (const { statusCode } of await Promise.all(pending)) expect(statusCode).toBe(200);
  } finally {
    await connections.destroy();
    server.close();
  }
});

test.for([
  ["HTTP/1.1", false],
  ["HTTP/2", true],
] as const)("a request of the client for %s fails when the client certificate is invalid", async ([, http2]) => {
  const connections = openConnections({ tls: { cert: "invalid", key: "invalid" }, keepAliveMs: 10_000, http2 });
  await expect(connections.request(new URL("https://127.0.0.1:1/"), { method: "GET" })).rejects.toThrow("PEM");
  await connections.destroy().catch(() => undefined);
});
