import { createHash } from "node:crypto";
import { ServerResponse } from "node:http";
import { gunzipSync, gzipSync, zstdDecompressSync } from "node:zlib";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { createLogger } from "../../telemetry/log.ts";
import { CatalogStore } from "../catalogStore.ts";
import { MAKER } from "../store/encodings.ts";
import { type ContentServer, startContentServer } from "./contentServer.ts";

const B =
  '{"image":"quaydock.io/namespace/bundle:0.0.3","name":"bundle.v0.0.1","package":"webhook_operator_test","properties":[{"type":"olm.bundle.object","value":{"data":"dW5pbXBvcnRhbnQK"}},{"type":"some.other","value":{"data":"arbitrary-info"}}],"relatedImages":[{"image":"testimage:latest","name":"test"}],"schema":"olm.bundle"}\n';
const P = '{"defaultChannel":"preview_test","name":"webhook_operator_test","schema":"olm.package"}\n';
const C = '{"entries":[{"name":"bundle.v0.0.1"}],"name":"preview_test","package":"webhook_operator_test","schema":"olm.channel"}\n';
const OTHER = '{"schema":"xy"}\n';
const LINES = { B, P, C };
/** Larger than the cache limit, and not contiguous: objects of another package are in between. */
const LARGE = Array.from(
  { length: 6 },
  (_, i) =>
    `{"name":"l${i}","package":"large","schema":"big","text":"${"x".repeat(1_000_000)}"}\n{"name":"s${i}","package":"small","schema":"big"}\n`,
);
/** Larger than the cache limit, in many short lines that are not contiguous. */
const MIXED = Array.from({ length: 80_000 }, (_, i) =>
  ["a", "b"].map((name) => `{"name":"${name}","package":"${name}","schema":"mixed","value":"${String(i).padStart(8, "0")}"}\n`),
);
const DIGEST = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const log = createLogger({ component: "test", level: "silent" });

const folder = new TempFolder();
const agent = new Agent({ keepAliveTimeout: 1_000 });
let store: CatalogStore;
let server: ContentServer;

beforeAll(async () => {
  store = await CatalogStore.open({ dir: `${folder.path}/catalogs`, log });
  const origin = { ref: `registry.example/catalog@${DIGEST}`, digest: DIGEST, lastUnpacked: "2026-02-03T04:05:06Z" };
  const signal = new AbortController().signal;
  await store.store("test-catalog", folder.write("a", { "bundle.json": B, "channel.yaml": P + C + OTHER }), origin, signal);
  await store.store("empty", folder.write("b", {}), origin, signal);
  await store.store("large", folder.write("c", { "large.json": LARGE.join("") }), origin, signal);
  await store.store("mixed", folder.write("d", { "mixed.json": MIXED.flat().join("") }), origin, signal);
  await store.settled();
  server = await startContentServer({ host: "127.0.0.1", port: 0 }, { source: store, log });
});

afterAll(async () => {
  await server.close();
  await store.close();
  await agent.close();
  folder[Symbol.dispose]();
});

type Headers = Record<string, string>;
interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

async function call(method: string, path: string, headers: Headers = {}): Promise<Got> {
  const url = `http://127.0.0.1:${server.address.port}${path}`;
  const response = await request(url, { method: method as "GET", headers, dispatcher: agent });
  return { status: response.statusCode, headers: response.headers, body: Buffer.from(await response.body.arrayBuffer()) };
}
const get = (path: string, headers: Headers = {}): Promise<Got> => call("GET", path, headers);

const BASE = "/catalogs/test-catalog/api/v1";
const LAST_MODIFIED = "Tue, 03 Feb 2026 04:05:06 GMT";
const WHOLE = B + P + C + OTHER;

