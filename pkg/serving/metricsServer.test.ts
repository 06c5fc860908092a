import { join } from "node:path";
import { Agent, type Dispatcher, request } from "undici";
import { afterEach, expect, test } from "vitest";
import { serverCertificate } from "../../test/support/serverCertificate.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { createLogger } from "../telemetry/log.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import type { AccessDecision, NonResourceAction } from "./accessReviews.ts";
import { type Page, type PageAnswer, startMetricsServer } from "./metricsServer.ts";
import { TlsFiles } from "./serverTls.ts";

const log = createLogger({ component: "test", level: "silent" });
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A server with one metric, with pages, and what it asked to be reviewed. */
async function setUp(verdict: AccessDecision = { allowed: true }, metrics = createMetrics("t"), pages: Page[] = []) {
  const folder = new TempFolder();
  open.push(() => folder[Symbol.dispose]());
  const { cert, key } = await serverCertificate("localhost");
  const dir = folder.write("tls", { "tls.crt": cert, "tls.key": key });
  metrics.counter({ name: "x_total", help: "h" }).inc();
  const asked: [string | undefined, NonResourceAction][] = [];
  const reviews = {
    check: (authorization: string | undefined, action: NonResourceAction) => {
      asked.push([authorization, action]);
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
    const answer = await request(server.url + path, { method, headers, dispatcher });
    return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
  };
  return { call, asked, server };
}

test("metrics are served to those who may get them", async () => {
  const { call, asked, server } = await setUp();
  const { status, headers, text } = await call("GET", "/metrics?name=x", { authorization: "Bearer x" });
  expect([status, headers["content-type"]]).toEqual([200, expect.stringContaining("text/plain")]);
  expect(text).toContain("t_x_total 1");
  expect(asked).toEqual([["Bearer x", { verb: "get", path: "/metrics" }]]);
  await expect(fetch(`${server.url.replace("https:", "http:")}/metrics`)).rejects.toThrow();
});

test("a HEAD request is another verb and gets no body", async () => {
  const { call, asked } = await setUp();
  const { status, headers, text } = await call("HEAD", "/metrics");
  expect([status, text, asked[0]?.[1].verb]).toEqual([200, "", "head"]);
  expect(Number(headers["content-length"])).toBeGreaterThan(10);
});

test.for([401, 403, 429, 500] as const)("a refusal with %d says no more than the verdict", async (status) => {
  const { call } = await setUp({ allowed: false, status, text: "why" });
  const answer = await call("GET", "/metrics");
  expect([answer.status, answer.text, answer.headers["content-type"]]).toEqual([status, "why\n", "text/plain; charset=utf-8"]);
  expect(answer.headers["x-content-type-options"]).toBe("nosniff");
});

test("nothing but GET and HEAD of /metrics is reviewed or served", async () => {
  const { call, asked } = await setUp();
  expect([(await call("GET", "/")).status, (await call("GET", "/metrics/")).status, (await call("POST", "/metrics")).status]).toEqual([
    404, 404, 405,
  ]);
  expect(asked).toEqual([]);
});

test("metrics that cannot be read are an error of the server", async () => {
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

test("an address in use stops the start", async () => {
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

/** A page of one object, `a.b`. */
const page = (answer = (): Promise<PageAnswer> => Promise.resolve({ json: { x: 1 } })): Page => ({
  prefix: "/debug/x/",
  answer: (name) => (name === "a.b" ? answer() : Promise.resolve({ status: 404, text: "there is none" })),
});

test("a page is served to those who may get its very path", async () => {
  const { call, asked } = await setUp({ allowed: true }, createMetrics("t"), [page()]);
  const { status, headers, text } = await call("GET", "/debug/x/a.b?y", { authorization: "Bearer x" });
  expect([status, headers["content-type"], headers["cache-control"], text]).toEqual([200, "application/json", "no-store", '{"x":1}\n']);
  expect(asked).toEqual([["Bearer x", { verb: "get", path: "/debug/x/a.b" }]]);
  expect((await call("HEAD", "/debug/x/a.b")).text).toBe("");
  const missing = await call("GET", "/debug/x/other");
  expect([missing.status, missing.text]).toEqual([404, "there is none\n"]);
  expect((await call("DELETE", "/debug/x/a.b")).status).toBe(405);
});

test("what is no name is not reviewed, and nothing is told to those who may not", async () => {
  const { call, asked } = await setUp({ allowed: false, status: 403, text: "no" }, createMetrics("t"), [page()]);
  for (const path of ["/debug/x/", "/debug/x", "/debug/x/a/b", "/debug/x/..", "/debug/x/%61.b", `/debug/x/${"a".repeat(254)}`])
    expect((await call("GET", path)).status, path).toBe(404);
  expect(asked).toEqual([]);
  expect((await call("GET", "/debug/x/other")).status).toBe(403);
});

test("so many answers at once and no more", async () => {
  const held = Promise.withResolvers<PageAnswer>();
  const { call, asked } = await setUp({ allowed: true }, createMetrics("t"), [page(() => held.promise)]);
  const first = Array.from({ length: 8 }, () => call("GET", "/debug/x/a.b"));
  await expect.poll(() => asked.length).toBe(8);
  expect((await call("GET", "/debug/x/a.b")).status).toBe(429);
  expect((await call("GET", "/metrics")).status).toBe(200);
  held.resolve({ json: 1 });
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual(first.map(() => 200));
  expect((await call("GET", "/debug/x/a.b")).status).toBe(200);
});
