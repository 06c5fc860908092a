import { join } from "node:path";
import { Agent, type Dispatcher, request } from "undici";
import { afterEach, expect, test } from "vitest";
import { serverCertificate } from "../../test/support/serverCertificate.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { createLogger } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { AccessDecision, NonResourceAction } from "./accessReviews.ts";
import { type Page, type PageResponse, startMetricsServer } from "./metricsServer.ts";
import { TlsFiles } from "./serverTls.ts";

const log = createLogger({ component: "test", level: "silent" });
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** Starts a server with one metric and with pages. Records the requested reviews. */
async function setUp(verdict: AccessDecision = { allowed: true }, metrics = createMetrics("t"), pages: Page[] = []) {
  const folder = new TempFolder();
  open.push(() => folder[Symbol.dispose]());
  const { cert, key } = await serverCertificate("localhost");
  const dir = folder.write("tls", { "tls.crt": cert, "tls.key": key });
  metrics.counter({ name: "x_total", help: "h" }).inc();
  const requested: [string | undefined, NonResourceAction][] = [];
  const reviews = {
    check: (authorization: string | undefined, action: NonResourceAction) => {
      requested.push([authorization, action]);
      return Promise.resolve(verdict);
    },
  };
  const tls = new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log });
  const server = await startMetricsServer({ bindAddress: "127.0.0.1:0", tls, metrics, reviews, log, pages });
  const dispatcher = new Agent({ connect: { ca: cert, servername: "localhost" } });
  open.push(
    () => server.close(),
    () => dispatcher.close(),
  );
  const call = async (method: Dispatcher.HttpMethod, path: string, headers = {}) => {
    const response = await request(server.url + path, { method, headers, dispatcher });
    return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
  };
  return { call, asked: requested, server };
}

test("metrics are served to authorized clients", async () => {
  const { call, asked: requested, server } = await setUp();
  const { status, headers, text } = await call("GET", "/metrics?name=x", { authorization: "Bearer x" });
  expect([status, headers["content-type"]]).toEqual([200, expect.stringContaining("text/plain")]);
  expect(text).toContain("t_x_total 1");
  expect(requested).toEqual([["Bearer x", { verb: "get", path: "/metrics" }]]);
  await expect(fetch(`${server.url.replace("https:", "http:")}/metrics`)).rejects.toThrow();
});

test("a HEAD request is reviewed as verb head and has no body", async () => {
  const { call, asked: requested } = await setUp();
  const { status, headers, text } = await call("HEAD", "/metrics");
  expect([status, text, requested[0]?.[1].verb]).toEqual([200, "", "head"]);
  expect(Number(headers["content-length"])).toBeGreaterThan(10);
});

test.for([401, 403, 429, 500] as const)(
  "the response to a denied request with status %d contains only the text of the decision",
  async (status) => {
    const { call } = await setUp({ allowed: false, status, text: "why" });
    const response = await call("GET", "/metrics");
    expect([response.status, response.text, response.headers["content-type"]]).toEqual([status, "why\n", "text/plain; charset=utf-8"]);
    expect(response.headers["x-content-type-options"]).toBe("nosniff");
  },
);

test("only GET and HEAD requests for /metrics are reviewed and served", async () => {
  const { call, asked: requested } = await setUp();
  expect([(await call("GET", "/")).status, (await call("GET", "/metrics/")).status, (await call("POST", "/metrics")).status]).toEqual([
    404, 404, 405,
  ]);
  expect(requested).toEqual([]);
});

test("the metrics server responds with a server error when metrics cannot be read", async () => {
  class Broken extends Error {}
  const metrics = createMetrics("t");
  metrics.gauge({
    name: "y",
    help: "h",
    collect: () => {
      throw new Broken("no such thing");
    },
  });
  const { call } = await setUp({ allowed: true }, metrics);
  expect(await call("GET", "/metrics")).toMatchObject({ status: 500, text: "Internal Server Error\n" });
});

test("the server fails to start if the address is in use", async () => {
  const { server } = await setUp();
  const taken = new URL(server.url).host;
  using folder = new TempFolder();
  const { cert, key } = await serverCertificate("localhost");
  const dir = folder.write("tls", { "tls.crt": cert, "tls.key": key });
  const tls = new TlsFiles({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key"), log });
  const reviews = { check: () => Promise.resolve({ allowed: true as const }) };
  const start = (bindAddress: string) => startMetricsServer({ bindAddress, tls, metrics: createMetrics("t"), reviews, log });
  await expect(start(taken)).rejects.toThrow("EADDRINUSE");
  expect((await start("0")).url).toBe("");
});

/** A page with one object, `a.b`. */
const page = (response = (): Promise<PageResponse> => Promise.resolve({ json: { x: 1 } })): Page => ({
  prefix: "/debug/x/",
  answer: (name) => (name === "a.b" ? response() : Promise.resolve({ status: 404, text: "not found" })),
});

test("a page is served only to clients that are authorized for its exact path", async () => {
  const { call, asked: requested } = await setUp({ allowed: true }, createMetrics("t"), [page()]);
  const { status, headers, text } = await call("GET", "/debug/x/a.b?y", { authorization: "Bearer x" });
  expect([status, headers["content-type"], headers["cache-control"], text]).toEqual([200, "application/json", "no-store", '{"x":1}\n']);
  expect(requested).toEqual([["Bearer x", { verb: "get", path: "/debug/x/a.b" }]]);
  expect((await call("HEAD", "/debug/x/a.b")).text).toBe("");
  const missing = await call("GET", "/debug/x/other");
  expect([missing.status, missing.text]).toEqual([404, "not found\n"]);
  expect((await call("DELETE", "/debug/x/a.b")).status).toBe(405);
});

test("a request with an invalid name is rejected without a review, and unauthorized clients get no details", async () => {
  const { call, asked: requested } = await setUp({ allowed: false, status: 403, text: "no" }, createMetrics("t"), [page()]);
  for (const path of ["/debug/x/", "/debug/x", "/debug/x/a/b", "/debug/x/..", "/debug/x/%61.b", `/debug/x/${"a".repeat(254)}`])
    expect((await call("GET", path)).status, path).toBe(404);
  expect(requested).toEqual([]);
  expect((await call("GET", "/debug/x/other")).status).toBe(403);
});

test("concurrent page requests are limited", async () => {
  const held = Promise.withResolvers<PageResponse>();
  const { call, asked: requested } = await setUp({ allowed: true }, createMetrics("t"), [page(() => held.promise)]);
  const first = Array.from({ length: 8 }, () => call("GET", "/debug/x/a.b"));
  await expect.poll(() => requested.length).toBe(8);
  expect((await call("GET", "/debug/x/a.b")).status).toBe(429);
  expect((await call("GET", "/metrics")).status).toBe(200);
  held.resolve({ json: 1 });
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual(first.map(() => 200));
  expect((await call("GET", "/debug/x/a.b")).status).toBe(200);
});