describe("routes", () => {
  test.for([
    "",
    "/",
    "/catalogs/",
    "/catalogs/test-catalog/",
    "/catalogs/test-catalog/api/",
    BASE,
    "/catalogs/test-catalog/non-existent.txt",
    "/catalogs/test-catalog.jsonl",
    `${BASE}/all/`,
    `${BASE}/graphql/`,
    "/nothing",
  ])("server returns 404 for path %s", async (path) => {
    for (const method of ["GET", "POST", "DELETE"]) {
      const { status, headers, body } = await call(method, path === "" ? "/" : path);
      expect([status, body.toString()]).toEqual([404, "404 page not found\n"]);
      expect(headers).toMatchObject({
        "content-type": "text/plain; charset=utf-8",
        "x-content-type-options": "nosniff",
        vary: "Accept-Encoding",
      });
    }
  });

  test.for(["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"])(
    "server returns 405 for method %s before any other check",
    async (method) => {
      for (const path of [`${BASE}/all`, `${BASE}/metas?x=y`, "/catalogs/unknown/api/v1/all", "/catalogs/BAD/api/v1/metas"]) {
        const { status, headers, body } = await call(method, path);
        expect([status, body.toString(), headers["allow"]]).toEqual([405, "Method Not Allowed\n", undefined]);
      }
    },
  );

  test("server returns 400 for a URL with an invalid escape", async () => {
    const { status, body } = await rawGet("/catalogs/%zz/api/v1/all");
    expect([status, body]).toEqual([400, "400 Bad Request\n"]);
  });

  test.for(["application/json", "nonsense"])("server does not parse a POST body of type %s", async (type) => {
    const url = `http://127.0.0.1:${server.address.port}${BASE}/all`;
    const response = await request(url, { method: "POST", body: "{nonsense", headers: { "content-type": type }, dispatcher: agent });
    expect([response.statusCode, await response.body.text()]).toEqual([405, "Method Not Allowed\n"]);
  });

  test("problem details of an invalid query contain the parameter name", async () => {
    const { status, body } = await get(`${BASE}/metas?other=1`, { accept: "application/problem+json" });
    expect([status, body.toString()]).toEqual([
      400,
      expect.stringContaining(String.raw`unknown parameter \"other\" (supported: schema, package, name)`),
    ]);
  });

  test.for(["/catalogs/unknown/api/v1/all", "/catalogs/unknown/api/v1/metas?schema=a"])(
    "%s returns 404 because the catalog is unknown",
    async (path) => {
      const { status, body, headers } = await get(path);
      expect([status, body.toString(), headers["vary"]]).toEqual([404, "404 Not Found\n", "Accept-Encoding"]);
    },
  );

  test.for([
    ["/catalogs/UPPER/api/v1/all", "a lowercase RFC 1123 subdomain must consist of"],
    ["/catalogs/a%2fb/api/v1/all", "a lowercase RFC 1123 subdomain must consist of"],
    ["/catalogs/-a/api/v1/metas?bad=1", "a lowercase RFC 1123 subdomain must consist of"],
    [`/catalogs/${"a".repeat(254)}/api/v1/all`, "must be no more than 253 characters\n"],
    [`/catalogs/${"A".repeat(254)}/api/v1/all`, "must be no more than 253 characters; a lowercase RFC"],
  ] as const)("%s returns 400 because the catalog name is invalid", async ([path, text]) => {
    const { status, body } = await get(path);
    expect(status).toBe(400);
    expect(body.toString()).toContain(`invalid catalog name: ${text}`);
    expect(body.toString().endsWith("\n")).toBe(true);
  });

  test.for([
    ["//catalogs/test-catalog/api/v1/all", "/catalogs/test-catalog/api/v1/all"],
    ["/catalogs/test-catalog/./api/v1/all?a=b&c", "/catalogs/test-catalog/api/v1/all?a=b&c"],
    ["/catalogs/x/../test-catalog/api/v1/all", "/catalogs/test-catalog/api/v1/all"],
    ["/catalogs/./api/v1/all", "/catalogs/api/v1/all"],
    ["/catalogs//api/v1/all", "/catalogs/api/v1/all"],
    ["/catalogs/a//", "/catalogs/a/"],
  ] as const)("%s redirects to %s", async ([path, location]) => {
    const found = await rawGet(path);
    expect([found.status, found.headers["location"], found.headers["content-type"]]).toEqual([307, location, "text/html; charset=utf-8"]);
    expect(found.body).toBe(`<a href="${location.replaceAll("&", "&amp;")}">Temporary Redirect</a>.\n\n`);
    const posted = await rawGet(path, "POST");
    expect([posted.status, posted.headers["location"], posted.body]).toEqual([307, location, ""]);
  });
});

