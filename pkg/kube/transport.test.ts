import { execFile } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { KubeConfig } from "@kubernetes/client-node";
import { generate } from "selfsigned";
import { afterEach, beforeAll, expect, test } from "vitest";
import { type Answer, LoopbackApi, statusAnswer } from "../../test/support/loopbackApi.ts";
import { Credentials } from "./credentials.ts";
import { KubeError } from "./errors.ts";
import { type RequestObservation, type TokenSource, Transport } from "./transport.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function loopback(...answers: Answer[]): Promise<LoopbackApi> {
  let next = 0;
  const api = await LoopbackApi.start(() => answers[Math.min(next++, answers.length - 1)] ?? {});
  open.push(() => api[Symbol.asyncDispose]());
  return api;
}

function transportTo(...args: Parameters<typeof Transport.of>): Transport {
  const transport = Transport.of(...args);
  open.push(() => transport.close());
  return transport;
}

async function statusOf(sent: ReturnType<Transport["request"]>): Promise<number> {
  const { statusCode, body } = await sent;
  await body.dump();
  return statusCode;
}

const UNAUTHORIZED = statusAnswer(401, "Unauthorized", "Unauthorized");

test("sequential requests share one or two connections", async () => {
  const api = await loopback({});
  const transport = transportTo(api.credentials({ token: "abc" }));
  for (let i = 0; i < 20; i++) await statusOf(transport.request("GET", "/api"));
  expect(new Set(api.requests.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2);
  expect(api.requests[0]?.headers.authorization).toBe("Bearer abc");
});

test("a request that returns 401 is retried once with reloaded credentials", async () => {
  let now = 0;
  const api = await loopback(UNAUTHORIZED, { json: {} }, UNAUTHORIZED);
  const transport = transportTo(api.credentials({ token: "abc" }, undefined, () => now));
  now = 60_000;
  expect(await statusOf(transport.request("GET", "/one"))).toBe(200);
  now = 120_000;
  expect(await statusOf(transport.request("GET", "/two"))).toBe(401);
  expect(api.log).toEqual(["GET /one", "GET /one", "GET /two", "GET /two"]);
});

test.for<[what: string, renewed: string, status: number, sent: number]>([
  ["succeed when the credentials were renewed", "new", 200, 6],
  ["return 401 when the credentials are the same", "old", 401, 4],
])("parallel requests with rejected credentials %s", async ([, renewed, status, sent]) => {
  let token = "old";
  let now = 0;
  const api = await LoopbackApi.start(({ headers }) => (headers.authorization === "Bearer new" ? {} : UNAUTHORIZED));
  open.push(() => api[Symbol.asyncDispose]());
  const load = (): KubeConfig => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: "loopback", server: api.url, skipTLSVerify: true }, { name: "user", token });
    return config;
  };
  const transport = transportTo(new Credentials(load, () => now));
  now = 60_000;
  token = renewed;
  const statuses = await Promise.all(["/1", "/2", "/3"].map((path) => statusOf(transport.request("GET", path))));
  expect(statuses).toEqual([status, status, status]);
  expect(api.log.length).toBeGreaterThanOrEqual(sent);
  expect(api.log.length).toBeLessThanOrEqual(6);
});

test("a guarded transport always permits reads, but permits writes only when the guard does, also with a token", async () => {
  const api = await loopback({});
  const transport = transportTo(api.credentials());
  let mayWrite = true;
  const guarded = transport.guardedBy(() => {
    if (!mayWrite) throw new Error("may not write");
  });
  const withToken = guarded.withToken(() => Promise.resolve("abc"));
  expect(await statusOf(guarded.request("POST", "/1", { body: "{}" }))).toBe(200);
  mayWrite = false;
  for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
    await expect(guarded.request(method, "/2", { body: "{}" })).rejects.toThrow("may not write");
    await expect(withToken.request(method, "/2", { body: "{}" })).rejects.toThrow("may not write");
  }
  expect(await statusOf(guarded.request("GET", "/3"))).toBe(200);
  expect(await statusOf(transport.request("POST", "/4", { body: "{}" }))).toBe(200);
  expect(api.log).toEqual(["POST /1", "GET /3", "POST /4"]);
});

