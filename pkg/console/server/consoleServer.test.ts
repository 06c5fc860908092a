import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LoopbackApi } from "../../../test/support/loopbackApi.ts";
import { RawConnection } from "../../../test/support/rawConnection.ts";
import { OlmApi, TestConsole } from "../../../test/support/testConsole.ts";
import { TOKEN_HEADER } from "../../consoleapi/session.ts";

const JSON_TYPE = "Content-Type: application/json";
const PAGE = "<title>console</title>";

describe("the console on a laptop", () => {
  let api: LoopbackApi;
  let console: TestConsole;
  let headers: Record<string, string>;
  beforeAll(async () => {
    api = await LoopbackApi.start(new OlmApi().answer);
    console = await TestConsole.start({ credentials: api.credentials(), mode: "laptop" });
    headers = await console.logIn();
  });
  afterAll(async () => {
    await console[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });
  const headerLines = (): string =>
    Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join("\n");

  test("the console serves its pages and reports the user when the browser is logged in", async () => {
    const session = await fetch(`${console.url}/api/session`, { headers });
    expect([session.status, await session.json()]).toMatchObject([200, { user: "kubernetes-admin", mode: "laptop" }]);
    expect(await (await fetch(`${console.url}/extensions/a`)).text()).toContain(PAGE);
  });

  test("the console lists extensions and catalogs when a browser logs in, before a page asks for them", async () => {
    for (const kind of ["clusterextensions", "clustercatalogs"])
      await expect.poll(() => api.requests.map(({ url }) => url)).toContainEqual(expect.stringContaining(`/${kind}?`));
  });

  test.each([
    { what: "no cookie and no token", without: ["cookie", TOKEN_HEADER] },
    { what: "a cookie, but no token of the page", without: [TOKEN_HEADER] },
    { what: "a token of the page, but no cookie", without: ["cookie"] },
  ])("the API rejects a request when it has $what", async ({ without }) => {
    const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !without.includes(name)));
    for (const path of ["/api/session", "/api/events", "/api/installation"]) {
      const response = await fetch(console.url + path, { headers: kept });
      expect([path, response.status, await response.json()]).toMatchObject([path, 401, { kind: "signedOut" }]);
    }
  });

  test("the API rejects a session when its cookie belongs to another one", async () => {
    const other = await console.logIn();
    const response = await fetch(`${console.url}/api/session`, { headers: { ...headers, cookie: other["cookie"] ?? "" } });
    expect(response.status).toBe(401);
  });

  test("the API rejects a login when its link was already used", async () => {
    const token = console.sessions.createLogin();
    const logIn = (): Promise<Response> =>
      fetch(`${console.url}/api/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token }),
      });
    const first = await logIn();
    expect([first.status, first.headers.get("set-cookie")]).toMatchObject([
      200,
      expect.stringMatching(/^olmv1-console-\d+=[\w-]{43}; Path=\/api; HttpOnly; SameSite=Strict; Max-Age=43200$/),
    ]);
    const second = await logIn();
    expect([second.status, second.headers.get("set-cookie"), await second.json()]).toMatchObject([401, null, { kind: "signedOut" }]);
  });

  test.each([
    { what: "names another host", lines: "Host: attacker.example" },
    { what: "names another port", lines: "Host: 127.0.0.1:1" },
    { what: "names a host that ends like the console", lines: "Host: attacker.example:80#127.0.0.1" },
    { what: "has a foreign origin", lines: "Origin: https://attacker.example" },
    { what: "has the origin of another port", lines: "Origin: http://127.0.0.1:1" },
    { what: "has an opaque origin", lines: "Origin: null" },
    { what: "comes from another site", lines: "Sec-Fetch-Site: cross-site" },
    { what: "comes from another port of this machine", lines: "Sec-Fetch-Site: same-site" },
    { what: "was entered into the address bar", lines: "Sec-Fetch-Site: none" },
  ])("the API rejects a request with a valid session when it $what", async ({ lines }) => {
    for (const method of ["GET /api/session", "GET /api/events", "GET /%61pi/session"]) {
      const answer = await console.send(`${method} HTTP/1.1\n${headerLines()}\n${lines}`);
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([403, { kind: "forbidden" }]);
    }
    const write = await console.send(`POST /api/login HTTP/1.1\n${JSON_TYPE}\n${lines}`, '{"token":"x"}');
    expect(write.status).toBe(403);
  });

  test("pages open when a link of another site leads to them, but not when the host is another one", async () => {
    expect(await console.send("GET /extensions HTTP/1.1\nSec-Fetch-Site: cross-site")).toMatchObject({ status: 200 });
    expect(await console.send("GET /extensions HTTP/1.1\nHost: attacker.example")).toMatchObject({ status: 403 });
  });

  test.each(["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json-patch+json"])(
    "the API rejects a body when its content type is '%s'",
    async (type) => {
      const answer = await console.send(`POST /api/login HTTP/1.1${type === "" ? "" : `\nContent-Type: ${type}`}`, '{"token":"x"}');
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([
        403,
        { message: "the body must have content type application/json" },
      ]);
    },
  );

  test.each([
    { what: "is too large", body: JSON.stringify({ token: "x".repeat(2 * 1024 * 1024) }), status: 413 },
    { what: "is not JSON", body: "{", status: 400 },
    { what: "has other members", body: '{"tokens":1}', status: 400 },
    { what: "changes the prototype", body: '{"__proto__":{"token":"x"},"token":"x"}', status: 400 },
  ])("the API rejects a body when it $what", async ({ body, status }) => {
    const answer = await console.send(`POST /api/login HTTP/1.1\n${JSON_TYPE}`, body);
    expect([answer.status, JSON.parse(answer.body)]).toMatchObject([status, { kind: "invalid" }]);
  });

  test.each([
    "/../secret.txt",
    "/assets/../../secret.txt",
    "/assets/..%2f..%2fsecret.txt",
    "/assets/%2e%2e/%2e%2e/secret.txt",
    "/assets/..%5c..%5csecret.txt",
    "/assets/..\\..\\secret.txt",
    "/assets/%252e%252e%252fsecret.txt",
    "/assets/index-12345678.js%00.txt",
    "/assets/%00",
    "//secret.txt",
    "/%2fsecret.txt",
    "/assets/index-12345678.js/../../../secret.txt",
    "/assets/%c0%ae%c0%ae/secret.txt",
    "/%zz",
    "/assets/index-12345678.js.gz",
    "/package.json",
    "/index.html.map",
  ])("the console serves no file outside of its pages when the path is %s", async (path) => {
    const answer = await console.send(`GET ${path} HTTP/1.1`);
    expect(answer.body).not.toContain("outside");
    expect([400, 404]).toContain(answer.status === 200 && answer.body.includes(PAGE) ? 404 : answer.status);
    expect(answer.head.toLowerCase()).toContain("content-security-policy: default-src 'none'");
  });

  test("pages of objects open when their names contain dots", async () => {
    for (const path of ["/extensions/cert-manager.v1", "/packages/node.js", `/extensions/${"a".repeat(253)}`])
      expect(await console.send(`GET ${path} HTTP/1.1`)).toMatchObject({ status: 200, body: expect.stringContaining(PAGE) as string });
  });

  test.each(["/api", "/api/", "/api/unknown", "/api/unknown?x=1", "/api/session/more", "/api/../api/unknown"])(
    "the API responds with 404 when the path is %s",
    async (path) => {
      const answer = await console.send(`GET ${path} HTTP/1.1\n${headerLines()}`);
      expect([answer.status, JSON.parse(answer.body)]).toMatchObject([404, { kind: "notFound" }]);
    },
  );

  test.each([
    { method: "HEAD", path: "/", status: 200 },
    { method: "HEAD", path: "/assets/index-12345678.js", status: 200 },
    { method: "HEAD", path: "/api/events", status: 404 },
    { method: "HEAD", path: "/api/pods/shop/web/log?container=manager&follow=true", status: 404 },
    { method: "OPTIONS", path: "/api/session", status: 403 },
    { method: "TRACE", path: "/api/session", status: 403 },
    { method: "PUT", path: "/api/session", status: 403 },
    { method: "DELETE", path: "/", status: 403 },
  ])("the console responds with $status and allows no other origin when the request is $method $path", async ({ method, path, status }) => {
    const answer = await sendHead(console, `${method} ${path}`, headerLines());
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer.toLowerCase()).not.toContain("access-control-");
    expect(answer).not.toContain(PAGE);
  });

  test("the console responds to no upgrade and no tunnel", async () => {
    const upgrade = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: x";
    expect(await console.send(`GET /api/session HTTP/1.1\n${upgrade}`)).toMatchObject({ status: 401 });
    const connection = await RawConnection.open(console.port);
    connection.write(`CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: ${console.host}\r\n\r\n`);
    expect((await connection.closed()).filter(({ status }) => status < 400)).toEqual([]);
    connection.close();
  });

  test.each([
    { what: "two lengths", lines: "Content-Length: 1\nContent-Length: 2" },
    { what: "a length and chunks", lines: "Content-Length: 1\nTransfer-Encoding: chunked" },
    { what: "an unknown transfer encoding", lines: "Transfer-Encoding: xchunked" },
    { what: "chunks before another encoding", lines: "Transfer-Encoding: chunked, identity" },
    { what: "a space before the colon", lines: "Content-Length : 1" },
    { what: "a folded header", lines: "X-A: b\n c: d" },
    { what: "a NUL in a header", lines: "X-A: b\0c" },
    { what: "a negative length", lines: "Content-Length: -1" },
  ])("the console rejects a request when it has $what", async ({ lines }) => {
    const connection = await RawConnection.open(console.port);
    const smuggled = `GET /api/session HTTP/1.1\r\nHost: ${console.host}\r\n\r\n`;
    const head = [`POST /api/login HTTP/1.1`, `Host: ${console.host}`, JSON_TYPE, ...lines.split("\n")].join("\r\n");
    connection.write(`${head}\r\n\r\n0\r\n\r\n${smuggled}`);
    const answers = await connection.closed();
    expect(answers.map(({ status }) => status)).toEqual([400]);
    connection.close();
  });

  test("the console rejects a request when it has no Host, and when its headers are too large", async () => {
    const connection = await RawConnection.open(console.port);
    connection.write("GET / HTTP/1.1\r\n\r\n");
    expect((await connection.answered())[0]?.status).toBe(400);
    connection.close();
    const old = await RawConnection.open(console.port);
    old.write("GET / HTTP/1.0\r\n\r\n");
    expect((await old.answered())[0]).toMatchObject({ status: 403, body: expect.stringContaining("no Host header") as string });
    old.close();
    expect((await console.send(`GET / HTTP/1.1\nX-Large: ${"x".repeat(70 * 1024)}`)).status).toBe(431);
    expect((await console.send(`GET / HTTP/1.1\nCookie: ${"x".repeat(40 * 1024)}`)).status).toBe(200);
  });

  test("all responses have the security headers, and those of the API are not cached", async () => {
    for (const path of ["/", "/assets/index-12345678.js", "/favicon.svg", "/api/session", "/api/unknown", "/missing.js"]) {
      const response = await fetch(console.url + path);
      const policy = response.headers.get("content-security-policy") ?? "";
      expect(policy, path).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(Object.fromEntries(response.headers), path).toMatchObject({
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
      });
      const isFixed = path.startsWith("/assets/");
      expect(response.headers.get("cache-control"), path).toMatch(isFixed ? /immutable/ : /no-store|no-cache/);
    }
  });

  test("the log contains no secret of a session", () => {
    const secrets = [headers["cookie"]?.split("=")[1] ?? "", headers[TOKEN_HEADER] ?? ""];
    expect(secrets.every((secret) => secret.length > 40)).toBe(true);
    for (const secret of secrets) expect(console.logs.join("\n")).not.toContain(secret);
  });
});

test("a session expires when it is unused for twelve hours, and a link when it is unused for ten minutes", async () => {
  await using api = await LoopbackApi.start(new OlmApi().answer);
  let now = 0;
  await using console = await TestConsole.start({ credentials: api.credentials(), mode: "laptop", now: () => now });
  const headers = await console.logIn();
  const read = async (): Promise<number> => (await fetch(`${console.url}/api/session`, { headers })).status;
  now += 11.9 * 3_600_000;
  expect(await read()).toBe(200);
  now += 11.9 * 3_600_000;
  expect(await read()).toBe(200);
  const link = console.sessions.createLogin();
  now += 12.1 * 3_600_000;
  expect(await read()).toBe(401);
  expect(console.sessions.logIn(link)).toBeUndefined();
});

test("two consoles on one machine do not end each other's session, because their cookies have different names", async () => {
  await using api = await LoopbackApi.start(new OlmApi().answer);
  await using one = await TestConsole.start({ credentials: api.credentials(), mode: "laptop" });
  await using other = await TestConsole.start({ credentials: api.credentials(), mode: "laptop" });
  const [first, second] = [await one.logIn(), await other.logIn()];
  const cookie = `${first["cookie"]}; ${second["cookie"]}`;
  expect((await fetch(`${one.url}/api/session`, { headers: { ...first, cookie } })).status).toBe(200);
  expect((await fetch(`${other.url}/api/session`, { headers: { ...second, cookie } })).status).toBe(200);
});

/** Returns the bytes that the server sends within a moment, because a response to HEAD has a length, but no body. */
async function sendHead(console: TestConsole, start: string, lines: string): Promise<string> {
  const connection = await RawConnection.open(console.port);
  connection.write(`${start} HTTP/1.1\r\nHost: ${console.host}\r\nConnection: close\r\n${lines.split("\n").join("\r\n")}\r\n\r\n`);
  await connection.closed();
  const { text } = connection;
  connection.close();
  return text;
}
