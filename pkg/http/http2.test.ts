import { once } from "node:events";
import { connect, createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { queryObjects } from "node:v8";
import { afterEach, expect, test, vi } from "vitest";
import { serverCertificate } from "../../test/support/serverCertificate.ts";
import { openConnections } from "./connections.ts";
import type { Connections } from "./types.ts";

const WATCHES = 50;
const TIMEOUT_MS = 100;
/** More than the streams on both sides buffer. */
const LARGE = 2 * 1024 * 1024;

let server: Http2SecureServer | undefined;
let connections: Connections | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  await connections?.destroy();
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
});

async function serve(answer: (stream: ServerHttp2Stream) => void): Promise<{ url: URL; opened: Connections }> {
  server = createSecureServer(await serverCertificate("127.0.0.1"));
  server.on("connection", (socket: Socket) => sockets.push(socket));
  server.on("stream", (stream) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200 });
    answer(stream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  connections = openConnections({ tls: { rejectUnauthorized: false }, keepAliveMs: 10_000, http2: true });
  return { url, opened: connections };
}

/** Returns the class of client streams, which Node.js does not export. */
function getStreamClass(url: URL): new () => unknown {
  const session = connect(url.origin, { rejectUnauthorized: false }).on("error", () => undefined);
  const { constructor } = session.request().on("error", () => undefined);
  session.destroy();
  return constructor as new () => unknown;
}

test("an HTTP/2 body fails with an error code when the server sends nothing in time", async () => {
  const { url, opened } = await serve((stream) => void stream.write("begun"));
  const { body } = await opened.request(url, { method: "GET", bodyTimeoutMs: TIMEOUT_MS });
  await expect(text(body)).rejects.toMatchObject({ code: "UND_ERR_BODY_TIMEOUT" });
});

test("an HTTP/2 body does not fail when each pause of the server is short", async () => {
  const { url, opened } = await serve((stream) => {
    void (async () => {
      for (let i = 0; i < 6; i++) {
        stream.write("x");
        await sleep(TIMEOUT_MS / 2);
      }
      stream.end();
    })();
  });
  const { body } = await opened.request(url, { method: "GET", bodyTimeoutMs: TIMEOUT_MS });
  expect(await text(body)).toBe("xxxxxx");
});

test("an HTTP/2 body does not fail when its reader pauses", async () => {
  const { url, opened } = await serve((stream) => void stream.end(Buffer.alloc(LARGE, "x")));
  const { body } = await opened.request(url, { method: "GET", bodyTimeoutMs: TIMEOUT_MS });
  await once(body, "readable");
  await sleep(3 * TIMEOUT_MS);
  expect((await text(body)).length).toBe(LARGE);
});

test("HTTP/2 streams leave memory when their connection breaks", async () => {
  let answered = 0;
  const { url, opened } = await serve((stream) => void stream.write("begun", () => answered++));
  const Stream = getStreamClass(url);
  const before = queryObjects(Stream, { format: "count" });
  const read = async (): Promise<string> => text((await opened.request(url, { method: "GET", bodyTimeoutMs: 600_000 })).body);
  const pending = Array.from({ length: WATCHES }, read);
  await vi.waitFor(() => expect(answered).toBe(WATCHES));
  await sleep(TIMEOUT_MS);
  for (const socket of sockets) socket.destroy();
  for (const outcome of await Promise.allSettled(pending)) expect(outcome.status).toBe("rejected");
  await vi.waitFor(() => expect(queryObjects(Stream, { format: "count" }) - before).toBeLessThan(WATCHES / 2));
});
