import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";

import { afterEach, expect, test } from "vitest";
import { openConnections } from "./connections.ts";
import type { Connections } from "./types.ts";

const opened: (Server | Connections)[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) {
    if ("closeAllConnections" in one) {
      one.close();
      one.closeAllConnections();
    } else await one.destroy();
  }
});

async function serve(listener: RequestListener): Promise<{ url: URL; server: Server }> {
  const server = createServer(listener);
  opened.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), server };
}

function connections(options: Partial<Parameters<typeof openConnections>[0]> = {}): Connections {
  const made = openConnections({ tls: {}, keepAliveMs: 10_000, ...options });
  opened.push(made);
  return made;
}

test("a DELETE request with a body has header Content-Length", async () => {
  const { url } = await serve((request: IncomingMessage, response: ServerResponse) => {
    void text(request).then((body) => response.end(`${request.headers["content-length"]} ${body}`));
  });
  const { body } = await connections().request(url, { method: "DELETE", body: "ä" });
  expect(await text(body)).toBe("2 ä");
});

test("a header that was sent several times is an array", async () => {
  const { url } = await serve((_request, response) =>
    response.setHeader("warning", ["299 - one", "299 - two"]).setHeader("etag", "x").end(),
  );
  const { headers, body } = await connections().request(url, { method: "GET" });
  await body.dump();
  expect(headers).toMatchObject({ warning: ["299 - one", "299 - two"], etag: "x" });
});

test("a connection is reused when the previous response was read or dumped", async () => {
  const { url, server } = await serve((_request, response) => response.end("x".repeat(1_000)));
  let sockets = 0;
  server.on("connection", () => sockets++);
  const kept = connections();
  await (await kept.request(url, { method: "GET" })).body.dump();
  await text((await kept.request(url, { method: "GET" })).body);
  await (await kept.request(url, { method: "GET" })).body.dump();
  expect(sockets).toBe(1);
});

test("a request fails with the abort reason when its signal aborts before the response", async () => {
  const { url } = await serve(() => undefined);
  const stop = new AbortController();
  const reason = new Error("no receiver");
  const pending = connections().request(url, { method: "GET", signal: stop.signal });
  stop.abort(reason);
  await expect(pending).rejects.toBe(reason);
});

test("a body ends with the abort reason when the signal aborts while the body is read", async () => {
  const { url } = await serve((_request, response) => void response.write("begun"));
  const stop = new AbortController();
  const { body } = await connections().request(url, { method: "GET", signal: stop.signal });
  await once(body, "readable");
  const reason = new Error("no receiver");
  stop.abort(reason);
  await expect(text(body)).rejects.toBe(reason);
});

test("a body ends with an error when the server cuts the connection before the body is read", async () => {
  const { url } = await serve((_request, response) => {
    response.writeHead(200, { "content-length": "100" }).write("begun");
    setImmediate(() => response.destroy());
  });
  const { body } = await connections().request(url, { method: "GET" });
  await new Promise((resolve) => body.once("close", resolve));
  await expect(text(body)).rejects.toMatchObject({ code: "ECONNRESET" });
});

test.each([
  ["a server that does not respond", () => undefined, { headersTimeoutMs: 50 }, "UND_ERR_HEADERS_TIMEOUT"],
  ["a body that stops", (response: ServerResponse) => void response.write("begun"), { bodyTimeoutMs: 50 }, "UND_ERR_BODY_TIMEOUT"],
] as const)("a request fails with an error code because of %s", async (_what, answer, limits, code) => {
  const { url } = await serve((_request, response) => answer(response));
  const read = async (): Promise<string> => text((await connections().request(url, { method: "GET", ...limits })).body);
  await expect(read()).rejects.toMatchObject({ code });
});

test("a request fails with an error code when the connection is not ready in time", async () => {
  // Accepts connections but never starts a TLS handshake.
  const silent = createTcpServer(() => undefined);
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const url = new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
  await expect(connections({ connectTimeoutMs: 50 }).request(url, { method: "GET" })).rejects.toMatchObject({
    code: "UND_ERR_CONNECT_TIMEOUT",
  });
  silent.close();
});

test("a request succeeds when the connection takes longer than an idle connection stays open", async () => {
  const { url } = await serve((_request, response) => response.end("found"));
  const slow: LookupFunction = (_host, { all }, found) => {
    const answer = (): void => (all === true ? found(null, [{ address: "127.0.0.1", family: 4 }]) : found(null, "127.0.0.1", 4));
    setTimeout(answer, 200);
  };
  url.hostname = "slow.example";
  const { body } = await connections({ keepAliveMs: 50, connectTimeoutMs: 5_000, lookup: slow }).request(url, { method: "GET" });
  expect(await text(body)).toBe("found");
});

test("a connection is closed when it was idle for the keep-alive time", async () => {
  const { url, server } = await serve((_request, response) => response.end("x"));
  const closed = new Promise((resolve) => server.once("connection", (socket) => socket.once("close", resolve)));
  const { body } = await connections({ keepAliveMs: 50 }).request(url, { method: "GET" });
  await text(body);
  await closed;
});

test("a body fails with an error code when it stops after its reader paused longer than the limit", async () => {
  const { url } = await serve((_request, response) => void response.write("x".repeat(1_000_000)));
  const { body } = await connections().request(url, { method: "GET", bodyTimeoutMs: 300 });
  await once(body, "readable");
  await once((body as unknown as IncomingMessage).socket, "timeout");
  await expect(text(body)).rejects.toMatchObject({ code: "UND_ERR_BODY_TIMEOUT" });
}, 10_000);

test.for<[when: string, answer: (request: IncomingMessage, response: ServerResponse) => unknown]>([
  ["the server resets the connection", (request) => request.socket.resetAndDestroy()],
  ["the server responds early and closes the connection", (_request, response) => response.writeHead(413, { connection: "close" }).end()],
])("the source of a body is closed when %s within the upload", async ([, answer]) => {
  const { url } = await serve((request, response) => void request.once("data", () => answer(request, response)));
  const closed = Promise.withResolvers<void>();
  async function* chunks(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield await Promise.resolve(Buffer.alloc(65_536));
    } finally {
      closed.resolve();
    }
  }
  const body = Readable.from(chunks(), { objectMode: false });
  const uploading = connections().request(url, { method: "PUT", body });
  await uploading.then(({ body }) => body.dump()).catch(() => undefined);
  await closed.promise;
});

test("closing connections lets a response in progress complete", async () => {
  const { url, server } = await serve((_request, response) => void response.write("begun, "));
  const kept = connections();
  let answering: ServerResponse | undefined;
  server.on("request", (_request, response: ServerResponse) => {
    answering = response;
  });
  const { body } = await kept.request(url, { method: "GET" });
  await kept.close();
  answering?.end("ended");
  expect(await text(body)).toBe("begun, ended");
});