test("a token that the server rejects is dropped, and the request is retried once with the next token", async () => {
  const api = await loopback(UNAUTHORIZED, {});
  const dropped: string[] = [];
  let minted = 0;
  const source: TokenSource = () => Promise.resolve(`t${++minted}`);
  source.drop = (token) => void dropped.push(token);
  expect(await statusOf(transportTo(api.credentials()).withToken(source).request("GET", "/x"))).toBe(200);
  expect(dropped).toEqual(["t1"]);
  expect(api.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer t1", "Bearer t2"]);
});

test("a 401 is returned immediately if the token source cannot drop tokens", async () => {
  const api = await loopback(UNAUTHORIZED);
  const scoped = transportTo(api.credentials()).withToken(() => Promise.resolve("t"));
  expect(await statusOf(scoped.request("GET", "/x"))).toBe(401);
  expect(api.log).toHaveLength(1);
});

test("a failed token request is not mistaken for a response to the request", async () => {
  const api = await loopback({});
  const cause = new KubeError('serviceaccounts "x" not found', { status: 404, reason: "NotFound" });
  const scoped = transportTo(api.credentials()).withToken(() => Promise.reject(cause));
  const err: unknown = await scoped.request("GET", "/x").catch((thrown: unknown) => thrown);
  expect(err).not.toBeInstanceOf(KubeError);
  expect(err).toMatchObject({ retry: true, message: 'get a token: serviceaccounts "x" not found', cause });
  expect(api.log).toEqual([]);
});

test("a request with a token contains no credentials of the kubeconfig's user", async () => {
  const api = await loopback({});
  const parent = transportTo(api.credentials({ token: "admin", impersonateUser: "jane" }));
  await statusOf(parent.withToken(() => Promise.resolve("scoped")).request("GET", "/x"));
  expect(api.requests[0]?.headers).toMatchObject({ authorization: "Bearer scoped" });
  expect(api.requests[0]?.headers).not.toHaveProperty("impersonate-user");
});

test("a 429 with Retry-After is retried after the delay", async () => {
  const busy = { ...statusAnswer(429, "TooManyRequests", "busy"), headers: { "retry-after": "0" } };
  const api = await loopback(busy, busy, {});
  expect(await statusOf(transportTo(api.credentials()).request("POST", "/x"))).toBe(200);
  expect(api.log).toHaveLength(3);
});

test("a persistent 429 is returned after several attempts, and a 429 without Retry-After immediately", async () => {
  const busy = statusAnswer(429, "TooManyRequests", "busy");
  const api = await loopback({ ...busy, headers: { "retry-after": "0" } });
  expect(await statusOf(transportTo(api.credentials()).request("GET", "/x"))).toBe(429);
  expect(api.log).toHaveLength(4);
  const silent = await loopback(busy);
  expect(await statusOf(transportTo(silent.credentials()).request("GET", "/x"))).toBe(429);
  expect(silent.log).toHaveLength(1);
});

test("a 429 with a long delay is returned without a retry", async () => {
  const api = await loopback({ ...statusAnswer(429, "TooManyRequests", "busy"), headers: { "retry-after": "6" } });
  expect(await statusOf(transportTo(api.credentials()).request("GET", "/x"))).toBe(429);
  expect(api.log).toHaveLength(1);
});

test.for<["GET" | "POST" | "PATCH", string, number]>([
  ["GET", "", 2],
  ["PATCH", "application/apply-patch+yaml", 2],
  ["PATCH", "application/json-patch+json", 1],
  ["POST", "application/json", 1],
])("%s %s is sent %s time(s) if the connection breaks", async ([method, type, times]) => {
  const api = await loopback((response) => void response.destroy(), {});
  const headers: Record<string, string> = type ? { "content-type": type } : {};
  const sent = statusOf(transportTo(api.credentials()).request(method, "/x", { headers, ...(type ? { body: "{}" } : {}) }));
  if (times === 2) expect(await sent).toBe(200);
  else await expect(sent).rejects.toThrow();
  expect(api.log).toHaveLength(times);
});

test("a request fails with the signal's reason when it is aborted while it waits after a 429", async () => {
  const api = await loopback({ status: 429, headers: { "retry-after": "5" } });
  const signal = AbortSignal.timeout(50);
  const err: unknown = await transportTo(api.credentials())
    .request("GET", "/x", { signal })
    .catch((thrown: unknown) => thrown);
  expect(err).toBe(signal.reason);
});

test("aborted writes over HTTP/2 do not block the process", async () => {
  const program = join(import.meta.dirname, "../../test/support/abortedWrites.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [program], { timeout: 25_000, killSignal: "SIGKILL" });
  expect(stdout).toBe("done\n");
});

test("the observer receives the status of each request, and <error> for a request without a response", async () => {
  const api = await loopback(statusAnswer(404, "NotFound", "no"), (response) => void response.destroy());
  const seen: RequestObservation[] = [];
  const transport = transportTo(api.credentials(), { userAgent: "olmv1/test", observe: (observation) => void seen.push(observation) });
  await statusOf(transport.request("GET", "/x"));
  await expect(transport.request("POST", "/x", { body: "{}" })).rejects.toThrow();
  expect(seen.map(({ method, code }) => [method, code])).toEqual([
    ["GET", "404"],
    ["POST", "<error>"],
  ]);
  expect(api.requests[0]?.headers["user-agent"]).toBe("olmv1/test");
});

let ca: { cert: string; key: string };
let server: { cert: string; private: string };
let user: { cert: string; private: string };
beforeAll(async () => {
  const extensions = [{ name: "basicConstraints" as const, cA: true, critical: true }];
  const root = await generate([{ name: "commonName", value: "test CA" }], { extensions, keyType: "ec", algorithm: "sha256" });
  ca = { cert: root.cert, key: root.private };
  const loopbackName = [{ name: "subjectAltName" as const, altNames: [{ type: 7 as const, ip: "127.0.0.1" }] }];
  server = await generate([{ name: "commonName", value: "server" }], { ca, keyType: "ec", algorithm: "sha256", extensions: loopbackName });
  user = await generate([{ name: "commonName", value: "kubeconfig-user" }], { ca, keyType: "ec", algorithm: "sha256" });
});

test("a token is never sent over a connection with the client certificate", async () => {
  const api = await LoopbackApi.start(() => ({}), { key: server.private, cert: server.cert, ca: ca.cert });
  open.push(() => api[Symbol.asyncDispose]());
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const credentials = api.credentials({ certData: base64(user.cert), keyData: base64(user.private) }, base64(ca.cert));
  const parent = transportTo(credentials);
  const first = parent.withToken(() => Promise.resolve("one"));
  const second = first.withToken(() => Promise.resolve("two"));
  for (const transport of [parent, first, parent, second, first]) await statusOf(transport.request("GET", "/x"));
  expect(api.requests.map(({ certificate, headers }) => [certificate, headers.authorization])).toEqual([
    ["kubeconfig-user", undefined],
    [undefined, "Bearer one"],
    ["kubeconfig-user", undefined],
    [undefined, "Bearer two"],
    [undefined, "Bearer one"],
  ]);
  expect(new Set(api.requests.map(({ connection }) => connection)).size).toBeLessThanOrEqual(4);
});

test("a server whose certificate the CA did not sign is rejected, with and without a token", async () => {
  const other = await generate([{ name: "commonName", value: "other CA" }], { keyType: "ec", algorithm: "sha256" });
  const api = await LoopbackApi.start(() => ({}), { key: server.private, cert: server.cert, ca: ca.cert });
  open.push(() => api[Symbol.asyncDispose]());
  const transport = transportTo(api.credentials({}, Buffer.from(other.cert).toString("base64")));
  await expect(transport.request("GET", "/x")).rejects.toThrow();
  await expect(transport.withToken(() => Promise.resolve("t")).request("GET", "/x")).rejects.toThrow();
  expect(api.requests).toEqual([]);
});

test("a kubeconfig's proxy-url is used with and without a token", async () => {
  const api = await LoopbackApi.start(() => ({}), { key: server.private, cert: server.cert, ca: ca.cert });
  open.push(() => api[Symbol.asyncDispose]());
  const tunnels: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request: IncomingMessage, client: Socket) => {
    const [host = "", port = ""] = (request.url ?? "").split(":");
    tunnels.push(`${host}:${port}`);
    const target = connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(client).pipe(target);
    });
    target.on("error", () => client.destroy());
    client.on("error", () => target.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  open.push(async () => {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
  const config = new KubeConfig();
  const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const caData = Buffer.from(ca.cert).toString("base64");
  config.loadFromClusterAndUser({ name: "k", server: api.url, caData, skipTLSVerify: false, proxyUrl }, { name: "u" });
  const transport = transportTo(new Credentials(() => config));
  expect(await statusOf(transport.request("GET", "/x"))).toBe(200);
  expect(await statusOf(transport.withToken(() => Promise.resolve("t")).request("GET", "/x"))).toBe(200);
  expect(new Set(tunnels)).toEqual(new Set([api.url.replace("https://", "")]));
  await transport.close();
});
