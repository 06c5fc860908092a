import type { IncomingHttpHeaders } from "node:http";
import { PassThrough, Readable } from "node:stream";
import { fastify } from "fastify";
import { afterEach, describe, expect, test, vi } from "vitest";
import { KubeError } from "../../kube/errors.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import type { ConsoleContext } from "../consoleContext.ts";
import { toConsoleProblem } from "../http/consoleError.ts";
import { type ConsoleTypeProvider, compileConsoleValidator } from "../http/requestInput.ts";
import { identifyCallers } from "../session/identifyCallers.ts";
import { registerObjectRoutes } from "./objectRoutes.ts";

const SECRET = { apiVersion: "v1", kind: "Secret", metadata: { name: "x", namespace: "shop", uid: "1" }, data: { password: "c2VjcmV0" } };
const release = vi.fn();
const stops: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Starts a server with the routes and a fake client. Returns its address. @param disposals of the identities, by the header `x-user` */
async function startRoutes(client: object, disposals: Readonly<Record<string, AbortController>> = {}): Promise<string> {
  const app = fastify({ forceCloseConnections: true });
  app.setValidatorCompiler(compileConsoleValidator);
  app.setErrorHandler(async (err, _request, reply) => {
    const { status, problem } = toConsoleProblem(err);
    await reply.code(status).send(problem);
  });
  const resourceFor = async (): Promise<object> => ({ resource: "pods", namespaced: true });
  const routes = app.withTypeProvider<ConsoleTypeProvider>();
  const identities = new Map<string, ClusterIdentity>();
  const identify = (headers: IncomingHttpHeaders): ClusterIdentity => {
    const user = String(headers["x-user"]);
    const disposed = (disposals[user] ?? new AbortController()).signal;
    const identity = identities.get(user) ?? ({ client: { resourceFor, ...client }, disposed } as unknown as ClusterIdentity);
    identities.set(user, identity);
    return identity;
  };
  const callers = { identify, hold: async (headers: IncomingHttpHeaders) => ({ identity: identify(headers), release }) };
  identifyCallers(routes, callers);
  registerObjectRoutes(routes, { callers, log: { debug: () => undefined } } as unknown as ConsoleContext);
  stops.push(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
}

const denied = new KubeError('pods "web" is forbidden: User "u" cannot get resource "pods/log"', { status: 403, reason: "Forbidden" });

describe("GET /api/objects", () => {
  const QUERY = "apiVersion=v1&kind=Secret&namespace=shop&name=x";

  test("never returns values of Secrets", async () => {
    const origin = await startRoutes({ get: async () => SECRET, list: async () => ({ items: [] }) });
    const body = await (await fetch(`${origin}/api/objects?${QUERY}`)).text();
    expect(body).not.toContain("c2VjcmV0");
    expect(JSON.parse(body)).toMatchObject({ reference: { kind: "Secret", name: "x", namespace: "shop" }, events: [] });
  });

  test("reports the missing permission", async () => {
    const origin = await startRoutes({ get: async () => Promise.reject(denied) });
    const response = await fetch(`${origin}/api/objects?apiVersion=v1&kind=Pod&namespace=shop&name=web`);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      kind: "forbidden",
      missing: "get pods web in namespace shop",
    });
  });

  test("shows the object when its Events cannot be read", async () => {
    const origin = await startRoutes({ get: async () => SECRET, list: async () => Promise.reject(new Error("no Events")) });
    expect(await (await fetch(`${origin}/api/objects?${QUERY}`)).json()).toMatchObject({ events: { error: "no Events" } });
  });

  test.for([
    "apiVersion=../v1&kind=Pod&name=x",
    "apiVersion=v1&kind=Pod/..&name=x",
    "apiVersion=v1&kind=Pod&name=..",
    "apiVersion=v1&kind=Pod&name=a%2Fb",
    "apiVersion=v1&kind=Pod&name=%25",
    "apiVersion=v1&kind=Pod&name=x&namespace=..",
    "apiVersion=v1&kind=Pod",
  ])("rejects %s", async (query) => {
    const get = vi.fn(async () => SECRET);
    const origin = await startRoutes({ get });
    expect((await fetch(`${origin}/api/objects?${query}`)).status).toBe(400);
    expect(get).not.toHaveBeenCalled();
  });

  test("reports an object that does not exist", async () => {
    const origin = await startRoutes({ get: async () => undefined });
    expect((await fetch(`${origin}/api/objects?${QUERY}`)).status).toBe(404);
  });
});