/** Sends the path unchanged; HTTP clients would normalize it. */
async function rawGet(path: string, method = "GET"): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  const { request: plain } = await import("node:http");
  return new Promise((resolve, reject) => {
    const sent = plain({ host: "127.0.0.1", port: server.address.port, path, method, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.on("error", reject).end();
  });
}

describe("metas", () => {
  test.for<[string, (keyof typeof LINES)[]]>([
    ["?schema=olm.package", ["P"]],
    ["?schema=olm.package&name=webhook_operator_test", ["P"]],
    ["?schema=olm.channel&package=webhook_operator_test", ["C"]],
    ["?schema=olm.bundle&package=webhook_operator_test&name=bundle.v0.0.1", ["B"]],
    ["?schema=olm.package&name=not-present", []],
    ["?package=webhook_operator_test&name=bundle.v0.0.1", ["B"]],
    ["?name=webhook_operator_test", ["P"]],
    ["?schema=non_existent_schema", []],
    ["?package=webhook_operator_test", ["B", "C"]],
    ["?schema=olm.bundle&&schema=olm.channel", ["B"]],
    ["?%73chema=olm%2Epackage", ["P"]],
    ["?schema=OLM.package", []],
    ["?schema=olm.channel&package=&name", ["C"]],
  ])("metas endpoint returns the objects that match query %s", async ([query, names]) => {
    const { status, headers, body } = await get(`${BASE}/metas${query}`);
    const want = names.map((name) => LINES[name]).join("");
    expect([status, body.toString()]).toEqual([200, want]);
    expect(headers).toMatchObject({
      "content-type": "application/jsonl",
      "last-modified": LAST_MODIFIED,
      "content-length": String(want.length),
    });
    const head = await call("HEAD", `${BASE}/metas${query}`);
    expect([head.status, head.body.length, head.headers["content-type"], head.headers["content-length"]]).toEqual([
      200,
      0,
      "application/jsonl",
      undefined,
    ]);
    for (const method of ["POST", "PUT", "DELETE"]) expect((await call(method, `${BASE}/metas${query}`)).status).toBe(405);
  });

  test.for(["", "?", "?schema=", "?schema&package=&name="])(
    "metas endpoint with query %j returns the whole catalog, including objects of unknown schemas",
    async (query) => {
      const { status, body, headers } = await get(`${BASE}/metas${query}`, { range: "bytes=0-1" });
      expect([status, body.toString(), headers["accept-ranges"]]).toEqual([200, WHOLE, undefined]);
    },
  );

  test.for(["?non-existent=foo", "?schema=a&x", "?Schema=a", "?schema=%zz", "?schema=olm.package;name=x", "?=a"])(
    "metas endpoint returns 400 for query %s",
    async (query) => {
      const { status, body, headers } = await get(`${BASE}/metas${query}`);
      expect([status, body.toString(), headers["content-type"]]).toEqual([400, "400 Bad Request\n", "text/plain; charset=utf-8"]);
      expect((await get(`/catalogs/unknown/api/v1/metas${query}`)).status).toBe(400);
    },
  );

  test("metas endpoint returns all matching lines when the response is too large for the cache", async () => {
    const { body, headers } = await get("/catalogs/large/api/v1/metas?package=large");
    const want = LARGE.map((pair) => pair.slice(0, pair.indexOf("\n") + 1)).join("");
    expect(body.length).toBe(want.length);
    expect(body.toString()).toBe(want);
    expect(headers["content-length"]).toBe(String(want.length));
    expect((await get("/catalogs/large/api/v1/metas?package=small")).body.toString().split("\n")).toHaveLength(7);
  });

  test.for(["identity", "gzip"])(
    "metas endpoint joins many short lines to few writes when they are not contiguous, with %s",
    async (encoding) => {
      using write = vi.spyOn(ServerResponse.prototype, "write");
      const { body, headers } = await get("/catalogs/mixed/api/v1/metas?package=a", { "accept-encoding": encoding });
      expect(headers["content-length"]).toBe(String(body.length));
      const text = encoding === "gzip" ? gunzipSync(body) : body;
      expect(text.equals(Buffer.from(MIXED.map(([a]) => a).join("")))).toBe(true);
      expect(write.mock.calls.length).toBeLessThan(100);
    },
  );
});

describe("all", () => {
  test("all endpoint returns the stored file", async () => {
    const { status, headers, body } = await get(`${BASE}/all?anything=1`);
    expect([status, body.toString()]).toEqual([200, WHOLE]);
    expect(headers).toMatchObject({
      "content-type": "application/jsonl",
      "last-modified": LAST_MODIFIED,
      "accept-ranges": "bytes",
      "content-length": String(WHOLE.length),
      "olm-catalog-digest": DIGEST,
      etag: expect.stringMatching(/^"[\w-]{22}"$/),
    });
    const head = await call("HEAD", `${BASE}/all`, { "accept-encoding": "gzip" });
    expect(head.body).toHaveLength(0);
    const connection = { date: "", connection: "", "keep-alive": "" };
    expect({ ...head.headers, ...connection }).toEqual({ ...headers, ...connection });
  });

  test("all endpoint returns an empty body for an empty catalog, and ignores ranges", async () => {
    const { status, body } = await get("/catalogs/empty/api/v1/all");
    expect([status, body.length]).toEqual([200, 0]);
    expect((await get("/catalogs/empty/api/v1/all", { range: "bytes=0-1" })).status).toBe(200);
    expect((await get("/catalogs/empty/api/v1/metas?schema=a")).status).toBe(200);
  });

  test.for<[range: string, status: number, start: number, end: number]>([
    ["bytes=0-9", 206, 0, 10],
    ["bytes=10-", 206, 10, WHOLE.length],
    ["bytes=-5", 206, WHOLE.length - 5, WHOLE.length],
    ["bytes=-99999999", 206, 0, WHOLE.length],
    [`bytes=${WHOLE.length - 1}-`, 206, WHOLE.length - 1, WHOLE.length],
    ["bytes=5-99999999", 206, 5, WHOLE.length],
    ["bytes=0-9,0-99999", 200, 0, WHOLE.length],
    ["bytes=", 200, 0, WHOLE.length],
  ])("all endpoint with range %s returns status %i and the requested bytes", async ([range, status, start, end]) => {
    const got = await get(`${BASE}/all`, { range, "accept-encoding": "gzip;q=0.5" });
    expect([got.status, got.body.toString()]).toEqual([status, WHOLE.slice(start, end)]);
    expect(got.headers["content-range"]).toBe(status === 206 ? `bytes ${start}-${end - 1}/${WHOLE.length}` : undefined);
    expect(got.headers["content-encoding"]).toBeUndefined();
  });

  test.for<[range: string, text: string, contentRange: string | undefined]>([
    [`bytes=${WHOLE.length}-`, "invalid range: failed to overlap\n", `bytes */${WHOLE.length}`],
    ["bytes=99999-100000,88888-", "invalid range: failed to overlap\n", `bytes */${WHOLE.length}`],
    ["bytes=-0", "invalid range: failed to overlap\n", `bytes */${WHOLE.length}`],
    ["bytes=9-1", "invalid range\n", undefined],
    ["bytes=a-b", "invalid range\n", undefined],
    ["bytes=-", "invalid range\n", undefined],
    ["lines=0-1", "invalid range\n", undefined],
  ])("all endpoint returns 416 for range %s", async ([range, text, contentRange]) => {
    const got = await get(`${BASE}/all`, { range });
    expect([got.status, got.body.toString(), got.headers["content-range"]]).toEqual([416, text, contentRange]);
    expect(got.headers).toMatchObject({ "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
    expect([got.headers["last-modified"], got.headers["etag"]]).toEqual([undefined, undefined]);
  });

  test("all endpoint ignores ranges when a request has more than 128 ranges", async () => {
    const ranges = (count: number) => ({ range: `bytes=${Array.from({ length: count }, (_, i) => `${i}-${i}`).join(",")}` });
    expect((await get(`${BASE}/all`, ranges(128))).status).toBe(206);
    const { status, body } = await get(`${BASE}/all`, ranges(129));
    expect([status, body.toString()]).toEqual([200, WHOLE]);
  });

  test("all endpoint returns several ranges as multipart/byteranges", async () => {
    const { status, headers, body } = await get(`${BASE}/all`, { range: "bytes=0-3, 10-12,-2" });
    expect(status).toBe(206);
    const boundary = /^multipart\/byteranges; boundary=([\da-f]+)$/.exec(String(headers["content-type"]))?.[1];
    const part = (start: number, end: number): string =>
      `--${boundary}\r\nContent-Range: bytes ${start}-${end - 1}/${WHOLE.length}\r\nContent-Type: application/jsonl\r\n\r\n${WHOLE.slice(start, end)}\r\n`;
    expect(body.toString()).toBe(`${part(0, 4)}${part(10, 13)}${part(WHOLE.length - 2, WHOLE.length)}--${boundary}--\r\n`);
    expect(headers["content-length"]).toBe(String(body.length));
  });

  test("several slow clients receive a large file completely", async () => {
    const want = createHash("sha256").update(LARGE.join("")).digest("hex");
    const slow = async (): Promise<string> => {
      const hash = createHash("sha256");
      const response = await request(`http://127.0.0.1:${server.address.port}/catalogs/large/api/v1/all`, { dispatcher: agent });
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        hash.update(chunk);
        if (Math.random() < 0.1) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return hash.digest("hex");
    };
    expect(await Promise.all([slow(), slow(), slow(), slow()])).toEqual([want, want, want, want]);
  });

  test("a client that disconnects does not affect other clients", async () => {
    const leave = async (): Promise<void> => {
      const response = await request(`http://127.0.0.1:${server.address.port}/catalogs/large/api/v1/all`, { dispatcher: new Agent() });
      response.body.once("data", () => response.body.destroy());
      await new Promise((resolve) => response.body.once("close", resolve).on("error", () => undefined));
    };
    await Promise.all([leave(), leave(), leave()]);
    expect((await get(`${BASE}/all`)).status).toBe(200);
  });
});

describe("compression", () => {
  test("the all endpoint and the metas endpoint without a query return the same compressed file", async () => {
    const { headers, body } = await get("/catalogs/large/api/v1/all", { "accept-encoding": "br, gzip" });
    expect(headers).toMatchObject({
      "content-encoding": "gzip",
      vary: "Accept-Encoding",
      "content-length": String(body.length),
      etag: expect.stringMatching(/-gzip"$/),
    });
    expect(headers["accept-ranges"]).toBeUndefined();
    expect(gunzipSync(body).toString()).toBe(LARGE.join(""));
    expect((await get("/catalogs/large/api/v1/metas", { "accept-encoding": "gzip" })).body.equals(body)).toBe(true);
  });

  test("server compresses query responses of at least 1 KiB", async () => {
    const large = await get("/catalogs/large/api/v1/metas?name=l0", { "accept-encoding": "gzip" });
    expect([large.headers["content-encoding"], gunzipSync(large.body).toString()]).toEqual(["gzip", LARGE[0]?.split("\n")[0] + "\n"]);
    const small = await get(`${BASE}/metas?schema=olm.package`, { "accept-encoding": "gzip" });
    expect([small.headers["content-encoding"], small.body.toString()]).toEqual([undefined, P]);
    expect((await get(`${BASE}/all`, { "accept-encoding": "gzip" })).headers["content-encoding"]).toBeUndefined();
  });

  test("server sends the whole content as zstd and query responses as gzip when the client accepts both equally", async () => {
    const accept = { "accept-encoding": "gzip, zstd" };
    const whole = await get("/catalogs/large/api/v1/all", accept);
    expect(whole.headers).toMatchObject({ "content-encoding": "zstd", etag: expect.stringMatching(/-zstd"$/) });
    expect(zstdDecompressSync(whole.body).toString()).toBe(LARGE.join(""));
    const line = `${LARGE[0]?.split("\n")[0]}\n`;
    const part = await get("/catalogs/large/api/v1/metas?name=l0", accept);
    expect([part.headers["content-encoding"], gunzipSync(part.body).toString()]).toEqual(["gzip", line]);
    const preferred = await get("/catalogs/large/api/v1/metas?name=l0", { "accept-encoding": "gzip;q=0.5, zstd" });
    expect([preferred.headers["content-encoding"], zstdDecompressSync(preferred.body).toString()]).toEqual(["zstd", line]);
    const beyond = await get("/catalogs/large/api/v1/metas?package=large", { "accept-encoding": "zstd" });
    expect([beyond.headers["content-encoding"], beyond.body.length > 6_000_000]).toEqual([undefined, true]);
  });

  test.for(["gzip;q=0", "identity", "br", "*;q=0, deflate"])(
    "server does not compress a response when Accept-Encoding is %s",
    async (accept) => {
      expect(
        (await get("/catalogs/large/api/v1/metas?name=l0", { "accept-encoding": accept })).headers["content-encoding"],
      ).toBeUndefined();
    },
  );

  test("the compressed file is at most 20% larger than the output of node:zlib", async () => {
    const { headers } = await get("/catalogs/large/api/v1/all", { "accept-encoding": "gzip" });
    expect(Number(headers["content-length"])).toBeLessThan(gzipSync(LARGE.join("")).length * 1.2);
  });
});

describe.each([`${BASE}/all`, `${BASE}/metas?package=webhook_operator_test`])("conditions on %s", (path) => {
  test.for<[string, Headers | ((etag: string) => Headers), number]>([
    ["If-None-Match with the tag", (etag) => ({ "if-none-match": etag }), 304],
    ["If-None-Match with the weak tag", (etag) => ({ "if-none-match": `W/${etag}` }), 304],
    ["If-None-Match with the tag and other tags", (etag) => ({ "if-none-match": `"a", W/"b" , ${etag}` }), 304],
    ["If-None-Match with the tag of the compressed file", (etag) => ({ "if-none-match": etag.replace(/"$/, `.${MAKER.gzip}-gzip"`) }), 304],
    ["If-None-Match with the tag of another compressor version", (etag) => ({ "if-none-match": etag.replace(/"$/, '.before-gzip"') }), 200],
    ["If-None-Match: *", { "if-none-match": "*" }, 304],
    ["If-None-Match with another tag", { "if-none-match": '"x"' }, 200],
    ["invalid If-None-Match", { "if-none-match": "x, *" }, 200],
    ["If-None-Match takes precedence over If-Modified-Since", { "if-none-match": '"x"', "if-modified-since": LAST_MODIFIED }, 200],
    ["If-Modified-Since with the same time", { "if-modified-since": LAST_MODIFIED }, 304],
    ["If-Modified-Since with a later time", { "if-modified-since": "Wednesday, 04-Feb-26 00:00:00 GMT" }, 304],
    ["If-Modified-Since with an earlier time", { "if-modified-since": "Mon Feb  2 04:05:06 2026" }, 200],
    ["invalid If-Modified-Since", { "if-modified-since": "2026-02-03" }, 200],
    ["If-Match with the tag", (etag) => ({ "if-match": etag }), 200],
    ["If-Match with the weak tag", (etag) => ({ "if-match": `W/${etag}` }), 412],
    ["If-Match: *", { "if-match": "*" }, 200],
    ["If-Match with another tag", { "if-match": '"x"' }, 412],
    ["If-Unmodified-Since with the same time", { "if-unmodified-since": LAST_MODIFIED }, 200],
    ["If-Unmodified-Since with an earlier time", { "if-unmodified-since": "Mon, 02 Feb 2026 04:05:06 GMT" }, 412],
    ["invalid If-Unmodified-Since", { "if-unmodified-since": "yesterday" }, 200],
    [
      "If-Match takes precedence over If-Unmodified-Since",
      { "if-match": "*", "if-unmodified-since": "Mon, 02 Feb 2026 04:05:06 GMT" },
      200,
    ],
  ])("conditional request: %s", async ([, headers, status]) => {
    const plain = await get(path);
    const sent = typeof headers === "function" ? headers(String(plain.headers["etag"])) : headers;
    for (const method of ["GET", "HEAD"]) {
      const got = await call(method, path, sent);
      expect(got.status).toBe(status);
      expect(got.headers["last-modified"]).toBe(LAST_MODIFIED);
      if (status === 304)
        expect([got.body.length, got.headers["content-type"], got.headers["content-length"]]).toEqual([0, undefined, undefined]);
      if (status === 412) {
        expect([got.body.length, got.headers["content-length"]]).toEqual([0, "0"]);
        expect(got.headers["content-type"]).toBe(path.endsWith("/all") ? "application/jsonl" : undefined);
      }
    }
  });
});

test.for<[string, (etag: string) => string, number]>([
  ["the tag", (etag) => etag, 206],
  ["the tag of the compressed file", (etag) => etag.replace(/"$/, `.${MAKER.gzip}-gzip"`), 200],
  ["a weak tag", (etag) => `W/${etag}`, 200],
  ["the time", () => LAST_MODIFIED, 206],
  ["another time", () => "Mon, 02 Feb 2026 04:05:06 GMT", 200],
  ["nonsense", () => "x", 200],
])("all endpoint evaluates If-Range with %s", async ([, ifRange, status]) => {
  const etag = String((await get(`${BASE}/all`)).headers["etag"]);
  expect((await get(`${BASE}/all`, { range: "bytes=0-3", "if-range": ifRange(etag) })).status).toBe(status);
});

test("the entity tag of a response changes only when its body changes", async () => {
  const before = (await get(`${BASE}/metas?schema=olm.package`)).headers["etag"];
  const whole = (await get(`${BASE}/all`)).headers["etag"];
  const other = (await get(`${BASE}/metas?schema=olm.bundle`)).headers["etag"];
  expect(new Set([before, whole, other]).size).toBe(3);
  const origin = { ref: "registry.example/catalog@sha256:1", digest: "sha256:1", lastUnpacked: "2026-01-02T03:04:05Z" };
  await store.store(
    "twin",
    folder.write("d", { "all.json": `${P}${B.replace("bundle.v0.0.1", "bundle.v0.0.2")}` }),
    origin,
    new AbortController().signal,
  );
  expect((await get("/catalogs/twin/api/v1/metas?schema=olm.package")).headers["etag"]).toBe(before);
  expect((await get("/catalogs/twin/api/v1/metas?schema=olm.bundle")).headers["etag"]).not.toBe(other);
  await store.remove("twin");
  expect((await get("/catalogs/twin/api/v1/all")).status).toBe(404);
});