describe("GET /api/pods/:namespace/:pod/log", () => {
  const PATH = "/api/pods/shop/web/log?container=manager";

  test("asks the API server for the chosen log, and cleans it", async () => {
    const request = vi.fn(async (..._args: unknown[]) => ({
      statusCode: 200,
      headers: {},
      body: Readable.from([Buffer.from("\u001B[1ma\u001B[0m\nb\n")]),
    }));
    const origin = await startRoutes({ request });
    const response = await fetch(`${origin}${PATH}&previous=true&tail=99999`);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await response.text()).toBe("a\nb\n");
    expect(request.mock.calls[0]?.slice(0, 2)).toEqual([
      "GET",
      "/api/v1/namespaces/shop/pods/web/log?container=manager&tailLines=10000&previous=true&limitBytes=16777216",
    ]);
  });

  test("sends lines of a followed log as they appear, and stops when the page leaves", async () => {
    const body = new PassThrough();
    const closed = new Promise((resolve) => body.once("close", resolve));
    const origin = await startRoutes({ request: async () => ({ statusCode: 200, headers: {}, body }) });
    const leave = new AbortController();
    const response = await fetch(`${origin}${PATH}&follow=true`, { signal: leave.signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    body.write("first\n");
    expect((await reader?.read())?.value).toBe("first\n");
    body.write("second\n");
    expect((await reader?.read())?.value).toBe("second\n");
    leave.abort();
    await closed;
  });

  test("ends a followed log when the identity of its reader is disposed of, and releases the identity", async () => {
    const body = new PassThrough();
    const ann = new AbortController();
    const origin = await startRoutes({ request: async () => ({ statusCode: 200, headers: {}, body }) }, { ann });
    const response = await fetch(`${origin}${PATH}&follow=true`, { headers: { "x-user": "ann" } });
    release.mockClear();
    ann.abort();
    await expect(response.text()).rejects.toThrow("terminated");
    await vi.waitFor(() => expect([body.destroyed, release.mock.calls.length]).toEqual([true, 1]));
  });

  test("rejects the 21st open log of one user, and accepts logs of other users", async () => {
    const origin = await startRoutes({ request: async () => ({ statusCode: 200, headers: {}, body: new PassThrough() }) });
    const leave = new AbortController();
    const open = async (user: string, signal?: AbortSignal): Promise<number> =>
      (await fetch(`${origin}${PATH}&follow=true`, { headers: { "x-user": user }, ...(signal ? { signal } : {}) })).status;
    const statuses = await Promise.all(Array.from({ length: 20 }, (_, i) => open("ann", i === 0 ? leave.signal : undefined)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect([await open("ann"), await open("bob")]).toEqual([429, 200]);
    leave.abort();
    await vi.waitFor(async () => expect(await open("ann")).toBe(200), { timeout: 10_000 });
  });

  test("stops reading when the page does not read", async () => {
    let sent = 0;
    const body = new Readable({
      read() {
        sent += 65_536;
        this.push(`${"x".repeat(65_535)}\n`);
      },
    });
    const origin = await startRoutes({ request: async () => ({ statusCode: 200, headers: {}, body }) });
    const leave = new AbortController();
    await fetch(`${origin}${PATH}&follow=true`, { signal: leave.signal });
    let before = -1;
    await vi.waitFor(
      () => {
        const isQuiet = sent === before;
        before = sent;
        expect(isQuiet).toBe(true);
      },
      { interval: 200, timeout: 10_000 },
    );
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    leave.abort();
  });

  test("reports the missing permission", async () => {
    const body = Readable.from([Buffer.from(JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: denied.message }))]);
    const origin = await startRoutes({ request: async () => ({ statusCode: 403, headers: {}, body }) });
    const response = await fetch(`${origin}${PATH}`);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ kind: "forbidden", missing: "get pods/log web in namespace shop" });
  });

  test("reports why a container has no log", async () => {
    const body = Readable.from([
      Buffer.from(JSON.stringify({ kind: "Status", code: 400, reason: "BadRequest", message: "container is waiting to start" })),
    ]);
    const origin = await startRoutes({ request: async () => ({ statusCode: 400, headers: {}, body }) });
    const response = await fetch(`${origin}${PATH}`);
    expect(await response.json()).toMatchObject({ message: "container is waiting to start" });
  });

  test.for(["/api/pods/shop/web/log", "/api/pods/shop/web/log?container=a/b", "/api/pods/..%2fx/web/log?container=a", `${PATH}&tail=-1`])(
    "rejects %s",
    async (path) => {
      const origin = await startRoutes({});
      expect((await fetch(`${origin}${path}`)).status).toBe(400);
    },
  );
});
